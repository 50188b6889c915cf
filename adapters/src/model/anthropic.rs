//! The Messages dialect, as Anthropic's servers speak it, and those that imitate them. I/O is here and
//! in `check` alone: `request` makes the bytes, `breakpoints` says where the cache begins and ends,
//! `assemble` makes the answer.
//!
//! Two things are learnt from a server's own refusals, and kept for as long as the client lives: that
//! the model's answers have a lower limit, and that it binds reasoning to what stood before it.

mod assemble;
mod breakpoints;
mod check;
mod request;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use atlas_core::ids::ModelName;
use atlas_core::ports::{Answer, Delta, ModelClient, ModelError, ModelInfo, ModelRequest};
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, RequestBuilder, Response};
use secrecy::SecretString;

use self::assemble::Assembly;
pub use self::breakpoints::CacheTtl;
use self::request::{Server, render};
use super::host::{Failure, Host};
use super::problem::Problem;

/// The server of the dialect's makers.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the dialect that this module speaks.
const VERSION: &str = "2023-06-01";
/// What makes a server take [`Server::drops_reasoning`].
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// The most tokens of one answer where nobody said: enough for reasoning and a long answer.
const MAX_OUTPUT: u32 = 32_000;
/// Of a window that is known, answers may take this part where nobody said.
const PART_OF_WINDOW: u32 = 4;

/// How often one request is mended after a refusal that teaches something.
const LESSONS: usize = 3;

/// What a model is configured with.
#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    /// Its key in the configuration.
    pub name: ModelName,
    /// The provider's name of the model.
    pub model: String,
    /// The address below which `/v1/messages` is; [`BASE_URL`] where it is None.
    pub base_url: Option<String>,
    /// The key.
    pub api_key: Option<SecretString>,
    /// Tokens of input and output together.
    pub window: Option<u32>,
    /// The most tokens of one answer, reasoning included.
    pub max_output: Option<u32>,
    /// How long the server keeps what it has read.
    pub cache_ttl: CacheTtl,
}

/// A model behind a Messages server.
pub struct Anthropic {
    info: ModelInfo,
    model: String,
    host: Host,
    cache_ttl: CacheTtl,
    lessons: Mutex<Lessons>,
}

/// What the server's refusals taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lessons {
    /// The most tokens of one answer.
    max_output: u32,
    /// The server is told to pass over reasoning whose surroundings have changed.
    drops_reasoning: bool,
}

impl Anthropic {
    /// A model behind the configured server. `client` comes from
    /// [`http::client_for`](crate::http::client_for): it says how long an answer may stand still.
    #[must_use]
    pub fn new(config: AnthropicConfig, client: Client) -> Self {
        let base_url = config.base_url.as_deref().unwrap_or(BASE_URL);
        let host = Host::new(base_url, root, config.api_key, client);
        let signer = format!("anthropic|{}|{}", host.place(), config.model);
        // Roles alternate here in any case.
        let (name, window, strict_roles) = (config.name, config.window, false);
        let info = ModelInfo { name, signer, window, strict_roles };
        let room = config.window.map_or(MAX_OUTPUT, |window| (window / PART_OF_WINDOW).max(1));
        let max_output = config.max_output.unwrap_or(room.min(MAX_OUTPUT));
        let lessons = Mutex::new(Lessons { max_output, drops_reasoning: false });
        Self { info, model: config.model, host, cache_ttl: config.cache_ttl, lessons }
    }

    fn lessons(&self) -> Lessons {
        *self.lessons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server(&self, lessons: Lessons) -> Server<'_> {
        Server {
            model: &self.model,
            signer: &self.info.signer,
            max_output: lessons.max_output,
            drops_reasoning: lessons.drops_reasoning,
            cache_ttl: self.cache_ttl,
        }
    }

    async fn exchange(
        &self,
        request: &ModelRequest,
        lessons: Lessons,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, Failure> {
        let body = render(request, &self.server(lessons))
            .map_err(|error| Failure::Error(ModelError::Refused(error.to_string())))?;
        let mut request = self
            .host
            .post("/v1/messages", body)
            .header(ACCEPT, "text/event-stream, application/json");
        if lessons.drops_reasoning {
            request = request.header("anthropic-beta", BINDING_CONTROLS);
        }
        let response = self.send(request).await?;
        let (assembly, signer) = (Assembly::default(), &self.info.signer);
        self.host.read(response, assembly, signer, deltas).await.map_err(Failure::Error)
    }

    /// Sends a request with the key. Gives only answers with a status of success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let mut request = request.header("anthropic-version", VERSION);
        if let Some(key) = self.host.key() {
            let mut key = HeaderValue::from_str(key).map_err(|_| {
                let why = "the key holds characters that no key has; is api_key right?";
                Failure::Error(ModelError::Auth(why.to_owned()))
            })?;
            key.set_sensitive(true);
            request = request.header("x-api-key", key);
        }
        self.host.send(request).await
    }

    /// Takes a lesson from a refusal of a request that was made with `made`. True if another try makes
    /// sense.
    fn learn(&self, problem: &Problem, made: Lessons) -> bool {
        let mut held = self.lessons.lock().unwrap_or_else(PoisonError::into_inner);
        if problem.status == 400 {
            if let Some(limit) = limit(&problem.message).filter(|limit| *limit < held.max_output) {
                tracing::info!(model = %self.info.name, limit, "the model's answers have a lower limit; it holds from now on");
                held.max_output = limit;
            }
            if !held.drops_reasoning && problem.says(&["prefix_mismatch_behavior"]) {
                tracing::info!(model = %self.info.name, "the model's server binds reasoning to what stood before it; reasoning that lost its place is passed over from now on");
                held.drops_reasoning = true;
            }
        }
        *held != made
    }
}

/// `max_tokens: 32000 > 8192, which is the maximum …` says 8192.
fn limit(message: &str) -> Option<u32> {
    let (_, rest) = message.split_once("max_tokens: ")?;
    let (_, rest) = rest.split_once("> ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|limit| *limit > 0)
}

/// The part of an address below which `/v1/messages` is.
fn root(address: &str) -> &str {
    let ends = ["/v1/messages", "/v1/models", "/messages", "/v1"];
    ends.iter().find_map(|end| address.strip_suffix(end)).unwrap_or(address)
}

#[async_trait]
impl ModelClient for Anthropic {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Asks once. A request whose refusal teaches how to ask is sent again at once: nothing had begun.
    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        for lesson in 0.. {
            let lessons = self.lessons();
            match self.exchange(request, lessons, deltas).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Refusal(problem, _))
                    if lesson < LESSONS && self.learn(&problem, lessons) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(ModelError::Refused("the server refuses every form of the request".to_owned()))
    }
}

#[cfg(test)]
#[path = "anthropic/wire_tests.rs"]
mod wire_tests;
