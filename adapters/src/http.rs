//! The HTTP client: one set-up for every adapter that calls out. It knows nothing of who is called;
//! keys, retries and what an answer means are its caller's. How long they rest is [`backoff`]'s.

pub(crate) mod backoff;

use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use thiserror::Error;

/// How long a connection may take to stand.
pub const CONNECT: Duration = Duration::from_secs(15);

/// How long an ordinary answer may stand still between two reads.
pub const IDLE: Duration = Duration::from_secs(60);

/// How long a model's answer may stand still, its first byte included: a model that reasons, or a
/// small machine that reads a long conversation, says nothing for minutes.
pub const MODEL_IDLE: Duration = Duration::from_secs(300);

/// How often one request is sent on within a host.
const REDIRECTS: usize = 3;

/// Why there is no client.
#[derive(Debug, Error)]
#[error(
    "the HTTP client cannot be made: {why}. Atlas needs this machine's list of certificate \
     authorities (on Debian the package is called ca-certificates)"
)]
pub struct ClientError {
    /// The library's reason.
    pub why: String,
}

/// Makes ring the process's provider of cryptography. Any number of calls, from anywhere, do the
/// same; a provider that was installed before stays.
pub fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The client for ordinary calls. Make one and clone it: clones share their connections.
///
/// # Errors
///
/// [`ClientError`] where the machine's certificates cannot be read.
pub fn client() -> Result<Client, ClientError> {
    build(IDLE, false, Policy::default())
}

/// The client for a server whose address is configured: an answer may stand still for `idle`
/// ([`MODEL_IDLE`] for models), however long it is in all. A server on this machine is reached
/// without the proxy of the environment, and without certificates unless its address is `https`.
/// It is followed elsewhere only where the request stays what it is and the host the same: any other
/// redirect is the answer, for its caller to tell.
///
/// # Errors
///
/// [`ClientError`] where the machine's certificates cannot be read.
pub fn client_for(base_url: &str, idle: Duration) -> Result<Client, ClientError> {
    build(idle, is_plain_local(base_url), Policy::custom(within_host))
}

/// A conversation goes to the host that was configured and to no other, and a request that a
/// redirect would turn into a GET has no answer.
fn within_host(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let first = attempt.previous().first();
    let same_host = first.and_then(Url::host_str) == attempt.url().host_str();
    let weaker =
        first.is_some_and(|first| first.scheme() == "https") && attempt.url().scheme() != "https";
    let keeps_request = matches!(attempt.status().as_u16(), 307 | 308);
    if keeps_request && same_host && !weaker && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn build(idle: Duration, plain_local: bool, redirects: Policy) -> Result<Client, ClientError> {
    install_provider();
    let builder = Client::builder()
        .user_agent(concat!("atlas/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(idle)
        .redirect(redirects)
        .tcp_nodelay(true);
    let builder =
        if plain_local { builder.no_proxy().tls_certs_only(std::iter::empty()) } else { builder };
    builder.build().map_err(|error| ClientError { why: cause(&error) })
}

/// What really went wrong, in the words of the innermost error, and never with the address, which
/// may hold a key.
#[must_use]
pub fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    if std::ptr::addr_eq(inner, error) {
        // Its own words end with "for url (…)", which is the last thing they hold.
        let text = error.to_string();
        return text.split(" for url (").next().unwrap_or_default().to_owned();
    }
    inner.to_string()
}

fn is_plain_local(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    local && url.scheme() == "http"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_can_be_installed_by_everybody() {
        install_provider();
        install_provider();
        assert!(rustls::crypto::CryptoProvider::get_default().is_some());
    }

    #[test]
    fn a_client_for_a_local_server_needs_no_certificates() {
        client_for("http://127.0.0.1:11434/v1", MODEL_IDLE).unwrap();
    }

    #[test]
    fn only_loopback_without_tls_is_plain_and_local() {
        for (url, expected) in [
            ("http://127.0.0.1:11434/v1", true),
            ("http://localhost:8080", true),
            ("http://[::1]:8080", true),
            ("https://localhost:8080", false),
            ("http://192.168.1.4:1234", false),
            ("https://api.openai.com/v1", false),
            ("http://localhost.example.com", false),
            ("not an address", false),
        ] {
            assert_eq!(is_plain_local(url), expected, "{url}");
        }
    }
}
