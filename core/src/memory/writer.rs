//! The only way to write memory (`memory.md`, *Safe on disk*).
//!
//! One write runs under the file's lock from end to end: what was left open is settled; the file is
//! read and the change worked out on what it holds; the intent is stored; the new text is prepared
//! beside the file and exchanged with it; what was displaced is looked at; the intent is settled with
//! the history. Whatever is killed in between, the next holder of the lock finds out how far it came
//! (the module `settle`). Nothing else in the program writes a memory file.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::change::Change;
use crate::ids::{BotId, ConversationId, IntentId};
use crate::memory::operations::{self, Outcome};
use crate::memory::replies;
use crate::ports::{
    Clock, FileError, FileState, HistoryRow, Intended, IntentState, MemoryFiles, NewIntent, Origin,
    Placed, Store, StoreError,
};

/// How often a write is worked out anew because somebody saves the file at the same moment.
const ATTEMPTS: usize = 6;

/// For how long an editor that had the file open may still be writing into it.
const YOUNG: Duration = Duration::from_secs(2);

/// The rests between tries to settle a write that stands.
const SETTLE_AGAIN: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(250), Duration::from_secs(1)];

/// What came of a change. Each holds the words for whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was made, now or before a restart.
    Applied(String),
    /// The file holds already what was asked for.
    Unchanged(String),
    /// It was not made.
    Refused(String),
}

/// Why a change could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another program saves it again and again.
    #[error("{0} is being written by another program right now; nothing was changed")]
    Busy(String),
}

/// The only writer of memory.
pub struct MemoryWriter {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: Arc<dyn MemoryFiles>,
    pub(super) clock: Arc<dyn Clock>,
    /// For how long a file that somebody else has just written is watched: [`YOUNG`].
    young: Duration,
}

/// The file as it was found, before anything is done to it.
struct Seen {
    text: Option<String>,
    /// Somebody else wrote it so lately that they may still have it open.
    young: bool,
}

/// A change that is under way: its intent, and what was found out meanwhile.
struct Underway<'a> {
    change: &'a Change,
    id: IntentId,
    token: String,
    before: Option<String>,
    after: String,
    reply: String,
    young: bool,
    history: Vec<HistoryRow>,
}

impl MemoryWriter {
    /// A writer over these ports.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, files: Arc<dyn MemoryFiles>, clock: Arc<dyn Clock>) -> Self {
        Self { store, files, clock, young: YOUNG }
    }

    /// Makes a change, or finds by its key what came of it before. Nothing is asked here about who
    /// may: see [`authorise`](crate::authorise::authorise).
    ///
    /// # Errors
    ///
    /// [`WriteError`]. An error of the file changed nothing. After one of the store the change may
    /// stand; asking again with the same key finds out.
    pub async fn write(&self, change: &Change) -> Result<Written, WriteError> {
        let _lock = self.files.lock(&change.path).await?;
        self.settle_file(&change.path).await?;
        if let Some(intent) = self.store.intent(&change.key).await?
            && intent.state == IntentState::Applied
        {
            return Ok(Written::Applied(intent.new.reply));
        }
        let seen = self.look(change).await?;
        let (after, reply) = match self.plan(change, seen.text.as_deref()).await? {
            Plan::Write { after, reply } => (after, reply),
            Plan::Done(written) => return Ok(written),
        };
        let intent = self.intent(change, &seen, &after, &reply);
        let id = match self.store.intend(&intent).await? {
            Intended::Fresh(id) => id,
            Intended::Known(known) if known.state == IntentState::Applied => {
                return Ok(Written::Applied(known.new.reply));
            }
            // Open, and of another file: a key was used twice. Nothing of this file was touched.
            Intended::Known(_) => return Err(WriteError::Busy(change.path.clone())),
        };
        self.carry_out(Underway {
            change,
            id,
            token: token(id),
            before: seen.text,
            after,
            reply,
            young: seen.young,
            history: Vec::new(),
        })
        .await
    }

    /// Reads the file, and records an edit by hand since the last write.
    async fn look(&self, change: &Change) -> Result<Seen, WriteError> {
        let path = &change.path;
        let stat = self.files.stat(path).await?;
        let text = text_of(self.files.read(path).await?);
        let last = self.store.history(path, 1).await?.into_iter().next();
        let known = last.as_ref().is_some_and(|row| row.after == text);
        let ours = known && last.as_ref().is_some_and(|row| row.origin != Origin::HandEdit);
        if let Some(last) = last
            && !known
        {
            self.store.record_history(&[self.by_hand(change, last.after, text.clone())]).await?;
        }
        let now = i128::from(self.clock.now().timestamp_nanos_opt().unwrap_or_default());
        let age = |stat: crate::ports::Stat| (now - stat.mtime_ns).unsigned_abs();
        let young = !ours && stat.is_some_and(|stat| age(stat) < YOUNG.as_nanos());
        Ok(Seen { text, young })
    }

    /// Works the change out on a text. Sets an oversized file aside.
    async fn plan(&self, change: &Change, text: Option<&str>) -> Result<Plan, WriteError> {
        let limit = change.target.limit();
        Ok(match operations::apply(change.target, text, &change.operations) {
            Outcome::Write { after, reply } => Plan::Write { after, reply },
            Outcome::Unchanged { reply } => Plan::Done(Written::Unchanged(reply)),
            Outcome::Refused { reply } => Plan::Done(Written::Refused(reply)),
            Outcome::Oversize { chars } => {
                let copy = self.set_aside(&change.path, text.unwrap_or_default()).await?;
                let reply = replies::oversize(&change.path, chars, limit, &copy);
                Plan::Done(Written::Refused(reply))
            }
        })
    }

    async fn set_aside(&self, path: &str, text: &str) -> Result<String, WriteError> {
        let stamp = self.clock.now().format("%Y%m%dT%H%M%SZ").to_string();
        Ok(self.files.back_up(path, text, &stamp).await?)
    }

    fn intent(&self, change: &Change, seen: &Seen, after: &str, reply: &str) -> NewIntent {
        NewIntent {
            key: change.key.clone(),
            bot: change.bot,
            conversation: change.conversation,
            claim: change.claim.clone(),
            path: change.path.clone(),
            before: seen.text.clone(),
            after: after.to_owned(),
            reply: reply.to_owned(),
            origin: change.origin,
            at: self.clock.now(),
        }
    }

    /// Puts the new text in place, again and again as long as somebody else's save comes between.
    async fn carry_out(&self, mut way: Underway<'_>) -> Result<Written, WriteError> {
        for _ in 0..ATTEMPTS {
            let placed = match self.put(&way).await {
                Ok(placed) => placed,
                Err(error) => {
                    self.close(&way).await?;
                    return Err(error.into());
                }
            };
            let found = match placed {
                Placed::New => return self.finish(way).await,
                Placed::Displaced(text) if Some(&text) == way.before.as_ref() => {
                    return self.finish(way).await;
                }
                Placed::Displaced(text) => {
                    let path = &way.change.path;
                    let back = self.put_back(path, &way.token, text, way.after.clone()).await?;
                    for save in back.passed {
                        let before = way.before.replace(save.clone());
                        way.history.push(self.by_hand(way.change, before, Some(save)));
                    }
                    back.now
                }
                Placed::Appeared | Placed::Vanished => {
                    text_of(self.files.read(&way.change.path).await?)
                }
            };
            way.history.push(self.by_hand(way.change, way.before.take(), found.clone()));
            way.young = true;
            match self.plan(way.change, found.as_deref()).await? {
                Plan::Write { after, reply } => {
                    self.store.redo_intent(way.id, found.as_deref(), &after, &reply).await?;
                    (way.before, way.after, way.reply) = (found, after, reply);
                }
                Plan::Done(written) => {
                    self.close(&way).await?;
                    return Ok(written);
                }
            }
        }
        self.close(&way).await?;
        Err(WriteError::Busy(way.change.path.clone()))
    }

    async fn put(&self, way: &Underway<'_>) -> Result<Placed, FileError> {
        let path = &way.change.path;
        self.files.prepare(path, &way.token, &way.after).await?;
        self.files.place(path, &way.token, way.before.is_none()).await
    }

    /// Gives a displaced text its place again: somebody saved it after the file was read, and the
    /// change has to be worked out on it. What is found in place meanwhile is newer still.
    pub(super) async fn put_back(
        &self,
        path: &str,
        token: &str,
        displaced: String,
        ours: String,
    ) -> Result<PutBack, WriteError> {
        let (mut theirs, mut expected) = (displaced, ours);
        let mut passed = Vec::new();
        for _ in 0..ATTEMPTS {
            match self.files.place(path, token, false).await? {
                Placed::Displaced(text) if text == expected => {
                    return Ok(PutBack { now: Some(theirs), passed });
                }
                Placed::Displaced(newer) => {
                    passed.push(theirs.clone());
                    (theirs, expected) = (newer, theirs);
                }
                Placed::New => return Ok(PutBack { now: Some(theirs), passed }),
                // Deleted by hand meanwhile: that is what somebody wanted last.
                Placed::Vanished | Placed::Appeared => {
                    passed.push(theirs);
                    let now = text_of(self.files.read(path).await?);
                    return Ok(PutBack { now, passed });
                }
            }
        }
        Err(WriteError::Busy(path.to_owned()))
    }

    /// The new text stands. Looks once more at what it displaced, then settles.
    async fn finish(&self, mut way: Underway<'_>) -> Result<Written, WriteError> {
        let path = &way.change.path;
        if way.young && way.before.is_some() {
            tokio::time::sleep(self.young).await;
            let late = text_of(self.files.left_over(path, &way.token).await?);
            if let Some(late) = late
                && Some(&late) != way.before.as_ref()
            {
                let copy = self.set_aside(path, &late).await?;
                tracing::warn!(file = %path, %copy, "An editor went on writing into a memory file \
                    that had been replaced; its text was kept beside the file");
                way.history.push(self.by_hand(way.change, way.before.clone(), Some(late)));
            }
        }
        self.files.discard(path, &way.token).await?;
        let row = HistoryRow {
            bot: way.change.bot,
            path: path.clone(),
            before: way.before.take(),
            after: Some(way.after.clone()),
            origin: way.change.origin,
            conversation: way.change.conversation,
            at: self.clock.now(),
        };
        way.history.push(row);
        if let Err(error) = self.settle_applied(&way).await {
            // The file holds it, and the reply says so. The intent is settled before the file's next
            // write, or at the next start.
            tracing::error!(file = %path, %error, "A write of memory stands in its file, and could not \
                be written into the history yet");
        }
        Ok(Written::Applied(way.reply))
    }

    /// Settles a write that stands. A database that cannot be written for a moment is tried again.
    async fn settle_applied(&self, way: &Underway<'_>) -> Result<(), StoreError> {
        let settle = || self.store.settle_intent(way.id, IntentState::Applied, &way.history);
        for rest in SETTLE_AGAIN {
            match settle().await {
                Err(StoreError::Unwritable(_)) => tokio::time::sleep(rest).await,
                done => return done,
            }
        }
        settle().await
    }

    /// The change was not made: nothing of it stays.
    async fn close(&self, way: &Underway<'_>) -> Result<(), WriteError> {
        if let Err(error) = self.files.discard(&way.change.path, &way.token).await {
            tracing::warn!(file = %way.change.path, %error, "A temporary file could not be removed");
        }
        self.store.settle_intent(way.id, IntentState::NotApplied, &way.history).await?;
        Ok(())
    }

    fn by_hand(
        &self,
        change: &Change,
        before: Option<String>,
        after: Option<String>,
    ) -> HistoryRow {
        self.hand_edit(&change.path, change.bot, None, (before, after))
    }

    pub(super) fn hand_edit(
        &self,
        path: &str,
        bot: Option<BotId>,
        conversation: Option<ConversationId>,
        (before, after): (Option<String>, Option<String>),
    ) -> HistoryRow {
        let origin = Origin::HandEdit;
        HistoryRow {
            bot,
            path: path.to_owned(),
            before,
            after,
            origin,
            conversation,
            at: self.clock.now(),
        }
    }
}

/// What came of putting a displaced text back.
pub(super) struct PutBack {
    /// What the file holds now.
    pub(super) now: Option<String>,
    /// Saves that stood in the meantime, in their order, and are overtaken by `now`.
    pub(super) passed: Vec<String>,
}

/// What is to be done about a change.
enum Plan {
    Write { after: String, reply: String },
    Done(Written),
}

/// The name of an intent's temporary file.
pub(super) fn token(id: IntentId) -> String {
    format!("intent-{id}")
}

pub(super) fn text_of(state: FileState) -> Option<String> {
    match state {
        FileState::Missing => None,
        FileState::Text(text) => Some(text),
    }
}

#[cfg(test)]
mod tests;
