//! The way out: deliveries, and what becomes of them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::{ChatKey, ConversationId, DeliveryId, Fence, PlatformMessage};

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
    /// The message or interaction that a command's answer answers.
    pub reply_to: Option<PlatformMessage>,
}

impl NewDelivery {
    /// A line of the gateway's own, without sound.
    #[must_use]
    pub fn notice(to: ChatKey, text: impl Into<String>) -> Self {
        Self {
            id: DeliveryId::new(),
            to,
            text: text.into(),
            silent: true,
            kind: DeliveryKind::Notice,
            conversation: None,
            reply_to: None,
        }
    }
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
