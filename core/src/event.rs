//! Everything that can make a gateway act, as one closed enum, and the envelope it comes in.
//!
//! Adapters decode into these words; from here on no platform is known.

pub mod files;
pub mod outside;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::event::files::Attached;
use crate::ids::{AccountId, ChatKey, Person, PlatformChat, PlatformMessage, PlatformName};

/// One event as it came from a platform: what it means, and the bytes it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The account that received it.
    pub account: AccountId,
    /// The account's platform.
    pub platform: PlatformName,
    /// What makes it one and the same event when it is received again: chat, message id, edit date
    /// and a hash of the content, or an interaction's id. Unique within the account.
    pub key: String,
    /// The payload, byte for byte, so that an upgrade can decode it again.
    pub raw: String,
    /// What it means.
    pub event: Event,
}

/// Everything that can make a gateway act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every event is a message")]
pub enum Event {
    /// Somebody wrote.
    Message(Inbound),
    /// A chat goes on under another id (a Telegram group that became a supergroup).
    ChatMoved {
        /// The id until now.
        from: PlatformChat,
        /// The id from now on.
        to: PlatformChat,
    },
    /// Known, and nothing to do for a bot (somebody joined, a message was pinned).
    Nothing {
        /// What it was, for the log.
        kind: String,
    },
    /// It could not be decoded. It is stored all the same.
    Unreadable {
        /// Why, without the content.
        why: String,
    },
}

/// A message from a person, a bot or a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// The chat and what contains it, the most specific first: topic, group; thread, channel, server.
    /// Never empty; answers go to the first.
    pub lineage: Vec<PlatformChat>,
    /// Who else can read it.
    pub kind: ChatKind,
    /// The chat's name as people see it. Outside text.
    pub chat_name: Option<String>,
    /// The platform's id of the message.
    pub message: PlatformMessage,
    /// The order of messages within the chat: the platform's own, not that of arrival.
    pub order: i64,
    /// Who wrote it.
    pub sender: Sender,
    /// What it says. Non-text content stands in it as readable words in square brackets.
    pub text: String,
    /// It holds words that its sender did not write: a forward, what it answers, a file's name. An
    /// adapter says so; who the sender is says nothing about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// Documents that came with it, or with what it answers, and that may be text. Those that cannot be
    /// are named in `text` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attached>,
    /// Whether it speaks to the bot.
    pub addressed: Addressed,
    /// A command at its start, without the slash and the bot's name.
    pub command: Option<CommandLine>,
    /// When it was written, by the platform's clock.
    pub sent_at: DateTime<Utc>,
}

impl Inbound {
    /// The place it was written in and is answered in.
    #[must_use]
    pub fn place(&self, account: &AccountId) -> ChatKey {
        let chat = self.lineage.first().cloned().unwrap_or_else(|| PlatformChat(String::new()));
        ChatKey { account: account.clone(), chat }
    }

    /// The message as a command that can be answered in its place. None where it is none.
    #[must_use]
    pub fn as_command(&self) -> Option<PlatformMessage> {
        self.command.as_ref().map(|_| self.message.clone())
    }
}

/// Whether a chat has one other person or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    /// One person and the bot.
    Direct,
    /// A group, channel, topic or thread.
    Group,
}

/// Who wrote a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The person. None where a chat speaks as itself (an anonymous admin, a channel), which is
    /// never an owner.
    pub person: Option<Person>,
    /// The shown name. Outside text; made safe before a model sees it.
    pub name: String,
    /// Another bot.
    pub is_bot: bool,
}

/// How a message speaks to the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressed {
    /// A DM: always.
    Directly,
    /// By name or role.
    Mentioned,
    /// As a reply to one of the bot's messages.
    Replied,
    /// By a command that names this bot, or no bot in particular.
    Commanded,
    /// Not at all: it was said in a chat where the bot listens.
    No,
}

/// A command and what follows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Lower case, without the slash: `status`.
    pub name: String,
    /// The rest of the message, trimmed.
    pub rest: String,
}
