//! The server that a model is behind: where it is, how it is asked, and what it means when it does not
//! answer. The same for every dialect; which paths and headers there are, a dialect says.

use std::time::Duration;

use atlas_core::ports::{Answer, Delta, ModelError};
use reqwest::{Client, RequestBuilder, Response, Url, header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::problem::{Problem, retry_after};
use super::reader::{Assemble, Reader};
use crate::http::cause;

/// How long the costs of an answer are waited for after its end.
const AFTERWARDS: Duration = Duration::from_secs(5);
/// The most bytes of a refusal that are read.
const REFUSAL: usize = 64 << 10;
/// The most bytes of a list of models that are read.
const LIST: usize = 16 << 20;
/// How many names are told of a server's list.
const SHOWN: usize = 5;

/// A model's server.
pub(super) struct Host {
    /// Without a path that belongs to a request, and without a slash at its end.
    address: String,
    /// Cuts an address to the part that is configured.
    root: fn(&str) -> &str,
    key: Option<SecretString>,
    client: Client,
}

/// Why an exchange gave no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server answered with a status of failure, and perhaps with how long to wait.
    Refusal(Problem, Option<Duration>),
    /// Anything else.
    Error(ModelError),
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refusal(problem, wait) => problem.into_error(wait),
            Failure::Error(error) => error,
        }
    }
}

impl Host {
    /// The server at an address, which may be written with the path of a request: `root` cuts that off.
    pub(super) fn new(
        address: &str,
        root: fn(&str) -> &str,
        key: Option<SecretString>,
        client: Client,
    ) -> Self {
        let address = root(address.trim().trim_end_matches('/')).trim_end_matches('/').to_owned();
        Self { address, root, key, client }
    }

    /// The address, with a password that somebody wrote into it.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The address as people may see it.
    pub(super) fn place(&self) -> String {
        without_password(&self.address)
    }

    /// The key, for a header.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.expose_secret().trim())
    }

    /// A question without a body.
    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.address))
    }

    /// The same for an address beside the configured one.
    pub(super) fn get_beside(&self, end: &str, path: &str) -> Option<RequestBuilder> {
        let root = self.address.strip_suffix(end)?;
        Some(self.client.get(format!("{root}{path}")))
    }

    /// A question with JSON as its body.
    pub(super) fn post(&self, path: &str, body: Vec<u8>) -> RequestBuilder {
        self.client
            .post(format!("{}{path}", self.address))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
    }

    /// Sends a request. Gives only answers with a status of success.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| Failure::Error(self.lost(&error)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        if response.status().is_redirection() {
            return Err(Failure::Error(ModelError::Refused(self.elsewhere(&response))));
        }
        let (status, wait) = (response.status().as_u16(), retry_after(response.headers()));
        let body = beginning(response).await;
        Err(Failure::Refusal(Problem::from_body(status, &body).without(self.key()), wait))
    }

    /// Reads an answer as it comes; `deltas` hears its text, and `signer` is whose it is.
    pub(super) async fn read<A: Assemble>(
        &self,
        mut response: Response,
        assembly: A,
        signer: &str,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        if is_web_page(&response) {
            let why = format!("{} answers with a web page; is base_url right?", self.place());
            return Err(ModelError::Refused(why));
        }
        let mut reader = Reader::new(assembly);
        while !reader.is_done() {
            let next = response.chunk();
            let next = if reader.has_ended() {
                // Some servers keep the connection after the end. The answer is whole without them.
                let Ok(next) = tokio::time::timeout(AFTERWARDS, next).await else { break };
                next
            } else {
                next.await
            };
            match next {
                Ok(Some(bytes)) => reader.push(&bytes, deltas)?,
                Ok(None) => break,
                Err(_) if reader.has_ended() => break,
                Err(error) if error.is_timeout() => return Err(self.lost(&error)),
                Err(error) => return Err(ModelError::Truncated(cause(&error))),
            }
        }
        reader.finish(signer, deltas)
    }

    /// Reads a list of models, or what else a server tells of itself.
    pub(super) async fn json(&self, mut response: Response) -> Result<Value, ModelError> {
        let no_list = || {
            let place = self.place();
            ModelError::Refused(format!(
                "{place} answers, but not with a list of models; is base_url right?"
            ))
        };
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.lost(&error))? {
            if body.len() + bytes.len() > LIST {
                return Err(no_list());
            }
            body.extend_from_slice(&bytes);
        }
        serde_json::from_slice(&body).map_err(|_| no_list())
    }

    /// What is told of a server that has these models and not this one: the names that are most like
    /// it.
    pub(super) fn lacks(&self, model: &str, known: &[&str]) -> String {
        let all = known.len();
        let mut known = known.to_vec();
        known.sort_by(|a, b| {
            let likeness = |name: &str| strsim::jaro_winkler(name, model);
            likeness(b).total_cmp(&likeness(a)).then(a.cmp(b))
        });
        known.truncate(SHOWN);
        let known = match known.as_slice() {
            [] => "it lists none".to_owned(),
            some if some.len() == all => format!("it has {}", some.join(", ")),
            some => format!("it has {all} models, the most alike {}", some.join(", ")),
        };
        format!("{} does not list the model {model}; {known}", self.place())
    }

    /// What is told of a server that sends its callers to another address.
    fn elsewhere(&self, response: &Response) -> String {
        let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        let to = to.and_then(|to| response.url().join(to).ok()).map(|mut to| {
            to.set_query(None);
            let to = without_password(to.as_str());
            (self.root)(to.trim_end_matches("/models")).to_owned()
        });
        match to {
            Some(to) => format!(
                "{} sends its callers on to {to}; if you trust that address, write it as base_url",
                self.place()
            ),
            None => format!("{} sends its callers on to nowhere; is base_url right?", self.place()),
        }
    }

    /// What a lost connection means.
    fn lost(&self, error: &reqwest::Error) -> ModelError {
        let place = self.place();
        if error.is_builder() {
            let why = format!("no request can be made to {place}: {}", cause(error));
            return ModelError::Refused(why);
        }
        if error.is_connect() {
            return ModelError::Unreachable(format!("{place} does not answer: {}", cause(error)));
        }
        if error.is_timeout() {
            return ModelError::Unreachable(format!("{place} stood still for too long"));
        }
        ModelError::Unreachable(format!("{place}: {}", cause(error)))
    }
}

/// The first bytes of a refusal; what came of it, where the connection breaks.
async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        let room = REFUSAL - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if body.len() == REFUSAL {
            break;
        }
    }
    body
}

fn is_web_page(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.starts_with("text/html"))
}

/// The address without a password that somebody wrote into it.
fn without_password(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.as_str().trim_end_matches('/').to_owned()
        }
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_address_is_shown_nowhere() {
        assert_eq!(without_password("http://me:secret@host:1/v1"), "http://host:1/v1");
        assert_eq!(without_password("http://host:1/v1"), "http://host:1/v1");
        assert_eq!(without_password("not an address"), "not an address");
    }
}
