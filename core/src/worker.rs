//! Bells. A bell wakes and carries no data but, at most, which conversation it is for: what is to be
//! done stands in the store, so that a lost ring costs a few seconds and never a message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ids::ConversationId;

/// The bells of one process.
#[derive(Debug, Default)]
pub struct Bells {
    /// There may be work in some conversation.
    pub sweep: Notify,
    /// There is work in the conversations that were called.
    pub called: Notify,
    /// A conversation's actor has ended: another may begin.
    pub room: Notify,
    /// There may be something to deliver.
    pub outbox: Notify,
    /// There may be a command to answer.
    pub commands: Notify,
    /// A turn may be at work in another place.
    pub typing: Notify,
    /// Something was committed; whoever waits for a fact looks again.
    pub changed: Notify,
    conversations: Mutex<HashMap<ConversationId, Arc<Notify>>>,
    calls: Mutex<Vec<ConversationId>>,
}

impl Bells {
    /// The bell of a conversation's actor.
    pub fn conversation(&self, id: ConversationId) -> Arc<Notify> {
        lock(&self.conversations).entry(id).or_default().clone()
    }

    /// Forgets the bell of an actor that ended.
    pub fn forget(&self, id: ConversationId) {
        lock(&self.conversations).remove(&id);
    }

    /// Something for a turn was stored in this conversation, by this process.
    pub fn call(&self, id: ConversationId) {
        lock(&self.calls).push(id);
        self.called.notify_one();
    }

    /// The conversations that were called since the last time, the first first.
    pub fn calls(&self) -> Vec<ConversationId> {
        std::mem::take(&mut lock(&self.calls))
    }

    /// Rings all of them: another process has committed something.
    pub fn ring_all(&self) {
        let bells: Vec<_> = lock(&self.conversations).values().cloned().collect();
        bells.iter().for_each(|bell| bell.notify_one());
        self.sweep.notify_one();
        self.outbox.notify_one();
        self.commands.notify_one();
        self.typing.notify_one();
        self.changed.notify_waiters();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::watch;

    use crate::commands::Commands;
    use crate::conversation::Conversations;
    use crate::courier::Courier;
    use crate::typing::Typing;

    fn can_be_spawned(_: &(impl Future<Output = ()> + Send)) {}

    #[test]
    fn every_worker_can_be_spawned() {
        // Built, never run: the compiler says whether they are `Send`.
        fn all(engine: &Arc<crate::engine::Engine>, stop: &watch::Receiver<bool>) {
            can_be_spawned(&Conversations::new(engine.clone()).run(stop.clone()));
            can_be_spawned(&Courier::new(engine.clone()).run(stop.clone()));
            can_be_spawned(&Commands::new(engine.clone()).run(stop.clone()));
            can_be_spawned(&Typing::new(engine.clone()).run(stop.clone()));
        }
        let _: fn(&Arc<crate::engine::Engine>, &watch::Receiver<bool>) = all;
    }
}
