//! What a write that was cut short left behind, and how it is brought to an end.
//!
//! Only who holds the file's lock settles: at start, and before any write to that file.

use std::collections::BTreeSet;

use crate::memory::MemoryWriter;
use crate::memory::writer::{WriteError, text_of, token};
use crate::ports::{FileError, HistoryRow, Intent, IntentState};

/// What stands under the temporary name.
enum LeftOver {
    /// Nothing, or a text that is known otherwise.
    Known,
    /// Somebody's save that the exchange displaced and nobody has looked at. None: it is no text.
    Theirs(Option<String>),
}

impl MemoryWriter {
    /// Settles whatever a former process left open, file by file. A file that cannot be settled now
    /// (another program holds it) is logged, stays open, and is settled before its next write.
    ///
    /// # Errors
    ///
    /// [`WriteError::Store`] where the database cannot say what is open.
    pub async fn settle_open_intents(&self) -> Result<(), WriteError> {
        let open = self.store.open_intents(None).await?;
        let paths: BTreeSet<String> = open.into_iter().map(|intent| intent.new.path).collect();
        for path in paths {
            if let Err(error) = self.settle_locked(&path).await {
                tracing::warn!(file = %path, %error, "A write of memory that was cut short could not \
                    be settled; it is tried again before the file's next write");
            }
        }
        Ok(())
    }

    async fn settle_locked(&self, path: &str) -> Result<(), WriteError> {
        let _lock = self.files.lock(path).await?;
        self.settle_file(path).await
    }

    /// Settles the open intents of a file whose lock is held.
    pub(super) async fn settle_file(&self, path: &str) -> Result<(), WriteError> {
        for intent in self.store.open_intents(Some(path)).await? {
            self.settle_one(&intent).await?;
        }
        Ok(())
    }

    async fn settle_one(&self, intent: &Intent) -> Result<(), WriteError> {
        let (path, token) = (&intent.new.path, token(intent.id));
        let found = match self.files.read(path).await {
            Ok(state) => text_of(state),
            Err(error) => return Err(error.into()),
        };
        let left = self.left_over(intent, found.as_deref(), &token).await?;
        let written = found.as_deref() == Some(intent.new.after.as_str());
        let (state, history) = match left {
            LeftOver::Theirs(theirs) if written => {
                let ours = intent.new.after.clone();
                let known = theirs.clone().unwrap_or_default();
                let back = self.put_back(path, &token, known, ours).await?;
                // What is no text cannot stand in the history; it stands in the file again.
                let now = theirs.is_some().then_some(back.now).flatten();
                let rows = back.passed.into_iter().chain(now);
                let rows = rows.map(|text| self.edited(intent, Some(text))).collect();
                (IntentState::NotApplied, rows)
            }
            left => {
                let (state, mut rows) = self.outcome(intent, found.as_deref());
                if let LeftOver::Theirs(Some(theirs)) = left {
                    rows.push(self.edited(intent, Some(theirs)));
                }
                (state, rows)
            }
        };
        self.files.discard(path, &token).await?;
        self.store.settle_intent(intent.id, state, &history).await?;
        tracing::info!(file = %path, intent.id = intent.id.0, ?state, "A write of memory that was cut short is settled");
        Ok(())
    }

    async fn left_over(
        &self,
        intent: &Intent,
        found: Option<&str>,
        token: &str,
    ) -> Result<LeftOver, WriteError> {
        let text = match self.files.left_over(&intent.new.path, token).await {
            Ok(state) => text_of(state),
            Err(FileError::Unreadable { .. }) => return Ok(LeftOver::Theirs(None)),
            Err(error) => return Err(error.into()),
        };
        let Some(text) = text else { return Ok(LeftOver::Known) };
        let new = &intent.new;
        let known = text == new.after
            || new.before.as_deref() == Some(text.as_str())
            || found == Some(text.as_str());
        Ok(if known { LeftOver::Known } else { LeftOver::Theirs(Some(text)) })
    }

    /// What the file's text says of a write that nobody saw the end of.
    fn outcome(&self, intent: &Intent, found: Option<&str>) -> (IntentState, Vec<HistoryRow>) {
        let new = &intent.new;
        if found == Some(new.after.as_str()) {
            return (IntentState::Applied, vec![self.intended(intent)]);
        }
        if found == new.before.as_deref() {
            return (IntentState::NotApplied, Vec::new());
        }
        // Neither: whatever stood meanwhile, all three texts are kept.
        let after = (Some(new.after.clone()), found.map(str::to_owned));
        let later = self.hand_edit(&new.path, new.bot, None, after);
        (IntentState::NotApplied, vec![self.intended(intent), later])
    }

    fn intended(&self, intent: &Intent) -> HistoryRow {
        let new = &intent.new;
        HistoryRow {
            bot: new.bot,
            path: new.path.clone(),
            before: new.before.clone(),
            after: Some(new.after.clone()),
            origin: new.origin,
            conversation: new.conversation,
            at: self.clock.now(),
        }
    }

    fn edited(&self, intent: &Intent, now: Option<String>) -> HistoryRow {
        let new = &intent.new;
        self.hand_edit(&new.path, new.bot, None, (new.before.clone(), now))
    }
}
