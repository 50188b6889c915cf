//! Telegram: one account of its Bot API.
//!
//! [`TelegramAccount`] makes the two ports of core's that an account is: the platform (the way out)
//! and the source (the way in). `decode` and `encode` are pure and hold all that is known of
//! Telegram's shapes; `api` makes the calls; `source` and `deliver` decide what a failed one means.
//! Payloads, leaf types and error words are teloxide's; the transport is our own, because
//! teloxide's sleeps inside a call on a server error and its decoder loses what it does not know.

use std::sync::Arc;
use std::time::Duration;

use atlas_core::ids::AccountId;
use secrecy::SecretString;
use serde::Deserialize;
use thiserror::Error;

use api::{Api, CallError};
pub use deliver::TelegramPlatform;
pub use source::TelegramSource;

mod api;
mod decode;
mod deliver;
mod encode;
mod place;
mod source;
#[cfg(test)]
mod stand_in;

/// The platform's name in [`Person`](atlas_core::ids::Person) and in the configuration.
pub const PLATFORM: &str = "telegram";

/// Where the Bot API is, unless an account says otherwise.
pub const API_BASE: &str = "https://api.telegram.org";

/// What an account is, besides its name and token.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Another server of the same interface; None for [`API_BASE`].
    pub api_base: Option<String>,
    /// The age up to which messages are answered that came while nobody listened.
    pub backlog: Duration,
}

/// One token and the server that it is for. Making one calls nobody.
pub struct TelegramAccount {
    account: AccountId,
    api: Arc<Api>,
    backlog: Duration,
}

/// Why an account cannot even be tried.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadAccount {
    /// The token has characters that no token has. It is not shown.
    #[error(
        "this is not a Telegram bot token: one looks like 123456789:AA…; @BotFather on Telegram \
         shows yours"
    )]
    Token,
    /// `api_base` is no address.
    #[error("api_base = \"{0}\" is not an http(s) address, such as {API_BASE}")]
    Base(String),
    /// The client could not be made.
    #[error("the HTTP client for Telegram could not be made: {0}")]
    Client(String),
}

/// What Telegram says of the bot behind a token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BotAccount {
    /// Its number.
    pub id: i64,
    /// Its name, without `@`.
    #[serde(default)]
    pub username: String,
    /// False while privacy mode is on: in groups it then receives only commands, mentions and
    /// replies. `@BotFather` turns it off by `/setprivacy`.
    #[serde(default)]
    pub can_read_all_group_messages: bool,
    /// Whether people may add it to groups.
    #[serde(default)]
    pub can_join_groups: bool,
}

/// Why an account does not work now, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// 401 or 404.
    #[error(
        "Telegram refuses the token; copy it again from @BotFather (/mybots, API Token) into the \
         configuration"
    )]
    TokenRefused,
    /// No answer.
    #[error("Telegram cannot be reached ({0}); check the network and api_base")]
    Unreachable(String),
    /// Updates go to an address, so that polling would be refused (409).
    #[error(
        "a webhook is set up for this token, so that polling is refused (409); stop the program \
         that set it, or remove it by calling deleteWebhook"
    )]
    Webhook,
    /// Any other answer.
    #[error("Telegram answered: {0}")]
    Refused(String),
}

impl TelegramAccount {
    /// The account `account` with this token. No network is used.
    ///
    /// # Errors
    ///
    /// [`BadAccount`], never with the token in it.
    pub fn new(
        account: AccountId,
        token: SecretString,
        settings: Settings,
    ) -> Result<Self, BadAccount> {
        let Settings { api_base, backlog } = settings;
        let api = Api::new(token, api_base.as_deref().unwrap_or(API_BASE))?;
        Ok(Self { account, api: Arc::new(api), backlog })
    }

    /// The way out.
    #[must_use]
    pub fn platform(&self) -> Arc<TelegramPlatform> {
        Arc::new(TelegramPlatform::new(self.account.clone(), self.api.clone()))
    }

    /// The way in. One at a time may run for a token.
    #[must_use]
    pub fn source(&self) -> Arc<TelegramSource> {
        Arc::new(TelegramSource::new(self.account.clone(), self.api.clone(), self.backlog))
    }

    /// Asks Telegram whether the token works, for `atlas check`. Does not disturb a gateway that
    /// polls with the same token.
    ///
    /// # Errors
    ///
    /// [`CheckError`], each with the way to mend it.
    pub async fn check(&self) -> Result<BotAccount, CheckError> {
        let bot = self.api.me().await.map_err(check_error)?;
        match self.api.webhook().await {
            Ok(address) if !address.is_empty() => Err(CheckError::Webhook),
            _ => Ok(bot),
        }
    }
}

fn check_error(error: CallError) -> CheckError {
    match error {
        CallError::Refused(refusal) if refusal.is_bad_token() => CheckError::TokenRefused,
        CallError::Refused(refusal) => CheckError::Refused(refusal.to_string()),
        other => CheckError::Unreachable(other.to_string()),
    }
}
