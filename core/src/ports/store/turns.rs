//! Conversations at work: claims, turns, steps, cuts.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::access::Standing;
use crate::audience::{Audience, SharedMemory};
use crate::ids::{
    AccountId, BotId, ChatKey, ConversationId, Fence, HolderId, InboxId, ModelName, Seq, TurnId,
};
use crate::message::{Body, Message};
use crate::ports::{ConversationKey, NewDelivery, Pending, Tokens};

/// A claim of one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What is claimed.
    pub conversation: ConversationId,
    /// Who holds it.
    pub holder: HolderId,
    /// Of this claim; older ones are refused.
    pub fence: Fence,
    /// How often it was claimed since the last committed step or clean release, this time included.
    pub attempt: u32,
}

/// A conversation that was claimed, as it was found.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The claim.
    pub claim: Claim,
    /// How it stands.
    pub loaded: Loaded,
    /// What waits in it, as [`Store::pending`](crate::ports::Store::pending) tells it.
    pub pending: Vec<Pending>,
}

/// A conversation in which something is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenWork {
    /// Which.
    pub conversation: ConversationId,
    /// The holder of its claim, if it is claimed.
    pub held_by: Option<HolderId>,
    /// Whether a turn stands open.
    pub turn_open: bool,
    /// The processes that accepted what waits, with the account of each. Only what opens a turn counts.
    pub waiting: Vec<(HolderId, AccountId)>,
}

/// A conversation, as its turn finds it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its id.
    pub id: ConversationId,
    /// Its bot.
    pub bot: BotId,
    /// Which of the bot's.
    pub key: ConversationKey,
    /// Who can read it.
    pub audience: Audience,
    /// The first message of the open episode.
    pub episode_from: Seq,
    /// The open episode's messages, all of them or those that were asked for, in order.
    pub messages: Vec<Message>,
    /// The turn that stands open.
    pub turn: Option<OpenTurn>,
    /// What the provider counted for the last request of the open episode, and the last message that
    /// the count covers (the answer included).
    pub counted: Option<(Tokens, Seq)>,
    /// Whether somebody asked to stop the open turn.
    pub stop_requested: bool,
}

/// A turn that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTurn {
    /// Its id.
    pub id: TurnId,
    /// Whose turn: only messages of the same standing join.
    pub standing: Standing,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// What is remembered between its steps.
    pub notes: TurnNotes,
}

/// Small things that a turn remembers between steps and over a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnNotes {
    /// Model answers that were committed.
    pub steps: u32,
    /// Places with a message in the turn: each gets the answer.
    pub places: Vec<ChatKey>,
    /// Outside text has entered.
    pub outside: bool,
    /// What a shared conversation loads, as its route said when the turn opened.
    pub memory: Option<SharedMemory>,
    /// Memory files that were changed in this turn, as the closing line names them.
    pub changed: Vec<String>,
    /// Refusals of the `memory` tool in a row.
    pub refusals: u32,
    /// The reminder about a call written as text was given.
    pub reminded: bool,
    /// An empty answer was asked for once more.
    pub asked_again: bool,
    /// People were told that the model is out of reach.
    pub told_outage: bool,
    /// When the present outage of the model began.
    pub outage_since: Option<DateTime<Utc>>,
    /// The model that stands in for the bot's own.
    pub model: Option<ModelName>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// It was answered.
    Done,
    /// Somebody said `/stop`.
    Stopped,
    /// It could not be answered; the person was told.
    Failed,
}

/// A turn to be opened.
#[derive(Clone, Debug)]
pub struct NewTurn {
    /// The claim.
    pub claim: Claim,
    /// Whose turn.
    pub standing: Standing,
    /// The rows that it takes.
    pub taken: Vec<InboxId>,
    /// Its first message: documents, then what was said.
    pub body: Body,
    /// What the turn remembers from the start.
    pub notes: TurnNotes,
    /// When.
    pub at: DateTime<Utc>,
}

/// A turn that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The turn.
    pub turn: OpenTurn,
    /// Its first message.
    pub message: Message,
    /// It is to stop at once: what it took was stopped while it waited.
    pub stop_requested: bool,
}

/// One finished step, committed whole.
#[derive(Clone, Debug)]
pub struct StepCommit {
    /// The claim.
    pub claim: Claim,
    /// The turn.
    pub turn: TurnId,
    /// When.
    pub at: DateTime<Utc>,
    /// What was said, in order.
    pub messages: Vec<Body>,
    /// Inbound rows that joined with it.
    pub taken: Vec<InboxId>,
    /// What goes out.
    pub deliveries: Vec<NewDelivery>,
    /// What the model call cost.
    pub usage: Option<Usage>,
    /// What the turn remembers from now on.
    pub notes: TurnNotes,
    /// Whether the turn is over, and how. Takes back a request to stop.
    pub end: Option<TurnEnd>,
    /// Gives the claim back with this, where nothing waits that opens a turn.
    pub give_back: bool,
}

/// A step that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// What was said, as it is stored.
    pub messages: Vec<Message>,
    /// The claim was given back with it.
    pub given_back: bool,
}

/// A cut: the open episode is closed and a new one begins.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The claim.
    pub claim: Claim,
    /// When.
    pub at: DateTime<Utc>,
    /// The new episode's first message (summary, documents, and the parts of a kept user message that
    /// came first), with the turn that those parts belong to.
    pub head: (Option<TurnId>, Body),
    /// What is kept of the old episode, as copies behind the head, each with its turn. Document parts
    /// are left out by the caller.
    pub kept: Vec<(Option<TurnId>, Body)>,
    /// The old episode's last archived message.
    pub archived_to: Seq,
    /// What the person is told of it.
    pub deliveries: Vec<NewDelivery>,
}

/// What a model call cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The configured model.
    pub model: ModelName,
    /// What it was for: `turn`, `background_review`, …
    pub purpose: String,
    /// As the provider counted.
    pub tokens: Tokens,
    /// Whether the counts cover a request of this conversation's transcript, so that the next one's
    /// size can be told from it.
    pub anchors: bool,
}

/// What `/status` and `atlas check` tell of a conversation and its home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Messages ever stored in the conversation.
    pub messages: u64,
    /// Messages in the open episode.
    pub episode_messages: u64,
    /// Episodes, the open one included.
    pub episodes: u64,
    /// The provider's last count.
    pub tokens: Option<Tokens>,
    /// Inbound rows that wait for a turn.
    pub waiting: u64,
    /// Whether a turn is at work.
    pub turn_open: bool,
    /// Deliveries of the whole home that wait.
    pub queue: u64,
}
