//! Opaque names of things. Adapters and the store make them, core stores and compares them,
//! and nobody takes one apart.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! row_id {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as its maker wrote it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

row_id! {
    /// A bot, as the database knows it. Its folder is its handle ([`BotName`]); this number is its
    /// identity, never given twice.
    BotId;
    /// A conversation, unique in the whole home.
    ConversationId;
    /// A turn of a conversation.
    TurnId;
    /// A stored inbound event.
    InboxId;
    /// An intent to write memory.
    IntentId;
    /// The place of a message in its conversation: 1, 2, 3, … without gaps.
    Seq;
    /// Grows with every claim of one row. A commit with an older fence than the stored one is refused.
    Fence;
}

text_id! {
    /// One token on one platform; the key of `[accounts.<name>]` in the configuration.
    AccountId;
    /// A kind of platform: `telegram`, `discord`, `terminal`.
    PlatformName;
    /// A chat, as its platform calls it. A topic or thread has an id of its own.
    PlatformChat;
    /// A message, as its platform calls it.
    PlatformMessage;
    /// A person, as their platform calls them. Never a chat that speaks as itself.
    PersonId;
    /// The folder's name of a bot, and what the configuration calls it.
    BotName;
    /// One running process, as its lock file `run/<id>.lock` names it.
    HolderId;
    /// The key of `[models.<name>]`.
    ModelName;
}

/// One outgoing message. Made by core before it is stored, so that a platform can be given it as a
/// key against repeats (Discord's nonce is made of it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(pub Uuid);

impl DeliveryId {
    /// A new id, ordered by time.
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl Default for DeliveryId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A person of a platform. Pairing and ownership go by this pair for the whole home.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Person {
    /// The platform, not the account: one person is the same for two tokens.
    pub platform: PlatformName,
    /// Their id there.
    pub id: PersonId,
}

/// A place where messages can be sent: a DM, a group, a channel, a topic or a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChatKey {
    /// The account that reaches it.
    pub account: AccountId,
    /// Its id there.
    pub chat: PlatformChat,
}

impl fmt::Display for ChatKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.account, self.chat)
    }
}
