//! A bot as the engine sees it: who answers, with which model, from which folder.

use crate::ids::{BotId, BotName, ModelName};

/// The handle of the main agent. It always exists, its mission is `SOUL.md`, and its notes are
/// `memory/MEMORY.md`.
pub const MAIN: &str = "atlas";

/// A bot of the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bot {
    /// Its identity in the database.
    pub id: BotId,
    /// Its folder below `bots/`.
    pub name: BotName,
    /// How it is called in front of people.
    pub shown: String,
    /// The model that answers, a key of `[models]`.
    pub model: ModelName,
}

impl Bot {
    /// Whether this is the main agent.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.name.as_str() == MAIN
    }
}
