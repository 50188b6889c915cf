//! The chat-completions dialect, as Ollama, llama.cpp, vLLM, LM Studio, Groq, Mistral and many others
//! speak it besides the company that made it. I/O is here and in `check` alone: `request` makes the
//! bytes, `assemble` and `calls` make the answer, and `quirks` remembers what one server does not take.

mod assemble;
mod calls;
mod check;
mod quirks;
mod request;
mod thinking;

use std::sync::{PoisonError, RwLock};

use async_trait::async_trait;
use atlas_core::ids::ModelName;
use atlas_core::ports::{
    Answer, Delta, End, ModelClient, ModelError, ModelInfo, ModelRequest, Tokens,
};
use reqwest::{Client, RequestBuilder, Response, header};
use secrecy::SecretString;

use self::assemble::Assembly;
use self::quirks::Quirks;
use self::request::{Server, optional_fields, render};
use crate::model::host::{Failure, Host};
use crate::model::problem::Problem;

/// The server of the dialect's makers.
pub const BASE_URL: &str = "https://api.openai.com/v1";

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
    host: Host,
    max_output: Option<u32>,
    /// Grows with the server's refusals.
    quirks: RwLock<Quirks>,
}

impl OpenAi {
    /// A model behind the configured server. `client` comes from
    /// [`http::client_for`](crate::http::client_for): it says how long an answer may stand still.
    #[must_use]
    pub fn new(config: OpenAiConfig, client: Client) -> Self {
        let base_url = config.base_url.as_deref().unwrap_or(BASE_URL);
        let host = Host::new(base_url, root, config.api_key, client);
        let signer = format!("openai|{}|{}", host.place(), config.model);
        let info = ModelInfo {
            name: config.name,
            signer,
            window: config.window,
            strict_roles: config.strict_roles,
        };
        let (model, max_output) = (config.model, config.max_output);
        Self { info, model, host, max_output, quirks: RwLock::default() }
    }

    fn server<'a>(&'a self, request: &ModelRequest, quirks: &'a Quirks) -> Server<'a> {
        let limit_names = ["max_completion_tokens", "max_tokens"];
        let own = self.host.address() == BASE_URL;
        Server {
            model: &self.model,
            signer: &self.info.signer,
            max_output: self.max_output,
            limit_names: if own { limit_names } else { [limit_names[1], limit_names[0]] },
            strict_roles: request.strict_roles || self.info.strict_roles,
            reasoning: request.reasoning,
            quirks,
        }
    }

    async fn exchange(
        &self,
        body: Vec<u8>,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, Failure> {
        let request = self
            .host
            .post("/chat/completions", body)
            .header(header::ACCEPT, "text/event-stream, application/json");
        let response = self.send(request).await?;
        let (assembly, signer) = (Assembly::new(), &self.info.signer);
        self.host.read(response, assembly, signer, deltas).await.map_err(Failure::Error)
    }

    /// Sends a request with the key. Gives only answers with a status of success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let request = match self.host.key() {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        self.host.send(request).await
    }

    /// Learns from a refusal of fields that can be left out. True if another try makes sense.
    fn learn(&self, problem: &Problem, request: &ModelRequest, quirks: &Quirks) -> bool {
        let sent = optional_fields(request, &self.server(request, quirks));
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
            let body = render(request, &self.server(request, &quirks))
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

/// The part of an address below which the dialect's paths are.
fn root(address: &str) -> &str {
    address.trim_end_matches("/chat/completions")
}

#[cfg(test)]
#[path = "openai/reader_tests.rs"]
mod reader_tests;

#[cfg(test)]
#[path = "openai/wire_tests.rs"]
mod wire_tests;
