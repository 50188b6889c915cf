//! The way out to people, and the way in from them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use thiserror::Error;

use crate::event::files::Attached;
use crate::ids::{AccountId, ChatKey, DeliveryId, PlatformMessage, PlatformName};
use crate::intake::Intake;
use crate::ports::DeliveryKind;

/// What a platform can do. A plain struct, so that nobody asks a trait for another trait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A repeated send with the same key within this time is answered with the first message.
    pub forgets_repeats_after: Option<Duration>,
    /// It can show that somebody is typing.
    pub typing: bool,
    /// Its chats come and go with processes: those of the owner with one bot are one conversation.
    pub chats_pass: bool,
}

/// A message on its way out, as core decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The delivery's id.
    pub id: DeliveryId,
    /// Where it goes.
    pub to: ChatKey,
    /// The whole text, in Markdown as models write it.
    pub text: String,
    /// Without sound: notices, quiet lines, cards. Answers are not.
    pub silent: bool,
    /// What it is: a terminal prints answers and notices to different streams.
    pub kind: DeliveryKind,
    /// The message or interaction whose answer it is, where that matters to the platform.
    pub reply_to: Option<PlatformMessage>,
}

/// An earlier try of the same part that may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// When the first such try began.
    pub since: DateTime<Utc>,
    /// How long ago that is, by core's clock.
    pub age: Duration,
}

/// One platform message of an [`Outgoing`], made by [`Platform::encode`]. Opaque to core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded(pub String);

/// Proof that the platform has a message: only this makes a delivery delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The platform's id of it.
    pub message: PlatformMessage,
}

/// Why a message was not sent, by what the courier must do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The platform says when: try again then.
    #[error("the platform asks to wait {0:?}")]
    RetryAfter(Duration),
    /// It certainly did not arrive, and may later: try again with back-off.
    #[error("not sent: {0}")]
    Transient(String),
    /// It can never arrive there: the bot was blocked, the chat is gone.
    #[error("refused for good: {0}")]
    Rejected(String),
    /// Nobody knows whether it arrived: the repeat is marked.
    #[error("sent, but the answer was lost: {0}")]
    Unknown(String),
    /// The chat goes on under another id: move it, and try again.
    #[error("the chat is now {0}")]
    Moved(crate::ids::PlatformChat),
}

/// The beginning of an attached file, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The bytes, no more than were asked for.
    pub bytes: Vec<u8>,
    /// There are no more of them.
    pub whole: bool,
}

/// Why an attached file was not fetched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FetchError {
    /// The platform has it no more.
    #[error("the platform does not have it any more")]
    Gone,
    /// The platform gives it to no bot. Says why, in words for a person.
    #[error("{0}")]
    Refused(String),
    /// It may come at the next try. Says why, for the log.
    #[error("it could not be fetched: {0}")]
    Transient(String),
}

/// One account of a platform.
#[async_trait]
pub trait Platform: Send + Sync + 'static {
    /// The account's name in the configuration.
    fn account(&self) -> &AccountId;

    /// The platform's name, the same for all of its accounts.
    fn platform(&self) -> PlatformName;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Makes the platform messages of `message`: at least one, each within the platform's limits,
    /// together the whole text. Pure: the same input gives the same parts, also after a restart.
    fn encode(&self, message: &Outgoing) -> Vec<Encoded>;

    /// Sends one part. With `repeat`, an earlier try may have arrived.
    ///
    /// # Errors
    ///
    /// See [`SendError`]: each variant is one thing to do.
    async fn send(
        &self,
        message: &Outgoing,
        part: &Encoded,
        index: usize,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, SendError>;

    /// Fetches the first `most` bytes of a file that came with one of this account's messages.
    ///
    /// # Errors
    ///
    /// See [`FetchError`]. It never holds a token, or an address with one in it.
    async fn fetch(&self, file: &Attached, most: usize) -> Result<Fetched, FetchError>;

    /// Shows that the bot is typing, for a few seconds. Its failure is nobody's concern.
    async fn typing(&self, chat: &ChatKey);
}

/// The way in: runs until it is told to stop, and gives every event to the intake before it tells
/// the platform that it was received.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// Runs until `stop` is true. Trouble with the platform is its own: logged, waited for, tried
    /// again. It returns early only for what needs a person (a token that is refused).
    async fn run(&self, intake: Arc<Intake>, stop: tokio::sync::watch::Receiver<bool>);
}
