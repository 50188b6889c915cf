//! The database. Each method is a use case and one transaction; nobody holds an open one.
//!
//! What is written together is written by one method. Every commit that belongs to a claimed
//! conversation carries the claim, and is refused with [`StoreError::ClaimLost`] when a newer one
//! exists. All instants are UTC.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::access::Standing;
use crate::audience::Audience;
use crate::event::Inbound;
use crate::ids::{
    AccountId, BotId, BotName, ChatKey, ConversationId, DeliveryId, Fence, HolderId, InboxId,
    IntentId, ModelName, Person, PlatformChat, PlatformMessage, PlatformName, Seq, TurnId,
};
use crate::message::{Body, Message};
use crate::ports::Tokens;

/// Why the store did not do it. Nothing of the use case was kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// Another process has the conversation or delivery now; whoever held it stops.
    #[error("another process has taken this over")]
    ClaimLost,
    /// The disk is full, or the file cannot be written: wait and try again.
    #[error("the database cannot be written: {0}")]
    Unwritable(String),
    /// Anything else. Try again once, then give up and say so.
    #[error("the database failed: {0}")]
    Failed(String),
}

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

/// What makes a conversation one and the same, below its bot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationKey {
    /// The owner's DMs and terminals together (`conversations.join_direct`).
    Direct,
    /// One chat.
    Chat(ChatKey),
}

/// The conversation that an event belongs to; made when it is first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationSpec {
    /// The bot that answers in it.
    pub bot: BotId,
    /// Which of the bot's.
    pub key: ConversationKey,
    /// Who can read it.
    pub audience: Audience,
}

/// One event to be stored. Unique by (account, key).
#[derive(Clone, Debug)]
pub struct NewInbox {
    /// The account that received it.
    pub account: AccountId,
    /// Its platform.
    pub platform: PlatformName,
    /// See [`Envelope::key`](crate::event::Envelope::key).
    pub key: String,
    /// The payload, byte for byte.
    pub raw: String,
    /// The process that took it.
    pub accepted_by: HolderId,
    /// When.
    pub at: DateTime<Utc>,
    /// What is to become of it.
    pub disposition: Disposition,
    /// Answers that need no turn, sent if and only if the event is stored now.
    pub deliveries: Vec<NewDelivery>,
}

/// What is to become of a stored event.
#[derive(Clone, Debug)]
pub enum Disposition {
    /// It opens a turn, or joins one.
    Turn {
        /// Whose conversation.
        to: ConversationSpec,
        /// Who wrote it.
        standing: Standing,
        /// The message.
        inbound: Inbound,
    },
    /// It was said in a chat where the bot listens; the next turn sees it.
    Observed {
        /// Whose conversation.
        to: ConversationSpec,
        /// Who wrote it.
        standing: Standing,
        /// The message.
        inbound: Inbound,
    },
    /// A command that the gateway itself answers.
    Command {
        /// The conversation that it is about.
        to: ConversationSpec,
        /// Who gave it.
        standing: Standing,
        /// The message; its `command` is set.
        inbound: Inbound,
    },
    /// A chat's id changed: chat, conversation and undelivered messages go along.
    Moved {
        /// Until now.
        from: PlatformChat,
        /// From now on.
        to: PlatformChat,
    },
    /// Kept and left alone: from a stranger, from a bot, nothing to do.
    Ignored {
        /// Why, for the log and the curious.
        why: String,
    },
    /// Kept to be decoded again after an upgrade.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It was stored before; nothing changed.
    Duplicate,
    /// It is stored now.
    Stored {
        /// Its row.
        inbox: InboxId,
        /// The conversation with work to do, if any.
        conversation: Option<ConversationId>,
    },
}

/// A stored event that waits for a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its row.
    pub inbox: InboxId,
    /// When it was stored.
    pub at: DateTime<Utc>,
    /// The process that accepted it.
    pub accepted_by: HolderId,
    /// What it is.
    pub what: PendingWhat,
}

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingWhat {
    /// A message that opens or joins a turn.
    Said {
        /// Where it was written.
        place: ChatKey,
        /// By whom.
        standing: Standing,
        /// The message.
        inbound: Inbound,
    },
    /// A line said nearby. Opens nothing.
    Observed {
        /// Where it was written.
        place: ChatKey,
        /// By whom.
        standing: Standing,
        /// The message.
        inbound: Inbound,
    },
    /// A line of the gateway's own for the model. Opens nothing.
    Note {
        /// The line.
        text: String,
    },
}

/// A command that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCommand {
    /// Its row.
    pub inbox: InboxId,
    /// The process that accepted it; only that one, or the gateway after its death, answers.
    pub accepted_by: HolderId,
    /// The conversation that it is about.
    pub conversation: ConversationId,
    /// The conversation's bot.
    pub bot: BotId,
    /// Where it was given.
    pub place: ChatKey,
    /// By whom.
    pub standing: Standing,
    /// The message; its `command` is set.
    pub inbound: Inbound,
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
    /// The open episode's messages, all of them, in order.
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
    /// When.
    pub at: DateTime<Utc>,
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

/// What a delivery is, for those who look after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryKind {
    /// An answer of the bot's.
    Answer,
    /// Instead of an answer: why there is none.
    Failure,
    /// A line of the gateway's own: what changed, what went wrong, the reply to a command.
    Notice,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// Where it goes.
    pub to: ChatKey,
    /// The whole text, Markdown.
    pub text: String,
    /// Without sound.
    pub silent: bool,
    /// What it is.
    pub kind: DeliveryKind,
    /// The conversation that hears of it if it can never be sent.
    pub conversation: Option<ConversationId>,
}

/// A delivery that this process is to send now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What.
    pub new: NewDelivery,
    /// Of this claim.
    pub fence: Fence,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
    /// Tries of the present part before this one.
    pub attempts: u32,
    /// The parts that arrived, in order.
    pub sent: Vec<PlatformMessage>,
    /// When a try of the present part began that was never settled: it may have arrived.
    pub unsettled_since: Option<DateTime<Utc>>,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// All parts arrived.
    Sent,
    /// Again at this time. `unknown`: the try may have arrived.
    Retry {
        /// When.
        at: DateTime<Utc>,
        /// Why.
        reason: String,
        /// Whether the try may have arrived.
        unknown: bool,
    },
    /// Given back untried (a clean stop); counts as no try.
    GivenBack,
    /// Never: refused for good, or too old.
    Closed {
        /// Why.
        reason: String,
        /// What the bot is told at its next turn, in the delivery's conversation.
        note: Option<String>,
        /// What the owner is told elsewhere.
        notice: Option<NewDelivery>,
    },
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

/// What came of a pairing code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// Its sender is an owner now (or this very sender redeemed it before).
    Owner,
    /// No such code, or too late, or used by somebody else.
    Wrong,
    /// Too many wrong ones from this sender within the hour; the code was not even looked at.
    LockedOut,
}

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

/// The database.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    // Bots, owners, models.

    /// Gives each bot of the home its identity: the one it has, or a new one.
    async fn take_up_bots(
        &self,
        names: &[BotName],
        at: DateTime<Utc>,
    ) -> Result<Vec<(BotName, BotId)>, StoreError>;
    /// The people who became owners by pairing.
    async fn owners(&self) -> Result<Vec<Person>, StoreError>;
    /// Stores the hash of a pairing code, valid until `expires`. An earlier open one stops counting.
    async fn offer_pairing(
        &self,
        code_hash: &str,
        at: DateTime<Utc>,
        expires: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// Redeems a code. Five wrong tries in an hour lock the sender out until the hour is over.
    async fn redeem_pairing(
        &self,
        code_hash: &str,
        person: &Person,
        at: DateTime<Utc>,
    ) -> Result<Redeemed, StoreError>;
    /// Whether the model behind `signer` was found to want strict roles.
    async fn strict_roles(&self, signer: &str) -> Result<bool, StoreError>;
    /// Remembers that it does. Never taken back.
    async fn found_strict_roles(&self, signer: &str, at: DateTime<Utc>) -> Result<(), StoreError>;

    // The way in.

    /// Stores events, all or none, each once. Answers in the order of `events`.
    async fn accept(&self, events: &[NewInbox]) -> Result<Vec<Accepted>, StoreError>;
    /// Commands that wait for their answer, the oldest first.
    async fn pending_commands(&self) -> Result<Vec<PendingCommand>, StoreError>;
    /// Closes a command with its answers; `stop` asks the open turn of its conversation to stop.
    /// False, and nothing changed, where it was closed before.
    async fn settle_command(
        &self,
        inbox: InboxId,
        answers: &[NewDelivery],
        stop: bool,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError>;
    /// The owner's DM with this bot that was last written in.
    async fn private_place(&self, bot: BotId) -> Result<Option<ChatKey>, StoreError>;

    // Conversations and turns.

    /// Every conversation in which something is to be done.
    async fn open_work(&self) -> Result<Vec<OpenWork>, StoreError>;
    /// Claims a conversation that nobody holds, or that this holder held (its actor died). Counts
    /// the attempt. None while another process holds it.
    async fn claim(
        &self,
        conversation: ConversationId,
        holder: &HolderId,
        until: DateTime<Utc>,
    ) -> Result<Option<Claim>, StoreError>;
    /// Prolongs a claim.
    async fn renew(&self, claim: &Claim, until: DateTime<Utc>) -> Result<(), StoreError>;
    /// Gives a claim back. `clean`: the attempt does not count.
    async fn release(&self, claim: &Claim, clean: bool) -> Result<(), StoreError>;
    /// The holders of claims on conversations and deliveries.
    async fn holders(&self) -> Result<Vec<HolderId>, StoreError>;
    /// Frees everything that a dead process holds. Its unsettled deliveries become unknown ones.
    async fn free(&self, dead: &HolderId) -> Result<(), StoreError>;
    /// The conversation as it stands.
    async fn load(&self, conversation: ConversationId) -> Result<Loaded, StoreError>;
    /// What waits in it: in a chat by the platform's order, between chats by time of storing.
    async fn pending(&self, conversation: ConversationId) -> Result<Vec<Pending>, StoreError>;
    /// Whether somebody asked to stop the open turn.
    async fn stop_requested(&self, conversation: ConversationId) -> Result<bool, StoreError>;
    /// Opens a turn and takes its rows. A request to stop that came before is taken back.
    async fn open_turn(&self, turn: &NewTurn) -> Result<(OpenTurn, Message), StoreError>;
    /// Commits a step. Sets the count of attempts back.
    async fn commit_step(&self, step: &StepCommit) -> Result<Vec<Message>, StoreError>;
    /// Closes the open episode and begins the next one.
    async fn cut(&self, cut: &Cut) -> Result<(), StoreError>;
    /// What `/status` tells.
    async fn status(&self, conversation: ConversationId) -> Result<Status, StoreError>;
    /// Places and standings of the messages in the open turn: where people see typing.
    async fn places_at_work(&self) -> Result<Vec<ChatKey>, StoreError>;

    /// Whether nothing is under way for this place: no message or command of it waits, no open turn
    /// holds one of it, and no delivery to it is unsettled.
    async fn is_quiet(&self, place: &ChatKey) -> Result<bool, StoreError>;

    // The way out.

    /// Stores messages that belong to no step.
    async fn enqueue(
        &self,
        deliveries: &[NewDelivery],
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// Claims what is due on these accounts: the head of each chat's line, at most `limit`, fair
    /// between chats (the longest-waiting first). Stamps the attempt.
    async fn claim_deliveries(
        &self,
        holder: &HolderId,
        accounts: &[AccountId],
        now: DateTime<Utc>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError>;
    /// Stamps that the next part is about to be sent.
    async fn attempting(
        &self,
        id: DeliveryId,
        fence: Fence,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// A part arrived.
    async fn part_sent(
        &self,
        id: DeliveryId,
        fence: Fence,
        message: &PlatformMessage,
    ) -> Result<(), StoreError>;
    /// Closes the claim of a delivery.
    async fn settle(
        &self,
        id: DeliveryId,
        fence: Fence,
        settlement: &Settlement,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError>;
    /// When the next delivery on these accounts is due, None where none waits.
    async fn next_delivery(
        &self,
        accounts: &[AccountId],
    ) -> Result<Option<DateTime<Utc>>, StoreError>;
    /// Undelivered messages of this account's chats that nobody serves any more (a terminal that is
    /// gone), with the process that the chat belonged to: claimed for this holder like any other.
    async fn claim_left_over(
        &self,
        holder: &HolderId,
        chats: &[PlatformChat],
        account: &AccountId,
        now: DateTime<Utc>,
    ) -> Result<Vec<Delivery>, StoreError>;
    /// Chats of this account with undelivered messages.
    async fn chats_with_deliveries(
        &self,
        account: &AccountId,
    ) -> Result<Vec<PlatformChat>, StoreError>;
    /// A chat goes on under another id: its row, conversation and undelivered messages go along.
    async fn move_chat(
        &self,
        account: &AccountId,
        from: &PlatformChat,
        to: &PlatformChat,
    ) -> Result<(), StoreError>;

    // Memory.

    /// Stores an intent, once for its key.
    async fn intend(&self, intent: &NewIntent) -> Result<Intended, StoreError>;
    /// The intent of this key, if one was stored.
    async fn intent(&self, key: &str) -> Result<Option<Intent>, StoreError>;
    /// The intents that are not settled, of one file or of all, the oldest first.
    async fn open_intents(&self, path: Option<&str>) -> Result<Vec<Intent>, StoreError>;
    /// Puts other texts and another reply into an open intent (the file had changed meanwhile).
    async fn redo_intent(
        &self,
        id: IntentId,
        before: Option<&str>,
        after: &str,
        reply: &str,
    ) -> Result<(), StoreError>;
    /// Settles an intent and writes the history rows with it.
    async fn settle_intent(
        &self,
        id: IntentId,
        state: IntentState,
        history: &[HistoryRow],
    ) -> Result<(), StoreError>;
    /// Writes history rows that belong to no intent (an edit by hand that was noticed).
    async fn record_history(&self, rows: &[HistoryRow]) -> Result<(), StoreError>;
    /// A file's history, the newest first.
    async fn history(&self, path: &str, limit: usize) -> Result<Vec<HistoryRow>, StoreError>;

    // Housekeeping.

    /// Changes whenever another process has committed.
    async fn data_version(&self) -> Result<i64, StoreError>;
    /// Writes and reads back, to tell that the database works.
    async fn check(&self) -> Result<(), StoreError>;
}
