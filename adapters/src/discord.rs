//! Discord: one account, which is one bot's token.
//!
//! [`DiscordAccount`] makes the two ports of core's that an account is: the platform (the way out) and
//! the source (the way in). `decode` and `encode` are pure and hold all that is known of Discord's shapes;
//! `api` and `rest` make the calls, by serenity's client and its limiter; the gateway's socket is our own
//! (`source` says why).

use std::sync::Arc;
use std::time::Duration;

use atlas_core::ids::AccountId;
use reqwest12::Client;
use secrecy::SecretString;
use thiserror::Error;

use api::Api;
use interactions::Interactions;

pub use check::{BotAccount, CheckError, Lack};
pub use deliver::DiscordPlatform;
pub use source::DiscordSource;

mod api;
mod attachment;
mod check;
mod decode;
mod deliver;
mod encode;
mod interactions;
mod place;
mod rest;
mod slash;
mod source;
#[cfg(test)]
mod stand_in;

/// The platform's name in [`Person`](atlas_core::ids::Person) and in the configuration.
pub const PLATFORM: &str = "discord";

/// What an account is, besides its name and token.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Another server of the same interface; its limits are then its own affair.
    pub api_base: Option<String>,
    /// The age up to which messages are answered that came while nobody listened.
    pub backlog: Duration,
    /// The HTTP client; None for one with the usual certificates.
    pub client: Option<Client>,
}

/// One token and the server that it is for. Making one calls nobody.
pub struct DiscordAccount {
    account: AccountId,
    api: Arc<Api>,
    interactions: Arc<Interactions>,
    backlog: Duration,
}

/// Why an account cannot even be tried.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadAccount {
    /// The token has characters that no token has. It is not shown.
    #[error(
        "this is not a Discord bot token: one has three parts with dots between them; \
         https://discord.com/developers/applications (the application, Bot, Reset Token) shows yours"
    )]
    Token,
    /// `api_base` is no address.
    #[error("api_base = \"{0}\" is not an http(s) address")]
    Base(String),
    /// The client could not be made.
    #[error("the HTTP client for Discord could not be made: {0}")]
    Client(String),
}

impl DiscordAccount {
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
        let Settings { api_base, backlog, client } = settings;
        let api = Arc::new(Api::new(token, api_base.as_deref(), client)?);
        Ok(Self { account, api, interactions: Arc::new(Interactions::default()), backlog })
    }

    /// The way out.
    #[must_use]
    pub fn platform(&self) -> Arc<DiscordPlatform> {
        let (api, interactions) = (self.api.clone(), self.interactions.clone());
        Arc::new(DiscordPlatform::new(self.account.clone(), api, interactions))
    }

    /// The way in. One at a time may run for a token.
    #[must_use]
    pub fn source(&self) -> Arc<DiscordSource> {
        let (api, interactions) = (self.api.clone(), self.interactions.clone());
        Arc::new(DiscordSource::new(self.account.clone(), api, interactions, self.backlog))
    }
}
