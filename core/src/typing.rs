//! Shows that a bot is typing: in every place with a message in a turn at work, or taken up for one, from
//! the accounts that this process serves, whichever process runs the turn. It looks at the store alone, so it ends on
//! every way out of a turn.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::engine::Engine;
use crate::ids::ChatKey;

/// Platforms show it for about five seconds.
const AGAIN: Duration = Duration::from_secs(4);

/// The typing worker.
pub struct Typing {
    engine: Arc<Engine>,
}

impl Typing {
    /// The typing of this engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Works until `stop` is true.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut shown: BTreeSet<ChatKey> = BTreeSet::new();
        let mut again = tokio::time::interval(AGAIN);
        again.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.engine.bells.typing.notified() => {}
                _ = again.tick() => shown.clear(),
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let at_work = self.places().await;
            let new: Vec<ChatKey> = at_work.difference(&shown).cloned().collect();
            let showing = new.iter().filter_map(|place| {
                let platform = self.engine.platforms.get(&place.account)?;
                platform.capabilities().typing.then(|| platform.typing(place))
            });
            let showing: Vec<_> = showing.collect();
            // A platform that hangs must not keep the others from showing it.
            let all = futures_util::future::join_all(showing);
            let _ = tokio::time::timeout(AGAIN, all).await;
            shown = at_work;
        }
    }

    async fn places(&self) -> BTreeSet<ChatKey> {
        let places = self.engine.store.places_at_work().await.unwrap_or_default();
        places
            .into_iter()
            .filter(|place| self.engine.platforms.contains_key(&place.account))
            .collect()
    }
}
