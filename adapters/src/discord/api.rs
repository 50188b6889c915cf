//! Calls of Discord's REST interface: serenity's client and its limiter, with errors that never hold
//! the token.

use std::error::Error;

use reqwest12::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serenity::http::{Http, HttpBuilder, Request};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::BadAccount;

/// The interface for one token.
pub(super) struct Api {
    http: Http,
    client: Client,
    token: SecretString,
}

impl Api {
    /// For this token, at Discord or at `api_base`, whose limits are then its own affair.
    pub(super) fn new(
        token: SecretString,
        api_base: Option<&str>,
        client: Option<Client>,
    ) -> Result<Self, BadAccount> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if token.expose_secret().is_empty() || !token.expose_secret().chars().all(plain) {
            return Err(BadAccount::Token);
        }
        let client = match client {
            Some(client) => client,
            None => own_client(api_base)?,
        };
        let mut builder = HttpBuilder::new(token.expose_secret()).client(client.clone());
        if let Some(base) = api_base {
            let bad_base = || BadAccount::Base(base.to_owned());
            let url = Url::parse(base).map_err(|_| bad_base())?;
            if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
                return Err(bad_base());
            }
            builder = builder.proxy(base).ratelimiter_disabled(true);
        }
        Ok(Self { http: builder.build(), client, token })
    }

    /// The answer to `request`, whatever its status, in the order and at the pace that Discord's limits
    /// allow. Nothing of it is logged by the library: addresses hold the tokens of commands.
    pub(super) async fn raw(&self, request: Request<'_>) -> serenity::Result<Response> {
        let asking = async {
            match &self.http.ratelimiter {
                Some(limiter) => limiter.perform(request).await,
                None => {
                    let (token, base) = (self.http.token(), self.http.proxy.as_deref());
                    Ok(request.build(&self.client, token, base)?.send().await?)
                }
            }
        };
        asking.with_subscriber(NoSubscriber::default()).await
    }

    /// Serenity's client.
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    /// What an IDENTIFY shows.
    pub(super) fn token(&self) -> &SecretString {
        &self.token
    }
}

fn own_client(api_base: Option<&str>) -> Result<Client, BadAccount> {
    let mut client = Client::builder()
        .connect_timeout(std::time::Duration::from_secs(10))
        .timeout(std::time::Duration::from_secs(30))
        .tcp_nodelay(true);
    let local = |base: &str| {
        let host = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| matches!(host.as_str(), "127.0.0.1" | "localhost" | "[::1]"))
    };
    if api_base.is_some_and(local) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| BadAccount::Client(cause(&error)))
}

/// What really went wrong, in the words of the innermost error.
pub(super) fn cause(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}
