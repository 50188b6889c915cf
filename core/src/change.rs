//! A change of memory: one value, whoever asks for it.
//!
//! Tool, review, approval, undo and command line all say what they want in these words. Whether it
//! may happen is [`authorise`](crate::authorise)'s answer; how it happens is the
//! [`MemoryWriter`](crate::memory::MemoryWriter)'s business.

use crate::bot::Bot;
use crate::ids::{BotId, ConversationId};
use crate::memory::levels;
use crate::ports::{Claim, Origin};

/// A bounded file: which of the two that a bot may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The owner's profile, one for the whole home.
    User,
    /// The bot's own notes.
    Memory,
}

impl Target {
    /// Both, in the order in which they are loaded.
    pub const ALL: [Self; 2] = [Self::User, Self::Memory];

    /// As the tool's argument and its replies call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Memory => "memory",
        }
    }

    /// The limit, in Unicode scalar values of the entries joined (the Atlas page).
    #[must_use]
    pub fn limit(self) -> usize {
        match self {
            Self::User => 1_375,
            Self::Memory => 2_200,
        }
    }

    /// The file, relative to the home.
    #[must_use]
    pub fn path(self, bot: &Bot) -> String {
        match self {
            Self::User => levels::PROFILE.to_owned(),
            Self::Memory => levels::notes(bot),
        }
    }

    /// Whose it is in the history: None for what belongs to the whole home.
    #[must_use]
    pub fn of(self, bot: &Bot) -> Option<BotId> {
        match self {
            Self::User => None,
            Self::Memory => Some(bot.id),
        }
    }

    /// What a turn's closing line says of a change to it.
    #[must_use]
    pub fn updated(self) -> &'static str {
        match self {
            Self::User => "User profile updated",
            Self::Memory => "Notes updated",
        }
    }
}

/// One operation on the entries of a bounded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Appends an entry.
    Add {
        /// The entry.
        content: String,
    },
    /// Overwrites an entry whole.
    Replace {
        /// A piece of the entry, or its `[BLOCKED: …]` placeholder.
        old_text: String,
        /// The entry that takes its place.
        content: String,
    },
    /// Takes an entry out.
    Remove {
        /// A piece of the entry, or its `[BLOCKED: …]` placeholder.
        old_text: String,
    },
}

impl Operation {
    /// Whether it only adds.
    #[must_use]
    pub fn is_addition(&self) -> bool {
        matches!(self, Self::Add { .. })
    }

    /// The text that it would put into the file.
    #[must_use]
    pub fn content(&self) -> Option<&str> {
        match self {
            Self::Add { content } | Self::Replace { content, .. } => Some(content),
            Self::Remove { .. } => None,
        }
    }
}

/// What is to be written: operations on the entries of a bounded file, all or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which of the bounded files.
    pub target: Target,
    /// The file, relative to the home.
    pub path: String,
    /// The operations, in order.
    pub operations: Vec<Operation>,
    /// Where it comes from.
    pub origin: Origin,
    /// The same after a restart, and never used for anything else: turn, step and index of the call.
    pub key: String,
    /// Whose notes; None for what belongs to the whole home.
    pub bot: Option<BotId>,
    /// The conversation it comes from.
    pub conversation: Option<ConversationId>,
    /// The claim of the turn that it belongs to.
    pub claim: Option<Claim>,
}
