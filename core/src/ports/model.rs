//! A language model behind a server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::ModelName;
use crate::message::{Blocks, Body, Call};

/// What is known of a configured model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its key in the configuration.
    pub name: ModelName,
    /// Who can read its blocks again: dialect, server and model in one string ([`Blocks::signer`]).
    pub signer: String,
    /// Tokens of input and output together. None where nobody said.
    pub window: Option<u32>,
    /// `strict_roles` of the configuration.
    pub strict_roles: bool,
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for and how to call it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: serde_json::Value,
}

/// What a model is asked. The adapter renders it by a pure function: the same rows give the same
/// bytes, so what was sent once is a prefix of what is sent next.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The instructions.
    pub system: Arc<str>,
    /// The tools, the same for the whole conversation.
    pub tools: Arc<[ToolSpec]>,
    /// The transcript, mended: each call has exactly one result, and nothing is empty.
    pub messages: Vec<Arc<Body>>,
    /// Render a user message that follows tool results inside the last result.
    pub strict_roles: bool,
    /// Replay the reasoning of earlier answers. Off for the rest of a turn in which a server refused it
    /// ([`ModelError::Signature`]); then earlier answers are words and calls.
    pub reasoning: bool,
    /// What the conversation's requests have in common, for servers that route by it.
    pub cache_key: String,
}

/// A piece of an answer on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More of the answer's text.
    Text(String),
}

/// A whole answer. Never half a one: a stream that broke off is [`ModelError::Truncated`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text, empty where there are only calls.
    pub text: String,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The message to replay.
    pub blocks: Option<Blocks>,
    /// Why it ended.
    pub end: End,
    /// What it cost.
    pub tokens: Tokens,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was finished, or waits for the results of its calls.
    Finished,
    /// The limit of output was reached, perhaps inside a call.
    Length,
    /// The model refused.
    Refusal,
    /// The server paused a long answer.
    Paused,
    /// A filter of the provider took the answer away.
    ContentFilter,
}

/// Tokens as the provider counted them; all zero where it did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input in all, cached included.
    pub input: u64,
    /// Of the input, served from the cache.
    pub cached: u64,
    /// Of the input, written to the cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
}

/// Why there is no answer, by status and code, never by words in the chat.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// 429, or overloaded: later, or another model.
    #[error("the model's server is busy: {reason}")]
    Busy {
        /// What the server asks to wait.
        retry_after: Option<Duration>,
        /// The provider's words.
        reason: String,
    },
    /// No connection, a 5xx, a stream that stood still.
    #[error("the model's server cannot be reached: {0}")]
    Unreachable(String),
    /// The stream broke off. What came of it is worth nothing.
    #[error("the answer broke off: {0}")]
    Truncated(String),
    /// 401 or 403: the key.
    #[error("the model's server refuses the key: {0}")]
    Auth(String),
    /// 402, or a quota that is used up: the account.
    #[error("the model's account has no credit: {0}")]
    Payment(String),
    /// The request is longer than the window.
    #[error("the conversation is too long for the model: {0}")]
    Overflow(String),
    /// The server wants strictly alternating roles.
    #[error("the model's server wants strict roles: {0}")]
    StrictRoles(String),
    /// The server refuses reasoning that was replayed to it: its signature, or its place.
    #[error("the model's server refuses its own reasoning: {0}")]
    Signature(String),
    /// Any other refusal: the same request would be refused again.
    #[error("the model's server refuses the request: {0}")]
    Refused(String),
}

/// One configured model.
#[async_trait]
pub trait ModelClient: Send + Sync + 'static {
    /// What is known of it.
    fn info(&self) -> &ModelInfo;

    /// Asks once, without retries of its own. `deltas` hears the text as it comes.
    ///
    /// # Errors
    ///
    /// See [`ModelError`]; after an error nothing that `deltas` heard counts.
    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError>;
}
