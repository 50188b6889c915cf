//! What every part of the engine is given. Built once, in the composition root.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::conversation::kept::Kept;
use crate::home::Home;
use crate::ids::{AccountId, HolderId};
use crate::ports::{Clock, MemoryFiles, Platform, Presence, Store};
use crate::tools::Toolbox;
use crate::turn::learned::Learned;
use crate::worker::Bells;

/// What this process answers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// The whole home: whatever no living terminal keeps to itself.
    Home,
    /// What was typed in this process, and nothing else while it can be done elsewhere.
    Terminal,
}

/// The finished ports, and what they share.
pub struct Engine {
    /// The database.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// This process, and the others.
    pub presence: Arc<dyn Presence>,
    /// Memory's files, and the souls and missions beside them.
    pub files: Arc<dyn MemoryFiles>,
    /// The accounts that this process serves.
    pub platforms: BTreeMap<AccountId, Arc<dyn Platform>>,
    /// What bots can do.
    pub tools: Toolbox,
    /// The home, as configured now.
    pub home: watch::Receiver<Arc<Home>>,
    /// What this process answers for.
    pub serves: Serves,
    /// The bells.
    pub bells: Arc<Bells>,
    /// Transcripts that were at work a moment ago.
    pub kept: Kept,
    /// What was found out about models.
    pub learned: Learned,
}

impl Engine {
    /// The home as it is now.
    #[must_use]
    pub fn home(&self) -> Arc<Home> {
        self.home.borrow().clone()
    }

    /// Whether this is still the home, and not one from before a change.
    #[must_use]
    pub fn is_home(&self, home: &Arc<Home>) -> bool {
        Arc::ptr_eq(&self.home.borrow(), home)
    }

    /// The accounts that this process serves.
    #[must_use]
    pub fn accounts(&self) -> Vec<AccountId> {
        self.platforms.keys().cloned().collect()
    }

    /// Whether this process is the one to begin what `accepted_by` accepted. What was typed in a
    /// living terminal is that terminal's; all else, and what a dead process left, is the gateway's.
    #[must_use]
    pub fn begins(&self, accepted_by: &HolderId) -> bool {
        accepted_by == self.presence.me()
            || (self.serves == Serves::Home && !self.presence.alive(accepted_by))
    }
}
