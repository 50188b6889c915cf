//! A platform that keeps what it was given.

use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::event::files::Attached;
use crate::ids::{AccountId, ChatKey, PlatformMessage, PlatformName};
use crate::ports::{
    Capabilities, Encoded, FetchError, Fetched, Outgoing, Platform, Receipt, Repeat, SendError,
};

/// Takes every message, and hands it to whoever listens.
#[derive(Debug)]
pub struct RecordingPlatform {
    account: AccountId,
    sent: UnboundedSender<Outgoing>,
}

impl RecordingPlatform {
    /// A platform of this account, and what it will be given.
    #[must_use]
    pub fn new(account: &str) -> (Self, UnboundedReceiver<Outgoing>) {
        let (sent, received) = unbounded_channel();
        (Self { account: account.into(), sent }, received)
    }
}

#[async_trait]
impl Platform for RecordingPlatform {
    fn account(&self) -> &AccountId {
        &self.account
    }

    fn platform(&self) -> PlatformName {
        "recording".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn encode(&self, message: &Outgoing) -> Vec<Encoded> {
        vec![Encoded(message.text.clone())]
    }

    async fn send(
        &self,
        message: &Outgoing,
        _: &Encoded,
        _: usize,
        _: Option<Repeat>,
    ) -> Result<Receipt, SendError> {
        let _ = self.sent.send(message.clone());
        Ok(Receipt { message: PlatformMessage(message.id.to_string()) })
    }

    async fn fetch(&self, _: &Attached, _: usize) -> Result<Fetched, FetchError> {
        Err(FetchError::Gone)
    }

    async fn typing(&self, _: &ChatKey) {}
}
