//! The way out: sends the parts that `encode` made, and says of each failure what is to be done.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use atlas_core::event::files::Attached;
use atlas_core::ids::{AccountId, ChatKey, DeliveryId, PlatformMessage, PlatformName};
use atlas_core::ports::{
    Capabilities, Encoded, FetchError, Fetched, Outgoing, Platform, Receipt, Repeat, SendError,
};
use serde::Deserialize;
use teloxide::payloads::{SendChatAction, SendChatActionSetters, SendMessage, SendMessageSetters};
use teloxide::types::{ChatAction, ChatId, MessageId, ParseMode, ThreadId};
use tracing::{debug, warn};

use super::PLATFORM;
use super::api::{ANSWER, Api, CallError};
use super::encode::{Part, encode};
use super::place::Place;
use crate::markdown::REPEAT_MARK;
use refused::{Cure, cure};

mod fetch;
mod refused;

/// Typing that takes longer to be shown is over.
const TYPING: Duration = Duration::from_secs(5);

/// The way out of one account.
pub struct TelegramPlatform {
    account: AccountId,
    api: Arc<Api>,
    /// Parts whose format was refused, until they are through: the same text is not refused twice.
    plain: Mutex<BTreeSet<(DeliveryId, usize)>>,
}

/// How a part is sent.
#[derive(Clone, Copy)]
struct Manner {
    place: Place,
    formatted: bool,
    silent: bool,
    repeat: bool,
}

#[derive(Deserialize)]
struct Sent {
    message_id: i64,
}

impl TelegramPlatform {
    pub(super) fn new(account: AccountId, api: Arc<Api>) -> Self {
        Self { account, api, plain: Mutex::default() }
    }

    async fn post(&self, part: &Part, manner: Manner) -> Result<Receipt, CallError> {
        let payload = payload(part, manner);
        let sent: Sent = self.api.call("sendMessage", &payload, ANSWER).await?;
        Ok(Receipt { message: PlatformMessage(sent.message_id.to_string()) })
    }

    /// Sends `part`, curing once what the platform does not like: its format, its thread.
    async fn post_cured(&self, part: &Part, mut manner: Manner) -> Result<Receipt, Refused> {
        loop {
            let error = match self.post(part, manner).await {
                Ok(receipt) => return Ok(receipt),
                Err(error) => error,
            };
            match cure(&error) {
                Cure::Plain if manner.formatted => {
                    warn!(account = %self.account, %error, "sent again without its format");
                    manner.formatted = false;
                }
                Cure::NoThread if manner.place.thread.is_some() => {
                    warn!(
                        account = %self.account, chat = manner.place.chat, %error,
                        "the topic is gone; sent to the chat's general one"
                    );
                    manner.place.thread = None;
                }
                _ => return Err(Refused { error, formatted: manner.formatted }),
            }
        }
    }

    /// Remembers of a part that must come again whether its format was refused.
    fn remember(&self, part: (DeliveryId, usize), refused_and_again: bool) {
        let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        if refused_and_again {
            plain.insert(part);
        } else {
            plain.remove(&part);
        }
    }

    fn was_refused(&self, part: (DeliveryId, usize)) -> bool {
        self.plain.lock().unwrap_or_else(PoisonError::into_inner).contains(&part)
    }
}

/// The last failure of a part, and how it was sent then.
struct Refused {
    error: CallError,
    formatted: bool,
}

fn payload(part: &Part, manner: Manner) -> SendMessage {
    let text = if manner.formatted { &part.html } else { &part.plain };
    let mark = if manner.repeat { REPEAT_MARK } else { "" };
    let mut payload = SendMessage::new(ChatId(manner.place.chat), format!("{mark}{text}"));
    if manner.formatted {
        payload = payload.parse_mode(ParseMode::Html);
    }
    if manner.silent {
        payload = payload.disable_notification(true);
    }
    match manner.place.thread {
        Some(thread) => payload.message_thread_id(ThreadId(MessageId(thread))),
        None => payload,
    }
}

#[async_trait]
impl Platform for TelegramPlatform {
    fn account(&self) -> &AccountId {
        &self.account
    }

    fn platform(&self) -> PlatformName {
        PlatformName(PLATFORM.to_owned())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { typing: true, ..Capabilities::default() }
    }

    fn encode(&self, message: &Outgoing) -> Vec<Encoded> {
        let parts = encode(&message.text);
        // Two strings always have a JSON form; were it otherwise, the text would go out plain.
        let json = |part: Part| serde_json::to_string(&part).unwrap_or(part.plain);
        parts.into_iter().map(|part| Encoded(json(part))).collect()
    }

    async fn send(
        &self,
        message: &Outgoing,
        part: &Encoded,
        index: usize,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, SendError> {
        let Some(place) = Place::of(&message.to.chat) else {
            return Err(SendError::Rejected(format!("{} is no chat of Telegram's", message.to)));
        };
        let key = (message.id, index);
        let (part, formatted) = match serde_json::from_str::<Part>(&part.0) {
            Ok(part) => (part, !self.was_refused(key)),
            Err(_) => (Part { html: String::new(), plain: part.0.clone() }, false),
        };
        let manner = Manner { place, formatted, silent: message.silent, repeat: repeat.is_some() };
        let result = self.post_cured(&part, manner).await;
        let refused = result.as_ref().err().is_some_and(|refused| !refused.formatted);
        let result = result.map_err(|refused| refused::send_error(place, refused.error));
        let again = refused && !matches!(result, Err(SendError::Rejected(_)));
        self.remember(key, again);
        result
    }

    async fn fetch(&self, file: &Attached, most: usize) -> Result<Fetched, FetchError> {
        fetch::fetch(&self.api, file, most).await
    }

    async fn typing(&self, chat: &ChatKey) {
        let Some(place) = Place::of(&chat.chat) else { return };
        let mut payload = SendChatAction::new(ChatId(place.chat), ChatAction::Typing);
        if let Some(thread) = place.thread {
            payload = payload.message_thread_id(ThreadId(MessageId(thread)));
        }
        if let Err(error) = self.api.call::<bool>("sendChatAction", &payload, TYPING).await {
            debug!(account = %self.account, %error, "typing is not shown");
        }
    }
}

#[cfg(test)]
mod tests;
