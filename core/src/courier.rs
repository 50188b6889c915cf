//! The courier: carries what the store decided to send, in order in each chat, each once.
//!
//! A delivery is claimed in a commit of its own before it is sent, and settled after. A process that
//! dies between the two leaves a delivery that may have arrived; its repeat is marked by the platform's
//! adapter where the platform has no key against repeats.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::watch;

use crate::engine::Engine;
use crate::ids::{ChatKey, Seq};
use crate::ports::{
    Delivery, NewDelivery, Outgoing, Platform, Receipt, Repeat, SendError, Settlement, StoreError,
};
use crate::retry::{back_off, jitter};

/// Deliveries on their way at once.
const AT_ONCE: usize = 16;

/// How often the outbox is looked into without a ring.
const SWEEP: Duration = Duration::from_secs(5);

/// How long a look waits for something else to happen, and the least time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// How long the outbox is drained when the process stops.
const DRAIN: Duration = Duration::from_secs(10);

/// After this long an undelivered message is closed.
const EXPIRES: TimeDelta = TimeDelta::hours(24);

/// The courier.
pub struct Courier {
    engine: Arc<Engine>,
}

impl Courier {
    /// The courier of this engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Works until `stop` is true and what is due then was sent, for ten seconds at most.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut under_way = FuturesUnordered::new();
        let mut deadline = None;
        loop {
            let room = AT_ONCE.saturating_sub(under_way.len());
            let claimed = self.claim(room).await;
            let looked = room > 0 && claimed.is_some();
            let due = claimed.unwrap_or_default();
            let idle = due.is_empty();
            under_way.extend(due.into_iter().map(|delivery| self.carry(delivery)));
            if deadline.is_none() && *stop.borrow() {
                deadline = Some(tokio::time::Instant::now() + DRAIN);
            }
            let over = deadline.is_some_and(|deadline| deadline <= tokio::time::Instant::now());
            if deadline.is_some() && (over || (idle && under_way.is_empty())) {
                return;
            }
            tokio::select! {
                Some(()) = under_way.next(), if !under_way.is_empty() => {}
                () = self.engine.bells.outbox.notified() => {}
                // Beside what is under way: a message does not wait for this look to be sent.
                () = async { tokio::time::sleep(self.until_due(looked).await).await } => {}
                _ = stop.wait_for(|stop| *stop), if deadline.is_none() => {}
                () = sleep_until(deadline) => {}
            }
        }
    }

    /// What is due. None where the store cannot tell.
    async fn claim(&self, room: usize) -> Option<Vec<Delivery>> {
        if room == 0 {
            return Some(Vec::new());
        }
        let (me, now) = (self.engine.presence.me(), self.engine.clock.now());
        let due = self.engine.store.claim_deliveries(me, &self.engine.accounts(), now, room).await;
        due.inspect_err(|error| {
            tracing::error!(%error, "cannot look into the outbox; trying again in a few seconds");
        })
        .ok()
    }

    /// How long until something is due. Where nothing more could be claimed now (`looked` is false),
    /// as long as without a ring.
    async fn until_due(&self, looked: bool) -> Duration {
        if !looked {
            return SWEEP;
        }
        // Most often something else happens at once, and this look would be for nothing.
        tokio::time::sleep(PAUSE).await;
        let (me, accounts) = (self.engine.presence.me(), self.engine.accounts());
        let next = self.engine.store.next_delivery(me, &accounts).await.ok().flatten();
        // What became due since the look is not to wait for the next sweep.
        let until = |at: DateTime<Utc>| (at - self.engine.clock.now()).to_std().unwrap_or_default();
        next.map_or(SWEEP, |at| until(at).min(SWEEP))
    }

    async fn carry(&self, delivery: Delivery) {
        let Some(platform) = self.engine.platforms.get(&delivery.new.to.account) else { return };
        let sending = AssertUnwindSafe(self.send(&**platform, &delivery)).catch_unwind();
        let settlement = sending.await.unwrap_or_else(|_| {
            // A bug that one message meets ends its try and holds up no other chat.
            tracing::error!(delivery.id = %delivery.new.id, "a bug broke off the sending of a message; it is tried again");
            let at = self.engine.clock.now() + jitter(back_off(delivery.attempts));
            Some(Settlement::Retry { at, reason: "a bug".to_owned(), unknown: true })
        });
        let Some(settlement) = settlement else { return };
        if let Settlement::Closed { reason, .. } = &settlement {
            tracing::warn!(delivery.id = %delivery.new.id, reason, "a message could not be delivered");
        }
        let _ = self.record(&delivery, Fact::Settled(&settlement)).await;
        if matches!(settlement, Settlement::Closed { .. }) {
            self.engine.bells.outbox.notify_one();
        }
        self.engine.bells.changed.notify_waiters();
    }

    /// Sends the parts that have not arrived. None where the claim was lost.
    async fn send(&self, platform: &dyn Platform, delivery: &Delivery) -> Option<Settlement> {
        let now = self.engine.clock.now();
        if now - delivery.created_at > EXPIRES {
            return Some(self.closed(delivery, "it waited for more than a day").await);
        }
        let NewDelivery { id, to, text, silent, kind, reply_to, .. } = delivery.new.clone();
        let outgoing = Outgoing { id, to, text, silent, kind, reply_to };
        let parts = platform.encode(&outgoing);
        let done = delivery.sent.len();
        for (index, part) in parts.into_iter().enumerate().skip(done) {
            let first = index == done;
            let repeat = delivery.unsettled_since.filter(|_| first).map(|since| repeat(since, now));
            if !first && self.record(delivery, Fact::Attempting).await.is_err() {
                return None;
            }
            match platform.send(&outgoing, &part, index, repeat).await {
                Ok(receipt) => self.record(delivery, Fact::Arrived(&receipt)).await.ok()?,
                Err(error) => return Some(self.refused(delivery, error, !first).await),
            }
        }
        Some(Settlement::Sent)
    }

    /// What a failed try means for the delivery. `fresh`: it was the part's first try.
    async fn refused(&self, delivery: &Delivery, error: SendError, fresh: bool) -> Settlement {
        let attempts = if fresh { 0 } else { delivery.attempts };
        let reason = error.to_string();
        let (wait, unknown) = match error {
            SendError::RetryAfter(wait) => (wait, false),
            SendError::Transient(_) => (jitter(back_off(attempts)), false),
            SendError::Unknown(_) => (jitter(back_off(attempts)), true),
            SendError::Rejected(reason) => return self.closed(delivery, &reason).await,
            SendError::Moved(to) => {
                let from = &delivery.new.to;
                let moved = self.engine.store.move_chat(&from.account, &from.chat, &to).await;
                if let Err(error) = moved {
                    tracing::error!(%error, "a chat's new id could not be stored");
                }
                self.engine.bells.sweep.notify_one();
                (Duration::ZERO, false)
            }
        };
        tracing::info!(delivery.id = %delivery.new.id, reason, ?wait, "a message was not delivered; trying again");
        let at = self.engine.clock.now() + wait;
        Settlement::Retry {
            at,
            reason,
            unknown: unknown || (!fresh && delivery.unsettled_since.is_some()),
        }
    }

    /// The end of a delivery that can never arrive: its bot hears of it, and the owner, elsewhere.
    async fn closed(&self, delivery: &Delivery, reason: &str) -> Settlement {
        let NewDelivery { to, conversation, .. } = &delivery.new;
        let note = conversation
            .map(|_| format!("(A message of yours could not be delivered to {to}: {reason})"));
        let told = format!("A message to {to} could not be delivered: {reason}");
        let place = self.elsewhere(delivery).await;
        let notice = place.map(|place| NewDelivery::notice(place, told));
        Settlement::Closed { reason: reason.to_owned(), note, notice }
    }

    /// The owner's private chat, unless it is the very place that cannot be reached.
    async fn elsewhere(&self, delivery: &Delivery) -> Option<ChatKey> {
        let loaded =
            self.engine.store.load(delivery.new.conversation?, Seq(i64::MAX)).await.ok()?;
        let place = self.engine.store.private_place(loaded.bot).await.ok()??;
        (place != delivery.new.to).then_some(place)
    }

    /// Stores what became of a delivery, and tries until it is stored: what the platform has taken must
    /// not be forgotten because a disk was full, however long, and a claim that is never closed holds
    /// up its chat. Only somebody who has taken the delivery over ends it.
    async fn record(&self, delivery: &Delivery, fact: Fact<'_>) -> Result<(), StoreError> {
        let mut tries = 0;
        loop {
            match self.record_once(delivery, &fact).await {
                Err(error @ StoreError::ClaimLost) => {
                    tracing::warn!(delivery.id = %delivery.new.id, %error, "a delivery is somebody else's now");
                    return Err(error);
                }
                Err(error) => {
                    tracing::error!(delivery.id = %delivery.new.id, %error, "what became of a delivery cannot be stored; trying again");
                    tokio::time::sleep(jitter(back_off(tries))).await;
                    tries += 1;
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    async fn record_once(&self, delivery: &Delivery, fact: &Fact<'_>) -> Result<(), StoreError> {
        let (store, now) = (&self.engine.store, self.engine.clock.now());
        let (id, fence) = (delivery.new.id, delivery.fence);
        match fact {
            Fact::Attempting => store.attempting(id, fence, now).await,
            Fact::Arrived(receipt) => store.part_sent(id, fence, &receipt.message).await,
            Fact::Settled(settlement) => store.settle(id, fence, settlement, now).await,
        }
    }
}

/// What happened to a delivery.
enum Fact<'a> {
    /// The next part is about to be sent.
    Attempting,
    /// A part arrived.
    Arrived(&'a Receipt),
    /// Its claim ends.
    Settled(&'a Settlement),
}

/// Where the clock was set back nobody knows the age: as old as can be.
fn repeat(since: DateTime<Utc>, now: DateTime<Utc>) -> Repeat {
    Repeat { since, age: (now - since).to_std().unwrap_or(Duration::MAX) }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
