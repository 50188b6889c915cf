//! The words of a transcript: what is stored for ever and what a model is shown are the same rows.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::access::Standing;
use crate::ids::{ChatKey, InboxId, Seq, TurnId};

/// A stored message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its place in the conversation.
    pub seq: Seq,
    /// The turn that wrote it. None for what a cut or a notice put there.
    pub turn: Option<TurnId>,
    /// When it was stored.
    pub at: DateTime<Utc>,
    /// What it holds.
    pub body: Body,
}

/// What a message holds, by who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Body {
    /// What the model is told: people's words, documents, notes, in order.
    User {
        /// At least one.
        parts: Vec<Part>,
    },
    /// What the model said, and what it asked for.
    Assistant {
        /// The answer's text. Empty where there are only calls.
        text: String,
        /// The tool calls, in the model's order.
        calls: Vec<Call>,
        /// The provider's own message, replayed byte for byte to the model it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocks: Option<Blocks>,
    },
    /// The result of one call.
    Tool {
        /// The id of the call that it answers.
        call: String,
        /// The tool's name.
        name: String,
        /// What the model reads.
        text: String,
        /// It holds text that the owner did not write and the home's files do not hold.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outside: bool,
    },
}

/// One part of what the model is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Somebody's message.
    Said {
        /// The inbox row it came from.
        inbox: InboxId,
        /// Where it was written, and where the answer goes.
        place: ChatKey,
        /// Who wrote it.
        standing: Standing,
        /// One line for the model: local time, owner or guest, shown name, place. Made once, so that
        /// a change of zone or name rewrites nothing that was sent; never searched or delivered.
        header: String,
        /// What they said.
        text: String,
        /// It holds words that they did not write: a forward, what it answers, a file's name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outside: bool,
    },
    /// Lines said in a group since the last turn, not addressed to the bot. Outside text.
    Observed {
        /// The inbox rows they came from.
        inbox: Vec<InboxId>,
        /// The lines, each with its author.
        text: String,
    },
    /// A memory file or a list, as the turn found it.
    Document {
        /// Its path in the home.
        path: String,
        /// SHA-256 of the whole file, in hex. None where the file is empty, gone or out of scope.
        hash: Option<String>,
        /// Whether `text` is only a part of the file, so that it does not count as read.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// What the model is shown, complete with its heading.
        text: String,
    },
    /// What stands for the messages before a cut.
    Summary {
        /// The summary.
        text: String,
        /// It was made of outside text among others.
        outside: bool,
    },
    /// A line of the gateway's own for the model: an undeliverable answer, a reminder.
    Note {
        /// The line.
        text: String,
    },
}

impl Part {
    /// Whether it holds text that the owner did not write and the home's own files do not hold.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        match self {
            Self::Said { standing, outside, .. } => *outside || *standing != Standing::Owner,
            Self::Observed { .. } => true,
            Self::Summary { outside, .. } => *outside,
            Self::Document { .. } | Self::Note { .. } => false,
        }
    }
}

impl Body {
    /// A user message of one note.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self::User { parts: vec![Part::Note { text: text.into() }] }
    }

    /// An assistant's line that no model wrote: how a stopped or failed turn ends.
    #[must_use]
    pub fn line(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new(), blocks: None }
    }

    /// Whether it holds outside text.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        match self {
            Self::User { parts } => parts.iter().any(Part::is_outside),
            Self::Assistant { .. } => false,
            Self::Tool { outside, .. } => *outside,
        }
    }
}

/// One call of a tool, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The provider's id. Pairs the call with its result and means nothing else.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text, which may be anything a model can write.
    pub arguments: String,
}

/// A provider's own assistant message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// Whose it is: dialect, server and model. Any other is given the plain text instead.
    pub signer: String,
    /// The message as JSON text.
    pub raw: String,
}
