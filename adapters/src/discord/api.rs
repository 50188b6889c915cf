//! Calls of Discord's REST interface: serenity's client and its limiter, with errors that never hold
//! the token.

use std::error::Error;

use reqwest12::redirect::Policy;
use reqwest12::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serenity::http::{Http, HttpBuilder, Request};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::BadAccount;

/// Where Discord keeps files.
const FILES: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// The interface for one token.
pub(super) struct Api {
    http: Http,
    client: Client,
    /// For files: followed nowhere else.
    files: Client,
    /// Another server of the same interface, which may keep files too.
    base: Option<Url>,
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
            None => own_client(api_base, Policy::default())?,
        };
        let mut builder = HttpBuilder::new(token.expose_secret()).client(client.clone());
        let base = match api_base {
            Some(base) => Some(read_base(base)?),
            None => None,
        };
        if let Some(base) = api_base {
            builder = builder.proxy(base).ratelimiter_disabled(true);
        }
        let files = own_client(api_base, Policy::none())?;
        Ok(Self { http: builder.build(), client, files, base, token })
    }

    /// Asks for a file, without saying who asks. None where it is not where Discord keeps files.
    pub(super) async fn file(&self, address: &str) -> Option<reqwest12::Result<Response>> {
        let address = Url::parse(address).ok().filter(|address| self.keeps_files(address))?;
        Some(self.files.get(address).send().await)
    }

    /// Payloads hold addresses that people may have a hand in: nothing of this machine or its network is
    /// fetched by one.
    fn keeps_files(&self, address: &Url) -> bool {
        let discord = address.scheme() == "https"
            && address.port().is_none()
            && address.host_str().is_some_and(|host| FILES.contains(&host));
        discord || self.base.as_ref().is_some_and(|base| base.origin() == address.origin())
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

fn read_base(base: &str) -> Result<Url, BadAccount> {
    let bad_base = || BadAccount::Base(base.to_owned());
    let url = Url::parse(base).map_err(|_| bad_base())?;
    let usable = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    if usable { Ok(url) } else { Err(bad_base()) }
}

fn own_client(api_base: Option<&str>, redirects: Policy) -> Result<Client, BadAccount> {
    let mut client = Client::builder()
        .redirect(redirects)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_fetched_from_where_discord_keeps_them_and_from_nowhere_else() {
        let api = |base| Api::new("a.b.c".into(), base, None).unwrap();
        let keeps = |api: &Api, url: &str| api.keeps_files(&Url::parse(url).unwrap());
        let (discord, other) = (api(None), api(Some("http://127.0.0.1:7/x")));
        for (url, by_discord, by_other) in [
            ("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", true, true),
            ("https://media.discordapp.net/a", true, true),
            ("http://cdn.discordapp.com/a", false, false),
            ("https://cdn.discordapp.com:8443/a", false, false),
            ("https://cdn.discordapp.com.example.org/a", false, false),
            ("https://user@example.org/cdn.discordapp.com", false, false),
            ("http://169.254.169.254/latest", false, false),
            ("http://127.0.0.1:7/attachments/a", false, true),
            ("http://127.0.0.1:8/attachments/a", false, false),
            ("https://127.0.0.1:7/attachments/a", false, false),
            ("file:///etc/passwd", false, false),
        ] {
            assert_eq!((keeps(&discord, url), keeps(&other, url)), (by_discord, by_other), "{url}");
        }
    }
}
