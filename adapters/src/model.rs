//! Language models, one file a dialect. A dialect renders requests and reads answers; when to ask,
//! whom to ask instead, and how often, is core's.

pub mod anthropic;
mod arguments;
mod host;
mod merge;
pub mod offline;
pub mod openai;
mod problem;
mod reader;
mod render;
#[cfg(test)]
mod scripted;
mod sse;

pub use anthropic::{Anthropic, AnthropicConfig, CacheTtl};
pub use offline::Offline;
pub use openai::{OpenAi, OpenAiConfig};
