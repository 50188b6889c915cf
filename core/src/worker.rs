//! Bells. A bell wakes and carries no data: what is to be done stands in the store, so that a lost
//! ring costs a few seconds and never a message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::ids::ConversationId;

/// The bells of one process.
#[derive(Debug, Default)]
pub struct Bells {
    /// There may be work in some conversation.
    pub sweep: Notify,
    /// There may be something to deliver.
    pub outbox: Notify,
    /// There may be a command to answer.
    pub commands: Notify,
    /// A turn may be at work in another place.
    pub typing: Notify,
    /// Something was committed; whoever waits for a fact looks again.
    pub changed: Notify,
    conversations: Mutex<HashMap<ConversationId, Arc<Notify>>>,
}

impl Bells {
    /// The bell of a conversation's actor.
    pub fn conversation(&self, id: ConversationId) -> Arc<Notify> {
        let mut bells = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        bells.entry(id).or_default().clone()
    }

    /// Forgets the bell of an actor that ended.
    pub fn forget(&self, id: ConversationId) {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Rings all of them: another process has committed something.
    pub fn ring_all(&self) {
        let bells: Vec<_> = {
            let bells = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
            bells.values().cloned().collect()
        };
        bells.iter().for_each(|bell| bell.notify_one());
        self.sweep.notify_one();
        self.outbox.notify_one();
        self.commands.notify_one();
        self.typing.notify_one();
        self.changed.notify_waiters();
    }
}
