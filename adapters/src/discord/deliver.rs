//! The way out: sends parts, and says what a failed try means.

use std::sync::Arc;

use async_trait::async_trait;
use atlas_core::ids::{AccountId, ChatKey, PlatformMessage, PlatformName};
use atlas_core::ports::{Capabilities, Encoded, Outgoing, Platform, Receipt, Repeat, SendError};
use serde_json::json;

use super::api::Api;
use super::rest::CallError;
use super::{PLATFORM, place};

/// Characters of a message at most.
const LONGEST: usize = 2_000;

/// The way out of one account.
pub struct DiscordPlatform {
    account: AccountId,
    api: Arc<Api>,
}

impl DiscordPlatform {
    pub(super) fn new(account: AccountId, api: Arc<Api>) -> Self {
        Self { account, api }
    }
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
        Capabilities { typing: true, ..Capabilities::default() }
    }

    fn encode(&self, message: &Outgoing) -> Vec<Encoded> {
        let characters: Vec<char> = message.text.chars().collect();
        characters.chunks(LONGEST).map(|part| Encoded(part.iter().collect())).collect()
    }

    async fn send(
        &self,
        message: &Outgoing,
        part: &Encoded,
        _: usize,
        _: Option<Repeat>,
    ) -> Result<Receipt, SendError> {
        let channel = place::channel(&message.to.chat)
            .ok_or_else(|| SendError::Rejected("no chat of Discord's".to_owned()))?;
        let flags = if message.silent { 1 << 12 } else { 0 };
        let body = json!({"content": part.0, "flags": flags, "allowed_mentions": {"parse": []}});
        let sent = self.api.http().send_message(channel, Vec::new(), &body).await;
        match sent.map_err(CallError::from) {
            Ok(sent) => Ok(Receipt { message: PlatformMessage(sent.id.to_string()) }),
            Err(CallError::Passing(why)) => Err(SendError::Unknown(why)),
            Err(error) => Err(SendError::Rejected(error.to_string())),
        }
    }

    async fn typing(&self, chat: &ChatKey) {
        if let Some(channel) = place::channel(&chat.chat) {
            let _ = self.api.http().broadcast_typing(channel).await;
        }
    }
}
