//! The way out: sends the parts that `encode` made, each once, and says of each failure what is to be
//! done.
//!
//! Discord remembers for a few minutes what a message's nonce was: a repeat within that time gives the
//! first message. Later our own message is looked for in the chat before it is sent again. What answers
//! a command takes the place of its acknowledgement, as long as Discord allows.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use atlas_core::event::files::Attached;
use atlas_core::ids::{AccountId, ChatKey, DeliveryId, PlatformMessage, PlatformName};
use atlas_core::ports::{
    Capabilities, Encoded, FetchError, Fetched, Outgoing, Platform, Receipt, Repeat, SendError,
};
use chrono::TimeDelta;
use serde_json::{Value, json};
use serenity::model::id::ChannelId;
use tokio::sync::OnceCell;
use tracing::{debug, warn};

use super::PLATFORM;
use super::api::Api;
use super::encode::{Part, encode, marked};
use super::interactions::{Answerable, Interactions};
use super::place;
use calls::CallError;
use look::Ours;
use refused::{is_over, may_be_cured, send_error};

mod calls;
mod fetch;
mod look;
mod refused;

/// A nonce is surely remembered for as long as this.
const NONCE_LIFE: Duration = Duration::from_secs(120);
/// How far the clock here may be ahead of Discord's.
const CLOCKS_APART: TimeDelta = TimeDelta::seconds(5);
/// The file of a text with too many parts.
const FILE: &str = "answer.md";
/// Without a notification.
const SILENT: u64 = 1 << 12;

/// The way out of one account.
pub struct DiscordPlatform {
    account: AccountId,
    api: Arc<Api>,
    interactions: Arc<Interactions>,
    /// The bot's own id, once it had to be known.
    me: OnceCell<String>,
}

/// One message on its way.
struct Sending<'a> {
    message: &'a Outgoing,
    part: &'a Part,
    index: usize,
    channel: ChannelId,
}

impl DiscordPlatform {
    pub(super) fn new(account: AccountId, api: Arc<Api>, interactions: Arc<Interactions>) -> Self {
        Self { account, api, interactions, me: OnceCell::new() }
    }

    /// Sends to the chat, and what has to be looked for first is.
    async fn to_chat(
        &self,
        sending: &Sending<'_>,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, CallError> {
        let Some(repeat) = repeat else { return self.post_cured(sending, false).await };
        // An answer to a command had no nonce while it took the acknowledgement's place.
        if repeat.age < NONCE_LIFE && sending.message.reply_to.is_none() {
            return self.post_cured(sending, false).await;
        }
        match self.find(sending, repeat).await? {
            Some(found) => Ok(found),
            None => self.post_cured(sending, true).await,
        }
    }

    /// Posts, and once more as the model wrote it where Discord does not like the form.
    async fn post_cured(&self, sending: &Sending<'_>, mark: bool) -> Result<Receipt, CallError> {
        let part = sending.part;
        match self.post(sending, &part.text, mark).await {
            Err(error) if may_be_cured(&error) && part.plain != part.text => {
                warn!(account = %self.account, %error, "sent again as the model wrote it");
                self.post(sending, &part.plain, mark).await
            }
            result => result,
        }
    }

    async fn post(
        &self,
        sending: &Sending<'_>,
        text: &str,
        mark: bool,
    ) -> Result<Receipt, CallError> {
        let mut body = body(text, mark);
        body["nonce"] = json!(nonce(sending.message.id, sending.index));
        body["enforce_nonce"] = json!(true);
        if sending.message.silent {
            body["flags"] = json!(SILENT);
        }
        calls::create(&self.api, sending.channel, body, sending.file()).await.map(receipt)
    }

    /// Our own message with this text, if it is in the chat since the first try.
    async fn find(
        &self,
        sending: &Sending<'_>,
        repeat: Repeat,
    ) -> Result<Option<Receipt>, CallError> {
        let me = self.me.get_or_try_init(|| calls::me(&self.api)).await?;
        let ours = Ours::new(me, sending.part, &nonce(sending.message.id, sending.index));
        let found = look::find(&self.api, sending.channel, sending.earliest(repeat), &ours).await?;
        if found.is_some() {
            debug!(account = %self.account, delivery.id = %sending.message.id, "it had arrived");
        }
        Ok(found.map(receipt))
    }

    /// Answers a command in its place.
    async fn answer(
        &self,
        sending: &Sending<'_>,
        to: &Answerable,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, CallError> {
        let text = &sending.part.text;
        // A second edit changes nothing; a second message would be a second one.
        if sending.index == 0 {
            return calls::edit_answer(&self.api, to, body(text, false), sending.file())
                .await
                .map(receipt);
        }
        if let Some(repeat) = repeat
            && let Some(found) = self.find(sending, repeat).await?
        {
            return Ok(found);
        }
        let mut body = body(text, repeat.is_some());
        body["flags"] = json!(calls::privacy(&self.api, to).await?);
        calls::follow_up(&self.api, to, body).await.map(receipt)
    }

    /// The command that this answers, if it can still be answered in its place.
    async fn answerable(&self, message: &Outgoing) -> Option<Answerable> {
        self.interactions.answerable(message.reply_to.as_ref()?).await
    }
}

impl Sending<'_> {
    /// The whole text, where it goes along as a file.
    fn file(&self) -> Option<(&'static str, &str)> {
        self.part.whole.then_some((FILE, self.message.text.as_str()))
    }

    /// The smallest id that the message can have.
    fn earliest(&self, repeat: Repeat) -> u64 {
        let twins = encode(&self.message.text).into_iter().take(self.index);
        let has_twin = twins.into_iter().any(|twin| twin.text == self.part.text);
        let apart = if has_twin { TimeDelta::zero() } else { CLOCKS_APART };
        let tried = place::first_at(repeat.since - apart);
        // An answer may stand where the command was acknowledged, which is as old as the command.
        let command = self.message.reply_to.as_ref().and_then(|to| place::number(to.as_str()));
        command.map_or(tried, |command| command.min(tried))
    }
}

fn receipt(id: String) -> Receipt {
    Receipt { message: PlatformMessage(id) }
}

/// A message that calls nobody, whoever is named in it.
fn body(text: &str, mark: bool) -> Value {
    let content = if mark { marked(text) } else { text.to_owned() };
    json!({ "content": content, "allowed_mentions": { "parse": [] } })
}

/// What Discord knows a part by: 22 characters, for 25 at most are taken. Ids are further apart than
/// any message has parts.
fn nonce(id: DeliveryId, index: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut number = id.0.as_u128().wrapping_add(index as u128);
    let mut digits = [b'0'; 22];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[async_trait]
impl Platform for DiscordPlatform {
    fn account(&self) -> &AccountId {
        &self.account
    }

    fn platform(&self) -> PlatformName {
        PlatformName(PLATFORM.to_owned())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            typing: true,
            forgets_repeats_after: Some(NONCE_LIFE),
            ..Capabilities::default()
        }
    }

    fn encode(&self, message: &Outgoing) -> Vec<Encoded> {
        // Two strings always have a JSON form; were it otherwise, the text would go out plain.
        let json = |part: Part| serde_json::to_string(&part).unwrap_or(part.plain);
        encode(&message.text).into_iter().map(|part| Encoded(json(part))).collect()
    }

    async fn send(
        &self,
        message: &Outgoing,
        part: &Encoded,
        index: usize,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, SendError> {
        let Some(channel) = place::channel(&message.to.chat) else {
            return Err(SendError::Rejected(format!("{} is no channel of Discord's", message.to)));
        };
        let part = serde_json::from_str(&part.0).unwrap_or_else(|_| Part::verbatim(&part.0));
        let sending = Sending { message, part: &part, index, channel };
        if let Some(to) = self.answerable(message).await {
            match self.answer(&sending, &to, repeat).await {
                Err(error) if is_over(&error) => {
                    debug!(account = %self.account, %error, "a command is answered by a message");
                }
                result => return result.map_err(send_error),
            }
        }
        self.to_chat(&sending, repeat).await.map_err(send_error)
    }

    async fn fetch(&self, file: &Attached, most: usize) -> Result<Fetched, FetchError> {
        fetch::fetch(&self.api, file, most).await
    }

    async fn typing(&self, chat: &ChatKey) {
        let Some(channel) = place::channel(&chat.chat) else { return };
        if let Err(error) = calls::typing(&self.api, channel).await {
            debug!(account = %self.account, %error, "typing is not shown");
        }
    }
}

#[cfg(test)]
mod tests;
