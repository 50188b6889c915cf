//! The chat-completions dialect, as Ollama, llama.cpp, vLLM, LM Studio, Groq, Mistral and many others
//! speak it besides the company that made it. I/O is here and in `check` alone: `request` makes the
//! bytes, `reader`, `assemble` and `calls` make the answer, `problem` says what a failure means, and
//! `quirks` remembers what one server does not take.

mod assemble;
mod calls;
mod check;
mod merge;
mod problem;
mod quirks;
mod reader;
mod request;
mod thinking;

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use atlas_core::ids::ModelName;
use atlas_core::ports::{
    Answer, Delta, End, ModelClient, ModelError, ModelInfo, ModelRequest, Tokens,
};
use reqwest::{Client, RequestBuilder, Response, Url, header};
use secrecy::{ExposeSecret, SecretString};

use self::problem::{Problem, retry_after};
use self::quirks::Quirks;
use self::reader::Reader;
use self::request::{Server, optional_fields, render};
use crate::http::cause;

/// The server of the dialect's makers.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// How long the costs of an answer are waited for after its end.
const AFTERWARDS: Duration = Duration::from_secs(5);
/// The most bytes of a refusal that are read.
const REFUSAL: usize = 64 << 10;
/// How often one request is mended after a refusal of fields that can be left out.
const LESSONS: usize = 6;

/// What a model is configured with.
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    /// Its key in the configuration.
    pub name: ModelName,
    /// The provider's name of the model.
    pub model: String,
    /// The address below which `/chat/completions` is; [`BASE_URL`] where it is None.
    pub base_url: Option<String>,
    /// The key; local servers need none.
    pub api_key: Option<SecretString>,
    /// Tokens of input and output together.
    pub window: Option<u32>,
    /// The most tokens of one answer; the server's own limit where it is None.
    pub max_output: Option<u32>,
    /// The server wants strictly alternating roles.
    pub strict_roles: bool,
}

/// A model behind a chat-completions server.
pub struct OpenAi {
    info: ModelInfo,
    model: String,
    base_url: String,
    api_key: Option<SecretString>,
    max_output: Option<u32>,
    client: Client,
    /// Grows with the server's refusals.
    quirks: RwLock<Quirks>,
}

/// Why an exchange gave no answer.
enum Failure {
    /// The server answered with a status of failure.
    Refusal(Problem, Option<Duration>),
    /// Anything else.
    Error(ModelError),
}

impl OpenAi {
    /// A model behind the configured server. `client` comes from
    /// [`http::client_for`](crate::http::client_for): it says how long an answer may stand still.
    #[must_use]
    pub fn new(config: OpenAiConfig, client: Client) -> Self {
        let base_url = config.base_url.as_deref().unwrap_or(BASE_URL).trim().trim_end_matches('/');
        let base_url = base_url.trim_end_matches("/chat/completions").to_owned();
        let signer = format!("openai|{}|{}", without_password(&base_url), config.model);
        let info = ModelInfo {
            name: config.name,
            signer,
            window: config.window,
            strict_roles: config.strict_roles,
        };
        Self {
            info,
            model: config.model,
            base_url,
            api_key: config.api_key,
            max_output: config.max_output,
            client,
            quirks: RwLock::default(),
        }
    }

    fn server<'a>(&'a self, strict_roles: bool, quirks: &'a Quirks) -> Server<'a> {
        let limit_names = ["max_completion_tokens", "max_tokens"];
        let own = self.base_url == BASE_URL;
        Server {
            model: &self.model,
            signer: &self.info.signer,
            max_output: self.max_output,
            limit_names: if own { limit_names } else { [limit_names[1], limit_names[0]] },
            strict_roles,
            quirks,
        }
    }

    async fn exchange(
        &self,
        body: Vec<u8>,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, Failure> {
        let request = self
            .client
            .post(format!("{}/chat/completions", self.base_url))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream, application/json")
            .body(body);
        let response = self.send(request).await?;
        self.read(response, deltas).await.map_err(Failure::Error)
    }

    /// Sends a request with the key. Gives only answers with a status of success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let request = match &self.api_key {
            Some(key) => request.bearer_auth(key.expose_secret().trim()),
            None => request,
        };
        let response = request.send().await.map_err(|error| Failure::Error(self.lost(&error)))?;
        if response.status().is_success() {
            return Ok(response);
        }
        if response.status().is_redirection() {
            return Err(Failure::Error(ModelError::Refused(self.elsewhere(&response))));
        }
        let (status, wait) = (response.status().as_u16(), retry_after(response.headers()));
        let body = beginning(response).await;
        let key = self.api_key.as_ref().map(|key| key.expose_secret().trim());
        Err(Failure::Refusal(Problem::from_body(status, &body).without(key), wait))
    }

    async fn read(
        &self,
        mut response: Response,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        if is_web_page(&response) {
            let why = format!("{} answers with a web page; is base_url right?", self.place());
            return Err(ModelError::Refused(why));
        }
        let mut reader = Reader::new();
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
        reader.finish(&self.info.signer, deltas)
    }

    /// What is told of a server that sends its callers to another address.
    fn elsewhere(&self, response: &Response) -> String {
        let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        let to = to.and_then(|to| response.url().join(to).ok()).map(|mut to| {
            to.set_query(None);
            let to = without_password(to.as_str());
            to.trim_end_matches("/chat/completions").trim_end_matches("/models").to_owned()
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

    /// The server's address as people may see it.
    fn place(&self) -> String {
        without_password(&self.base_url)
    }

    /// Learns from a refusal of fields that can be left out. True if another try makes sense.
    fn learn(&self, problem: &Problem, request: &ModelRequest, quirks: &Quirks) -> bool {
        let sent = optional_fields(request, &self.server(request.strict_roles, quirks));
        let mut held = self.quirks.write().unwrap_or_else(PoisonError::into_inner);
        let learnt = held.learn(problem, &sent);
        if learnt {
            tracing::info!(model = %self.info.name, "the model's server does not take a field; it is left out from now on");
        }
        learnt || *held != *quirks
    }

    fn quirks(&self) -> Quirks {
        self.quirks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ModelClient for OpenAi {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Asks once. A request that was refused for a field that can be left out is mended and sent
    /// again at once: nothing had begun.
    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        let strict_roles = request.strict_roles || self.info.strict_roles;
        for lesson in 0.. {
            let quirks = self.quirks();
            let body = render(request, &self.server(strict_roles, &quirks))
                .map_err(|error| ModelError::Refused(error.to_string()))?;
            let (problem, wait) = match self.exchange(body, deltas).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::Refusal(problem, wait)) => (problem, wait),
            };
            if lesson < LESSONS && self.learn(&problem, request, &quirks) {
                continue;
            }
            if problem.is_content_filter() {
                return Ok(filtered());
            }
            return Err(match problem.into_error(wait) {
                // It was asked with strict roles already: asking so again changes nothing.
                ModelError::StrictRoles(reason) if strict_roles => ModelError::Refused(reason),
                error => error,
            });
        }
        Err(ModelError::Refused("the server refuses every form of the request".to_owned()))
    }
}

/// The answer where a filter refused the request itself.
fn filtered() -> Answer {
    Answer {
        text: String::new(),
        calls: Vec::new(),
        blocks: None,
        end: End::ContentFilter,
        tokens: Tokens::default(),
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
fn without_password(base_url: &str) -> String {
    match Url::parse(base_url) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.as_str().trim_end_matches('/').to_owned()
        }
        _ => base_url.to_owned(),
    }
}

#[cfg(test)]
#[path = "openai/wire_tests.rs"]
mod wire_tests;
