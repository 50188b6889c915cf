//! Calls of the Bot API, and what can come of one.
//!
//! Knows the envelope of an answer and how to keep the token out of every error. What a failed call
//! means is for `source` and `deliver` to say.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest12::header::CONTENT_TYPE;
use reqwest12::redirect::Policy;
use reqwest12::{Client, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{BadAccount, BotAccount};

/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest wait for the answer to a call that is not held open.
pub(super) const ANSWER: Duration = Duration::from_secs(30);

/// The Bot API for one token.
pub(super) struct Api {
    client: Client,
    /// Without a slash at its end.
    base: String,
    token: SecretString,
}

/// Why a call has no result. No variant ever holds the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// There was no connection: the call did not happen.
    Unreachable(String),
    /// The connection was lost or too slow after the call was sent: it may have happened.
    Lost(String),
    /// Something answered that does not speak the Bot API (a proxy's error page).
    Garbled {
        /// Its HTTP status: below 500 the call did not happen.
        status: u16,
        /// What could not be read.
        why: String,
    },
    /// Telegram says no.
    Refused(Refusal),
}

/// Telegram's no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// As in HTTP.
    pub(super) code: u16,
    /// In Telegram's words.
    pub(super) description: String,
    /// How long to wait.
    pub(super) retry_after: Option<Duration>,
    /// The chat's id from now on.
    pub(super) moved_to: Option<i64>,
}

impl Refusal {
    /// Whether it is the token that is refused: 401 for a wrong one, 404 for one of a wrong shape.
    pub(super) fn is_bad_token(&self) -> bool {
        matches!(self.code, 401 | 404)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.description, self.code)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "no connection: {why}"),
            Self::Lost(why) => write!(f, "no answer: {why}"),
            Self::Garbled { status, why } => {
                write!(f, "an answer that is not Telegram's ({why}, with status {status})")
            }
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

#[derive(Deserialize)]
struct Answer<T> {
    ok: bool,
    result: Option<T>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    error_code: u16,
    parameters: Option<Parameters>,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

#[derive(Deserialize)]
struct Webhook {
    #[serde(default)]
    url: String,
}

impl Api {
    /// For this token, at this server.
    pub(super) fn new(token: SecretString, base: &str) -> Result<Self, BadAccount> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        if token.expose_secret().is_empty() || !token.expose_secret().chars().all(plain) {
            return Err(BadAccount::Token);
        }
        let bad_base = || BadAccount::Base(base.to_owned());
        let url = Url::parse(base).map_err(|_| bad_base())?;
        let host = url.host_str().ok_or_else(bad_base)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad_base());
        }
        let mut client = Client::builder()
            .connect_timeout(CONNECT)
            .tcp_keepalive(Duration::from_secs(30))
            .tcp_nodelay(true)
            // An address that holds a token is never followed elsewhere.
            .redirect(Policy::none());
        if matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| BadAccount::Client(cause(&error)))?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), token })
    }

    /// The bot behind the token.
    pub(super) async fn me(&self) -> Result<BotAccount, CallError> {
        self.call("getMe", &serde_json::json!({}), ANSWER).await
    }

    /// The address that updates are sent to; empty where there is none.
    pub(super) async fn webhook(&self) -> Result<String, CallError> {
        let webhook: Webhook = self.call("getWebhookInfo", &serde_json::json!({}), ANSWER).await?;
        Ok(webhook.url)
    }

    /// Calls `method`, and waits for its answer no longer than `timeout`.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        parameters: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, CallError> {
        let address = format!("{}/bot{}/{method}", self.base, self.token.expose_secret());
        let body = serde_json::to_vec(parameters).map_err(|error| {
            CallError::Unreachable(format!("the call cannot be written: {error}"))
        })?;
        let answer = self
            .client
            .post(address)
            .header(CONTENT_TYPE, "application/json")
            .timeout(timeout)
            .body(body)
            .send()
            .await
            .map_err(|error| self.lost(error))?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(|error| self.lost(error))?;
        self.read(status, &String::from_utf8_lossy(&body))
    }

    /// The first `most` bytes of the file at this path of [`Api::call`]'s `getFile`, and whether those are
    /// all. It comes without the Bot API's envelope, refusals with it.
    pub(super) async fn file(&self, path: &str, most: usize) -> Result<(Vec<u8>, bool), CallError> {
        let no_address = || CallError::Unreachable("the file has no address".to_owned());
        let mut address = Url::parse(&self.base).map_err(|_| no_address())?;
        let token = format!("bot{}", self.token.expose_secret());
        // Each segment is encoded, and those that would climb are left out.
        let segments = ["file", &token].into_iter().chain(path.split('/'));
        address.path_segments_mut().map_err(|()| no_address())?.pop_if_empty().extend(segments);
        let asked = self.client.get(address).timeout(ANSWER).send();
        let mut answer = asked.await.map_err(|error| self.lost(error))?;
        let status = answer.status();
        if !status.is_success() {
            let refusal = Refusal { code: status.as_u16(), ..Refusal::default() };
            return Err(CallError::Refused(refusal));
        }
        let mut bytes = Vec::new();
        while let Some(more) = answer.chunk().await.map_err(|error| self.lost(error))? {
            let left = most - bytes.len();
            bytes.extend_from_slice(more.get(..left).unwrap_or(&more));
            if more.len() > left {
                return Ok((bytes, false));
            }
        }
        Ok((bytes, true))
    }

    fn read<T: DeserializeOwned>(&self, status: u16, body: &str) -> Result<T, CallError> {
        let garbled = |why: String| CallError::Garbled { status, why };
        let answer: Answer<T> = serde_json::from_str(body).map_err(|error| {
            garbled(format!("unreadable at column {} of line {}", error.column(), error.line()))
        })?;
        if answer.ok {
            return answer.result.ok_or_else(|| garbled("no result".to_owned()));
        }
        let description = self.without_token(&answer.description);
        let parameters = answer.parameters.unwrap_or_default();
        let retry_after = parameters.retry_after.or_else(|| wait_in_words(&description));
        Err(CallError::Refused(Refusal {
            code: if answer.error_code == 0 { status } else { answer.error_code },
            description,
            retry_after: retry_after.map(Duration::from_secs),
            moved_to: parameters.migrate_to_chat_id,
        }))
    }

    fn lost(&self, error: reqwest12::Error) -> CallError {
        let error = error.without_url();
        let before_sending = error.is_connect() || error.is_builder();
        let why = self.without_token(&cause(&error));
        if before_sending { CallError::Unreachable(why) } else { CallError::Lost(why) }
    }

    /// What others wrote may quote the address that was called.
    fn without_token(&self, text: &str) -> String {
        text.replace(self.token.expose_secret(), "<token>")
    }
}

/// What really went wrong, in the words of the innermost error.
fn cause(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// `Too Many Requests: retry after 7`, for an answer without parameters.
fn wait_in_words(description: &str) -> Option<u64> {
    let (_, seconds) = description.split_once("retry after ")?;
    seconds.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests;
