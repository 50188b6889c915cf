//! Conversations at work: one actor for each that has something to do, and the sweep that wakes them.
//!
//! An actor claims its conversation in the store, so no other process runs it meanwhile; its mailbox
//! is a bell. What this process stores calls its conversation by name. The sweep looks into the store
//! at start, when rung and every few seconds: whatever was missed costs that long and no message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::engine::{Engine, Serves};
use crate::home::Home;
use crate::ids::ConversationId;
use crate::ports::{Claim, Claimed, OpenWork, StoreError};
use crate::turn::run::{Outcome, turn};

use kept::{joined, known};
use renewing::renewing;

pub mod compaction;
pub mod kept;
mod renewing;
pub mod transcript;

/// How often the store is looked into without a ring.
const SWEEP: Duration = Duration::from_secs(3);

/// How long a claim is valid without being renewed. Only a process of another machine is judged by
/// it; one of this machine by its lock file.
const LEASE: Duration = Duration::from_secs(60);

/// How long steps in progress get when the process stops.
const GRACE: Duration = Duration::from_secs(20);

/// Turns of this process at once: each may hold a connection to a model, and a process has 1,024 files
/// and connections where nobody gave it more. The rest waits in the store.
const AT_ONCE: usize = 256;

/// The actors of this process.
pub struct Conversations {
    engine: Arc<Engine>,
    actors: Mutex<HashMap<ConversationId, Actor>>,
}

struct Actor {
    task: JoinHandle<()>,
    state: Arc<Mutex<State>>,
}

/// How an actor stands.
#[derive(Debug, Default)]
struct State {
    /// The claim that it holds just now.
    claim: Option<Claim>,
    /// Something came since it began its last look.
    woken: bool,
    /// It looks for no more work: what comes now is for another actor.
    ended: bool,
    /// The home in which its bot or model is missing: nothing is tried again until there is another.
    blocked: Option<Arc<Home>>,
}

impl Conversations {
    /// The conversations of this engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, actors: Mutex::default() }
    }

    /// Works until `stop` is true. Then steps in progress get 20 seconds; what is left is given back
    /// and goes on from its last commit at the next start.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let halt = stop.clone();
        while !*stop.borrow() {
            let mut crowded = self.sweep(&halt).await.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot look for open conversations; trying again in a few seconds");
                false
            });
            let next = tokio::time::Instant::now() + SWEEP;
            loop {
                tokio::select! {
                    () = self.engine.bells.called.notified() => crowded |= self.answer(&halt),
                    () = self.rung(crowded) => break,
                    () = tokio::time::sleep_until(next) => break,
                    _ = stop.wait_for(|stop| *stop) => break,
                }
            }
        }
        self.wind_down().await;
    }

    /// Waits for a ring after which a look is worth while. Where more waits than may be begun
    /// (`crowded`), each look reads all of it: then not before a quarter of the places is free.
    async fn rung(&self, crowded: bool) {
        let bells = &self.engine.bells;
        loop {
            tokio::select! {
                () = bells.sweep.notified() => {}
                () = bells.room.notified(), if crowded => {}
            }
            if !crowded || self.room() >= AT_ONCE / 4 {
                return;
            }
        }
    }

    /// Sees to it that each conversation that was called has an actor. Whether one has to wait.
    fn answer(&self, stop: &watch::Receiver<bool>) -> bool {
        let mut room = self.room();
        let mut crowded = false;
        for id in self.engine.bells.calls() {
            match self.wake(id, room > 0, stop) {
                Woken::Started => room -= 1,
                Woken::Full => crowded = true,
                Woken::Rung | Woken::Blocked => {}
            }
        }
        crowded
    }

    /// How many conversations more may be begun.
    fn room(&self) -> usize {
        let at_work = self.lock().values().filter(|actor| !actor.is_over()).count();
        AT_ONCE.saturating_sub(at_work)
    }

    /// Frees what dead processes hold, and sees to it that every conversation with work has an actor.
    /// Whether more waits than may be begun.
    async fn sweep(&self, stop: &watch::Receiver<bool>) -> Result<bool, StoreError> {
        free_the_dead(&self.engine).await?;
        self.reap();
        let mut room = self.room();
        for work in self.engine.store.open_work().await? {
            if self.is_ours(&work) && self.wake(work.conversation, room > 0, stop) == Woken::Started
            {
                room -= 1;
            }
        }
        Ok(room == 0)
    }

    /// Whether this process is the one to do this.
    fn is_ours(&self, work: &OpenWork) -> bool {
        let me = self.engine.presence.me();
        if work.held_by.as_ref().is_some_and(|holder| holder != me) {
            return false;
        }
        work.waiting.iter().any(|(by, _)| self.engine.begins(by))
            || (work.turn_open && self.goes_on(work.conversation))
    }

    /// Whether an open turn is this process's to go on with: any for the gateway, for a terminal only
    /// what it began itself.
    fn goes_on(&self, id: ConversationId) -> bool {
        self.engine.serves == Serves::Home || self.lock().contains_key(&id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Actor>> {
        lock(&self.actors)
    }

    /// Rings a conversation's actor, or starts one if it may.
    #[expect(
        clippy::disallowed_methods,
        reason = "an actor is a task, and this is where actors start"
    )]
    fn wake(&self, id: ConversationId, may_start: bool, stop: &watch::Receiver<bool>) -> Woken {
        let mut actors = self.lock();
        if let Some(actor) = actors.get(&id) {
            let mut state = lock(&actor.state);
            if !state.ended && !actor.task.is_finished() {
                state.woken = true;
                self.engine.bells.conversation(id).notify_one();
                return Woken::Rung;
            }
            if state.blocked.as_ref().is_some_and(|home| self.engine.is_home(home)) {
                return Woken::Blocked;
            }
        }
        if !may_start {
            return Woken::Full;
        }
        let state = Arc::new(Mutex::new(State::default()));
        let (engine, its, stop) = (self.engine.clone(), state.clone(), stop.clone());
        let task = tokio::spawn(async move { live(&engine, id, &its, stop).await });
        actors.insert(id, Actor { task, state });
        Woken::Started
    }

    /// Forgets actors that ended with nothing left to do. One that broke is kept in mind, so that a
    /// terminal still knows the turn for its own; and one that is blocked, so that it is not tried
    /// again and again.
    fn reap(&self) {
        self.lock().retain(|id, actor| {
            let ended = lock(&actor.state).ended;
            if ended {
                self.engine.bells.forget(*id);
            }
            !ended
        });
    }

    /// Lets steps in progress finish for a while, then gives all claims back.
    async fn wind_down(&self) {
        let actors = std::mem::take(&mut *self.lock());
        let deadline = tokio::time::Instant::now() + GRACE;
        // Side by side, so that what is given back shares its commits.
        join_all(actors.into_values().map(|actor| self.part_with(actor, deadline))).await;
    }

    async fn part_with(&self, mut actor: Actor, deadline: tokio::time::Instant) {
        if tokio::time::timeout_at(deadline, &mut actor.task).await.is_err() {
            actor.task.abort();
            let _ = actor.task.await;
        }
        let claim = lock(&actor.state).claim.take();
        if let Some(claim) = claim
            && let Err(error) = self.engine.store.release(&claim, true).await
        {
            tracing::warn!(%error, "a claim could not be given back; the next start takes it over");
        }
    }
}

/// Frees what processes hold that are gone.
async fn free_the_dead(engine: &Engine) -> Result<(), StoreError> {
    for holder in engine.store.holders().await? {
        if &holder != engine.presence.me() && !engine.presence.alive(&holder) {
            tracing::info!(%holder, "a process ended without giving its work back; taking it over");
            engine.store.free(&holder).await?;
            engine.bells.outbox.notify_one();
        }
    }
    Ok(())
}

impl Actor {
    /// Whether it takes no more work: it ended, or broke.
    fn is_over(&self) -> bool {
        self.task.is_finished() || lock(&self.state).ended
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What became of a conversation that was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// Its actor hears of it.
    Rung,
    /// It has an actor now.
    Started,
    /// It needs one, and no more may be begun now.
    Full,
    /// Its bot or model is missing.
    Blocked,
}

/// The life of an actor: it works until nothing waits, and ends.
async fn live(
    engine: &Engine,
    id: ConversationId,
    state: &Mutex<State>,
    stop: watch::Receiver<bool>,
) {
    let bell = engine.bells.conversation(id);
    loop {
        let home = engine.home();
        match work(engine, id, state, &bell, &stop).await {
            Ok(Outcome::Blocked) => lock(state).blocked = Some(home),
            Ok(Outcome::Emptied | Outcome::GivenBack | Outcome::Nothing | Outcome::Elsewhere)
                if !ends(state) =>
            {
                continue;
            }
            Ok(_) => lock(state).ended = true,
            Err(StoreError::ClaimLost) => {
                lock(state).ended = true;
                engine.bells.sweep.notify_one();
            }
            Err(error) => {
                tracing::error!(conversation.id = %id, %error, "a turn cannot go on; trying again in a few seconds");
            }
        }
        break;
    }
    engine.bells.room.notify_one();
}

/// Ends an actor, unless something came since it began its last look. What comes later finds that it
/// has ended.
fn ends(state: &Mutex<State>) -> bool {
    let mut state = lock(state);
    state.ended = !state.woken;
    state.ended
}

/// Claims the conversation and runs its turns until nothing waits.
async fn work(
    engine: &Engine,
    id: ConversationId,
    state: &Mutex<State>,
    bell: &Notify,
    stop: &watch::Receiver<bool>,
) -> Result<Outcome, StoreError> {
    let until = || engine.clock.now() + LEASE;
    // Whoever has it may give it back, and ring, while this still learns that it is taken.
    lock(state).woken = false;
    let kept = engine.kept.take(id);
    let claimed = engine.store.claim(id, engine.presence.me(), until(), known(&kept)).await?;
    let Some(Claimed { mut claim, loaded, pending }) = claimed else {
        // Somebody else has it; whoever gives it back rings.
        return Ok(Outcome::Elsewhere);
    };
    let put = |claim| lock(state).claim = claim;
    put(Some(claim.clone()));
    let mut found = Some((joined(kept, loaded), pending));
    let result = loop {
        // Of a claim the look was taken with it: what came since may not be in it.
        if found.is_none() {
            lock(state).woken = false;
        }
        let running = turn(engine, &claim, found.take(), bell, stop.clone());
        let renew = || engine.store.renew(&claim, until());
        match renewing(LEASE / 3, renew, running).await {
            // The next turn starts its own count of attempts.
            Ok(Outcome::Worked) => claim.attempt = 1,
            Ok(Outcome::Emptied) if lock(state).woken => claim.attempt = 1,
            Ok(outcome) => break Ok(outcome),
            Err(error) => break Err(error),
        }
        engine.bells.changed.notify_waiters();
    };
    // An error of the store is no failure of the turn: only a process that died, or code that broke.
    let released = match &result {
        Ok(Outcome::GivenBack) | Err(StoreError::ClaimLost) => Ok(()),
        _ => engine.store.release(&claim, true).await,
    };
    put(None);
    engine.bells.changed.notify_waiters();
    released.and(result)
}
