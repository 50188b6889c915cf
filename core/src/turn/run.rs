//! Drives a turn: loads the journal, asks [`next`], does that step, commits it.
//!
//! Nothing is decided here that a row of the store does not say: killed at any point, the next
//! process does the same from the last commit on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};

use crate::audience::SharedMemory;
use crate::bot::Bot;
use crate::conversation::compaction::{self, Keep};
use crate::conversation::kept::{joined, known};
use crate::engine::{Engine, Serves};
use crate::home::Home;
use crate::ids::{ChatKey, DeliveryId, InboxId, Seq};
use crate::instructions::instructions;
use crate::memory::documents::{Shown, documents};
use crate::message::{Body, Part};
use crate::ports::{
    Claim, Committed, Cut, DeliveryKind, FileError, Loaded, NewDelivery, NewTurn, OpenTurn,
    Pending, PendingWhat, StepCommit, StoreError, TurnEnd, TurnNotes, Usage,
};
use crate::turn::batch::{Batch, batch, within_reach};
use crate::turn::chain::Chain;
use crate::turn::{Step, Turn, next};

/// What came of looking for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A turn was finished; there may be another.
    Worked,
    /// A turn was finished, and had taken all that waited when it last looked.
    Emptied,
    /// A turn was finished, nothing waited, and its last step gave the conversation back.
    GivenBack,
    /// Nothing waits.
    Nothing,
    /// What waits cannot be begun: its bot or model is gone. The log says so.
    Blocked,
    /// Another process has the conversation.
    Elsewhere,
    /// The process stops; the turn goes on from its last commit at the next start.
    Stopping,
}

/// One claimed conversation at work.
pub(crate) struct Driver<'a> {
    pub(super) engine: &'a Engine,
    pub(super) claim: &'a Claim,
    pub(super) bell: &'a Notify,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) home: Arc<Home>,
    pub(super) bot: Bot,
    pub(super) chain: Chain,
    pub(super) system: Arc<str>,
    /// The model's server wants strict roles.
    pub(super) strict_roles: bool,
    /// Earlier answers are replayed with their reasoning; off once a server refused it.
    pub(super) reasoning: bool,
    pub(super) loaded: Loaded,
    /// When this process took the turn up.
    pub(super) taken_up: DateTime<Utc>,
    /// The call results that are missing belong to another life of this turn.
    pub(super) resumed: bool,
    /// Tries of the present request.
    pub(super) tries: u32,
    /// The next cut keeps less: the last one was not enough.
    pub(super) keep: Keep,
    /// Something waits, or may wait, that this turn did not take.
    pub(super) more: bool,
    /// The last step gave the conversation back.
    pub(super) given_back: bool,
}

/// Finishes the open turn of a claimed conversation, or opens one and finishes it. `found`: how it stood
/// when it was claimed, and what waited; None where this process has finished a turn in this claim, so
/// that none stands open.
///
/// # Errors
///
/// [`StoreError`]: what was committed stands, the rest is done again by whoever claims next.
pub(crate) async fn turn(
    engine: &Engine,
    claim: &Claim,
    found: Option<(Loaded, Vec<Pending>)>,
    bell: &Notify,
    stop: watch::Receiver<bool>,
) -> Result<Outcome, StoreError> {
    let home = engine.home();
    let (store, id) = (&engine.store, claim.conversation);
    let (loaded, pending) = if let Some((loaded, pending)) = found {
        (loaded, for_this_process(engine, pending))
    } else {
        let pending = for_this_process(engine, store.pending(id).await?);
        if opening(engine, &pending, &home).is_none() {
            return Ok(Outcome::Nothing);
        }
        let kept = engine.kept.take(id);
        let loaded = store.load(id, known(&kept)).await?;
        (joined(kept, loaded), pending)
    };
    let resumed = loaded.turn.is_some();
    let opens = if resumed { None } else { opening(engine, &pending, &home) };
    if !resumed && opens.is_none() {
        engine.kept.keep(id, loaded.messages);
        return Ok(Outcome::Nothing);
    }
    let Some(bot) = home.bot(loaded.bot).cloned() else {
        tracing::error!(bot.id = %loaded.bot, "a conversation waits for a bot that is gone; put its folder back under bots/");
        return Ok(Outcome::Blocked);
    };
    let Some(mut chain) = Chain::new(home.chain(&bot)) else {
        tracing::error!(model = %bot.model, "a conversation waits for a model that is not configured");
        return Ok(Outcome::Blocked);
    };
    match loaded.turn.as_ref().and_then(|open| open.notes.model.as_ref()) {
        Some(stands_in) => chain.begin_with(stands_in),
        None if resumed => {}
        None => {
            let now = engine.clock.now();
            chain.begin_after(|signer| engine.learned.rests(signer, now));
        }
    }
    let system = instructions(&*engine.files, &bot, loaded.audience).await.map_err(unread)?;
    let (system, keep) = (Arc::from(system), Keep::Quarter);
    let strict_roles = engine.learned.strict_roles(&*engine.store, chain.model().info()).await?;
    let more = opens.as_ref().is_none_or(|batch| batch.taken.len() < pending.len());
    let mut driver = Driver {
        engine,
        claim,
        bell,
        stop,
        home,
        bot,
        chain,
        system,
        strict_roles,
        reasoning: true,
        loaded,
        resumed,
        taken_up: engine.clock.now(),
        tries: 0,
        keep,
        more,
        given_back: false,
    };
    if let Some(batch) = opens
        && !driver.open(batch, &pending).await?
    {
        return Ok(Outcome::Stopping);
    }
    let outcome = driver.finish().await?;
    engine.kept.keep(id, driver.loaded.messages);
    Ok(outcome)
}

/// What this process can take of what waits for a turn. A gateway serves every account that there is; a
/// terminal leaves to it what comes with files.
fn for_this_process(engine: &Engine, pending: Vec<Pending>) -> Vec<Pending> {
    if engine.serves == Serves::Home {
        return pending;
    }
    within_reach(pending, |account| engine.platforms.contains_key(account))
}

/// The batch that opens a turn, if one of what waits is this process's to begin. What others have
/// accepted goes along with it.
fn opening(engine: &Engine, pending: &[Pending], home: &Home) -> Option<Batch> {
    let ours = |row: &Pending| {
        matches!(row.what, PendingWhat::Said { .. }) && engine.begins(&row.accepted_by)
    };
    if pending.iter().any(ours) { batch(pending, None, home.zone) } else { None }
}

impl Driver<'_> {
    /// Opens a turn with this batch. False where the process stops before.
    async fn open(&mut self, mut batch: Batch, pending: &[Pending]) -> Result<bool, StoreError> {
        if !self.read_files(&mut batch).await? {
            return Ok(false);
        }
        let memory = self.memory_of(pending);
        if compaction::size(&self.loaded, &self.system) > self.limit() {
            let places = places_of(&batch.parts);
            self.cut(memory, &places).await?;
        }
        let (body, places, outside) = self.said(batch.parts, memory).await?;
        let model = self.chain.stands_in();
        let notes = TurnNotes { places, outside, memory, model, ..TurnNotes::default() };
        let turn = NewTurn {
            claim: self.claim.clone(),
            standing: batch.standing,
            taken: batch.taken,
            body,
            notes,
            at: self.engine.clock.now(),
        };
        let opened = self.engine.store.open_turn(&turn).await?;
        self.loaded.turn = Some(opened.turn);
        self.loaded.messages.push(opened.message);
        // What was stopped before anybody took it up opens a turn that ends at once.
        self.loaded.stop_requested = opened.stop_requested;
        self.engine.bells.typing.notify_one();
        Ok(true)
    }

    /// Does step after step until the turn is over.
    async fn finish(&mut self) -> Result<Outcome, StoreError> {
        loop {
            let Some(open) = &self.loaded.turn else {
                return Ok(match (self.given_back, self.more) {
                    (true, _) => Outcome::GivenBack,
                    (false, true) => Outcome::Worked,
                    (false, false) => Outcome::Emptied,
                });
            };
            let step = next(&Turn {
                open,
                messages: &self.loaded.messages,
                attempt: self.claim.attempt,
                stop_requested: self.loaded.stop_requested,
                taken_up: self.taken_up,
                now: self.engine.clock.now(),
            });
            if *self.stop.borrow() {
                return Ok(Outcome::Stopping);
            }
            match step {
                Step::AskModel => self.ask().await?,
                Step::RunTools(calls) => self.run_tools(&calls).await?,
                Step::Finish => self.commit(Commit::end(TurnEnd::Done)).await?,
                Step::Stop(why) => self.give_up(why).await?,
            }
            self.resumed = false;
        }
    }

    /// The user message of these parts: the documents that are new to the model stand before them.
    async fn said(
        &self,
        parts: Vec<Part>,
        memory: Option<SharedMemory>,
    ) -> Result<(Body, Vec<ChatKey>, bool), StoreError> {
        let places = places_of(&parts);
        let shown = self.loaded.messages.iter().map(|message| &message.body);
        let mut all = self.documents(&Shown::of(shown), memory).await?;
        all.extend(parts);
        let body = Body::User { parts: all };
        let outside = body.is_outside();
        Ok((body, places, outside))
    }

    /// The documents that were not shown as they are now.
    async fn documents(
        &self,
        shown: &Shown,
        memory: Option<SharedMemory>,
    ) -> Result<Vec<Part>, StoreError> {
        let (files, audience) = (&*self.engine.files, self.loaded.audience);
        let memory = memory.unwrap_or_else(|| SharedMemory::default_for(&self.bot));
        documents(files, &self.bot, audience, memory, shown).await.map_err(unread)
    }

    /// What the route of the first waiting message lets a shared conversation load.
    fn memory_of(&self, pending: &[Pending]) -> Option<SharedMemory> {
        pending.iter().find_map(|row| match &row.what {
            PendingWhat::Said { place, inbound, .. } => {
                self.home.router.find(&place.account, &inbound.lineage)?.memory
            }
            _ => None,
        })
    }

    /// Messages that arrived meanwhile and have the turn's standing join it.
    pub(super) async fn join(&mut self) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let (standing, mut notes) = (open.standing, open.notes.clone());
        let pending = self.engine.store.pending(self.claim.conversation).await?;
        let pending = for_this_process(self.engine, pending);
        let batch = batch(&pending, Some(standing), self.home.zone);
        let taken = batch.as_ref().map_or(0, |batch| batch.taken.len());
        self.more = taken < pending.len();
        let Some(mut batch) = batch else { return Ok(()) };
        if !self.read_files(&mut batch).await? {
            self.more = true;
            return Ok(());
        }
        let (body, places, outside) = self.said(batch.parts, notes.memory).await?;
        for place in places {
            if !notes.places.contains(&place) {
                notes.places.push(place);
            }
        }
        notes.outside |= outside;
        self.engine.bells.typing.notify_one();
        self.commit(Commit {
            messages: vec![body],
            taken: batch.taken,
            notes: Some(notes),
            ..Commit::default()
        })
        .await
    }

    /// Tokens at which the episode is cut.
    fn limit(&self) -> u64 {
        compaction::limit(self.home.compact_at, self.chain.model().info().window)
    }

    /// Cuts the episode. False where nothing can go.
    pub(super) async fn cut(
        &mut self,
        memory: Option<SharedMemory>,
        places: &[ChatKey],
    ) -> Result<bool, StoreError> {
        let Some(cut) = compaction::place(&self.loaded.messages, self.keep) else {
            return Ok(false);
        };
        let documents = self.documents(&Shown::default(), memory).await?;
        let archived_to = self.loaded.messages[cut - 1].seq;
        let (open, zone) = (self.loaded.turn.as_ref().map(|open| open.id), self.home.zone);
        let (head, kept) = compaction::carry(&self.loaded.messages, cut, open, documents, zone);
        let line =
            "The older part of our conversation is archived now; I go on with the newest part.";
        let deliveries = self.deliveries(places, DeliveryKind::Notice, line);
        let at = self.engine.clock.now();
        let cut = Cut { claim: self.claim.clone(), at, head, kept, archived_to, deliveries };
        self.engine.store.cut(&cut).await?;
        self.engine.bells.outbox.notify_one();
        self.keep = Keep::Little;
        self.loaded = self.engine.store.load(self.claim.conversation, Seq(0)).await?;
        Ok(true)
    }

    /// Commits a step, and keeps what is loaded as the store has it.
    pub(super) async fn commit(&mut self, commit: Commit) -> Result<(), StoreError> {
        let Some(open) = &self.loaded.turn else { return Ok(()) };
        let notes = commit.notes.unwrap_or_else(|| open.notes.clone());
        let step = StepCommit {
            claim: self.claim.clone(),
            turn: open.id,
            at: self.engine.clock.now(),
            messages: commit.messages,
            taken: commit.taken,
            deliveries: commit.deliveries,
            usage: commit.usage,
            notes: notes.clone(),
            end: commit.end,
            give_back: commit.end.is_some(),
        };
        let Committed { messages: stored, given_back } =
            self.engine.store.commit_step(&step).await?;
        self.given_back = given_back;
        if let Some(usage) = step.usage.filter(|usage| usage.anchors)
            && let Some(last) = stored.last()
        {
            self.loaded.counted = Some((usage.tokens, last.seq));
        }
        self.loaded.messages.extend(stored);
        self.loaded.turn = match step.end {
            Some(_) => None,
            None => self.loaded.turn.take().map(|open| OpenTurn { notes, ..open }),
        };
        if !step.deliveries.is_empty() {
            self.engine.bells.outbox.notify_one();
        }
        self.engine.bells.changed.notify_waiters();
        Ok(())
    }

    /// This text to each of these places.
    pub(super) fn deliveries(
        &self,
        places: &[ChatKey],
        kind: DeliveryKind,
        text: &str,
    ) -> Vec<NewDelivery> {
        places.iter().map(|to| self.delivery(to.clone(), kind, text)).collect()
    }

    /// One message to one place.
    pub(super) fn delivery(&self, to: ChatKey, kind: DeliveryKind, text: &str) -> NewDelivery {
        NewDelivery {
            id: DeliveryId::new(),
            to,
            text: text.to_owned(),
            silent: kind == DeliveryKind::Notice,
            kind,
            conversation: Some(self.claim.conversation),
            reply_to: None,
        }
    }
}

/// A turn never runs with the wrong memory: it fails, and is tried again.
fn unread(error: FileError) -> StoreError {
    StoreError::Failed(error.to_string())
}

/// The places in which these messages were written.
fn places_of(parts: &[Part]) -> Vec<ChatKey> {
    let mut places = Vec::new();
    for part in parts {
        if let Part::Said { place, .. } = part
            && !places.contains(place)
        {
            places.push(place.clone());
        }
    }
    places
}

/// What a step brings.
#[derive(Debug, Default)]
pub(super) struct Commit {
    pub(super) messages: Vec<Body>,
    pub(super) taken: Vec<InboxId>,
    pub(super) deliveries: Vec<NewDelivery>,
    pub(super) usage: Option<Usage>,
    /// None leaves them as they are.
    pub(super) notes: Option<TurnNotes>,
    pub(super) end: Option<TurnEnd>,
}

impl Commit {
    fn end(end: TurnEnd) -> Self {
        Self { end: Some(end), ..Self::default() }
    }
}
