//! The way in: events as they are stored, and what waits of them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::access::Standing;
use crate::audience::Audience;
use crate::event::Inbound;
use crate::ids::{
    AccountId, BotId, ChatKey, ConversationId, HolderId, InboxId, PlatformChat, PlatformName,
};
use crate::ports::{Door, NewDelivery};

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
    /// What is looked at before it is stored.
    pub door: Door,
}

/// Lines said nearby that wait for a conversation's next turn. Older ones stay stored, but no turn is
/// shown them: a group may talk for a year before it speaks to its bot.
pub const OBSERVED_WAITING: u32 = 200;

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
    /// It was said in a chat where the bot listens; the next turn sees it, unless
    /// [`OBSERVED_WAITING`] newer ones wait.
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
    /// It was said before a `/stop`: a turn that takes nothing else ends at once.
    pub stopped: bool,
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
