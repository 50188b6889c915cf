//! Language models, one file a dialect. A dialect renders requests and reads answers; when to ask,
//! whom to ask instead, and how often, is core's.

pub mod offline;
pub mod openai;
mod render;
mod sse;

pub use offline::Offline;
pub use openai::{OpenAi, OpenAiConfig};
