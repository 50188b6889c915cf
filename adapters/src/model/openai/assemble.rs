//! One answer out of the chunks of a stream: a state machine without I/O.
//!
//! The message is assembled once, here, and stored; its bytes are what is replayed. Fields that
//! nobody told us of stay in it, in the order in which they first came.

use atlas_core::message::Blocks;
use atlas_core::ports::{Answer, End, ModelError, Tokens};
use serde_json::{Map, Value};

use super::calls::Calls;
use super::thinking::{Thinking, after_stray_close};
use crate::model::merge::merge;
use crate::model::problem::Problem;
use crate::model::reader::Assemble;

/// An answer, growing.
#[derive(Debug)]
pub(super) struct Assembly {
    /// Top-level fields in the order of first appearance. `content` holds the raw content;
    /// `tool_calls` only keeps its place until the end.
    message: Map<String, Value>,
    thinking: Thinking,
    text: String,
    refusal: String,
    calls: Calls,
    reason: Option<String>,
    tokens: Tokens,
    /// It comes in pieces: a whole message beside them says nothing new.
    in_pieces: bool,
}

impl Assembly {
    pub(super) fn new() -> Self {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        Self {
            message,
            thinking: Thinking::new(),
            text: String::new(),
            refusal: String::new(),
            calls: Calls::default(),
            reason: None,
            tokens: Tokens::default(),
            in_pieces: false,
        }
    }

    /// Takes a chunk of the stream, or a whole answer that was not streamed. Gives the text to show.
    ///
    /// An error object in the chunk is the server's failure, and ends the answer.
    pub(super) fn add(&mut self, mut chunk: Value) -> Result<String, ModelError> {
        if let Some(error) = chunk.get("error").filter(|error| !is_nothing(error)) {
            return Err(Problem::in_stream(error).into_error(None));
        }
        if chunk.get("object").and_then(Value::as_str) == Some("error") {
            return Err(Problem::in_stream(&chunk).into_error(None));
        }
        self.add_usage(&chunk);
        let choice = match chunk.get_mut("choices") {
            Some(Value::Array(choices)) => choices.iter_mut().find(|choice| is_first(choice)),
            _ => None,
        };
        let Some(choice) = choice else { return Ok(String::new()) };
        self.add_usage(choice);
        if let Some(error) = choice.get("error").filter(|error| !is_nothing(error)) {
            return Err(Problem::in_stream(error).into_error(None));
        }
        let mut shown = String::new();
        match (take_object(choice, "delta"), take_object(choice, "message")) {
            (Some(delta), _) if !delta.is_empty() => {
                self.in_pieces = true;
                shown = self.add_delta(delta);
            }
            // Some servers repeat the message so far beside each piece of it.
            (_, Some(message)) if !self.in_pieces => shown = self.add_delta(message),
            _ => {}
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.reason = Some(reason.to_owned());
        }
        Ok(shown)
    }

    fn add_delta(&mut self, delta: Map<String, Value>) -> String {
        let mut shown = String::new();
        for (key, value) in delta {
            match key.as_str() {
                "role" => {}
                "content" => shown.push_str(&self.add_content(value)),
                "refusal" => {
                    self.refusal.push_str(value.as_str().unwrap_or_default());
                    shown.push_str(value.as_str().unwrap_or_default());
                    merge(&mut self.message, &key, value);
                }
                "tool_calls" => self.add_calls(|calls| calls.add(value)),
                "function_call" => self.add_calls(|calls| calls.add_function(value)),
                _ => merge(&mut self.message, &key, value),
            }
        }
        shown
    }

    fn add_calls(&mut self, add: impl FnOnce(&mut Calls)) {
        add(&mut self.calls);
        if !self.calls.is_empty() {
            self.message.entry("tool_calls").or_insert(Value::Null);
        }
    }

    /// Content is text, or a list of parts of which some are text.
    fn add_content(&mut self, content: Value) -> String {
        let text = match &content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(text_part).collect(),
            _ => String::new(),
        };
        self.message.entry("content").or_insert(Value::Null);
        merge(&mut self.message, "content", content);
        let answer = self.thinking.push(&text);
        self.text.push_str(&answer);
        answer
    }

    fn add_usage(&mut self, holder: &Value) {
        let usage = [holder.get("usage"), holder.pointer("/x_groq/usage")];
        if let Some(usage) = usage.into_iter().flatten().find(|usage| usage.is_object()) {
            self.tokens = tokens(usage);
        }
    }

    /// The whole answer. `signer` is whose the message is.
    ///
    /// Without a reason the stream broke off, and half an answer is none.
    pub(super) fn finish(mut self, signer: &str) -> Result<Answer, ModelError> {
        let Some(reason) = self.reason.take() else {
            let what =
                if self.text.is_empty() { "before anything was said" } else { "in the middle" };
            return Err(ModelError::Truncated(format!("the stream ended {what}")));
        };
        let mut end = end(&reason)?;
        let held_back = std::mem::replace(&mut self.thinking, Thinking::Answer).finish();
        self.text.push_str(&held_back);
        let mut text = after_stray_close(&self.text).to_owned();
        if !self.refusal.is_empty() && end == End::Finished {
            end = End::Refusal;
        }
        if text.trim().is_empty() {
            text = std::mem::take(&mut self.refusal);
        }
        let whole = std::mem::take(&mut self.calls).finish(end != End::Finished);
        let (calls, json) = whole.into_iter().map(|whole| (whole.call, whole.json)).unzip();
        let tokens = self.tokens;
        let blocks = self.message(json).map(|raw| Blocks { signer: signer.to_owned(), raw });
        Ok(Answer { text, calls, blocks, end, tokens })
    }

    /// The message as JSON, None where there is nothing to replay.
    fn message(mut self, calls: Vec<Value>) -> Option<String> {
        if calls.is_empty() {
            self.message.shift_remove("tool_calls");
        } else {
            self.message.insert("tool_calls".to_owned(), calls.into());
        }
        if self.message.get("content").and_then(Value::as_str) == Some("") {
            self.message.insert("content".to_owned(), Value::Null);
        }
        let has_content = self.message.get("content").is_some_and(|content| !content.is_null());
        let has = |key: &str| self.message.contains_key(key);
        if !(has_content || has("tool_calls") || has("refusal")) {
            return None;
        }
        if !has("content") {
            self.message.shift_insert(1, "content".to_owned(), Value::Null);
        }
        serde_json::to_string(&self.message).ok()
    }
}

impl Assemble for Assembly {
    fn event(&mut self, name: &str, data: Value) -> Result<String, ModelError> {
        if name == "error" && data.get("error").is_none() {
            return Err(Problem::in_stream(&data).into_error(None));
        }
        self.add(data)
    }

    /// An answer that came in one piece is whole, whether or not it says why it ended.
    fn whole(&mut self, answer: Value) -> Result<String, ModelError> {
        let answered = answer.pointer("/choices/0/message").is_some();
        let shown = self.add(answer)?;
        if !answered {
            let why = "its answer holds no message; is base_url the address of a chat-completions server?";
            return Err(ModelError::Refused(why.to_owned()));
        }
        self.reason.get_or_insert_with(|| "stop".to_owned());
        Ok(shown)
    }

    /// Whether the server said why the answer ended: only its costs can still come.
    fn has_ended(&self) -> bool {
        self.reason.is_some()
    }

    /// Its reader knows the word.
    fn is_done(&self) -> bool {
        false
    }

    fn finish(self, signer: &str) -> Result<Answer, ModelError> {
        Self::finish(self, signer)
    }
}

fn take_object(choice: &mut Value, key: &str) -> Option<Map<String, Value>> {
    match choice.get_mut(key).map(Value::take) {
        Some(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Other choices than the first are not asked for, and not read.
fn is_first(choice: &Value) -> bool {
    choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0
}

fn is_nothing(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn text_part(part: &Value) -> Option<&str> {
    match part {
        Value::String(text) => Some(text),
        Value::Object(part) => {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
            let text = part.get("text").and_then(Value::as_str);
            text.filter(|_| matches!(kind, "text" | "output_text"))
        }
        _ => None,
    }
}

/// Why an answer ended, in the words of every server that is known. Words that nobody knows are an
/// end like any other.
fn end(reason: &str) -> Result<End, ModelError> {
    let broken = |why: &str| Err(ModelError::Truncated(why.to_owned()));
    match reason.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => Ok(End::Length),
        "content_filter" | "safety" | "sensitive" | "prohibited_content" | "blocklist" | "spii"
        | "recitation" => Ok(End::ContentFilter),
        "refusal" => Ok(End::Refusal),
        "pause_turn" => Ok(End::Paused),
        "error" | "network_error" => broken("the server reports an error in the middle"),
        "abort" | "aborted" | "cancelled" => broken("the server gave the answer up"),
        "insufficient_system_resource" => Err(ModelError::Busy {
            retry_after: None,
            reason: "the server ran out of resources".to_owned(),
        }),
        _ => Ok(End::Finished),
    }
}

fn tokens(usage: &Value) -> Tokens {
    let first = |paths: &[&str]| {
        let found = paths.iter().filter_map(|path| usage.pointer(path)).find_map(count);
        found.unwrap_or(0)
    };
    Tokens {
        input: first(&["/prompt_tokens", "/input_tokens"]),
        cached: first(&[
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ]),
        cache_write: first(&[
            "/prompt_tokens_details/cache_write_tokens",
            "/cache_creation_input_tokens",
        ]),
        output: first(&["/completion_tokens", "/output_tokens"]),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of tokens, made whole; the cast saturates"
)]
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|float| float.max(0.0) as u64))
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
