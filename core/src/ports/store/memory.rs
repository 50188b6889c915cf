//! Writes of memory: intents before, history after.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::{BotId, ConversationId, IntentId};
use crate::ports::Claim;

/// Where a change of memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A tool, in a turn.
    Tool,
    /// The background review.
    Review,
    /// An approved proposal.
    Approval,
    /// Taking a change back.
    Undo,
    /// The command line.
    CommandLine,
    /// A person, in an editor.
    HandEdit,
}

/// An intent to write one memory file, stored before the file is touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIntent {
    /// Turn, step and index of the call; or proposal; or command. Never the provider's id.
    pub key: String,
    /// Whose notes; None for what belongs to the whole home.
    pub bot: Option<BotId>,
    /// The conversation it comes from.
    pub conversation: Option<ConversationId>,
    /// The claim of the turn that it belongs to: refused where the fence is old.
    pub claim: Option<Claim>,
    /// The file, relative to the home.
    pub path: String,
    /// The text that was read, None for a missing file.
    pub before: Option<String>,
    /// The text to be written.
    pub after: String,
    /// What the caller is told when it is done.
    pub reply: String,
    /// Where it comes from.
    pub origin: Origin,
    /// When.
    pub at: DateTime<Utc>,
}

/// A stored intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its row.
    pub id: IntentId,
    /// What it is.
    pub new: NewIntent,
    /// Whether it is settled, and how.
    pub state: IntentState,
}

/// The state of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentState {
    /// Not settled: the write may or may not have happened.
    Open,
    /// The file holds it, or held it.
    Applied,
    /// It did not happen; whoever asked may ask again.
    NotApplied,
}

/// What came of storing an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intended {
    /// It is stored now.
    Fresh(IntentId),
    /// One of this key was stored before. One that was settled as not applied does not count: it is
    /// replaced, and the new one is fresh.
    Known(Box<Intent>),
}

/// One row of memory's history: a text that stood, and the one that took its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// Whose notes; None for the whole home's.
    pub bot: Option<BotId>,
    /// The file.
    pub path: String,
    /// The text before; None where there was no file.
    pub before: Option<String>,
    /// The text after; None where the file went away.
    pub after: Option<String>,
    /// Where it came from.
    pub origin: Origin,
    /// The conversation.
    pub conversation: Option<ConversationId>,
    /// When.
    pub at: DateTime<Utc>,
}
