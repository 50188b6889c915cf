//! Who reads a conversation. The one answer to every "who may see".

use serde::{Deserialize, Serialize};

use crate::bot::Bot;

/// Who can read a conversation, from its row in the database, never from the speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Only the owner: the owner's DMs and the terminal.
    Private,
    /// Anybody else too: every group, every other person's DM.
    Shared,
}

/// What a shared conversation loads of the memory (`memory` of its route).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedMemory {
    /// Nothing.
    None,
    /// `shared/MEMORY.md` and the bot's notes.
    Notes,
    /// The owner's profile too.
    All,
}

impl SharedMemory {
    /// What holds where the route says nothing: the bot's notes, and for the main agent nothing,
    /// since its notes are the owner's.
    #[must_use]
    pub fn default_for(bot: &Bot) -> Self {
        if bot.is_main() { Self::None } else { Self::Notes }
    }
}
