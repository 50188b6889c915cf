//! One answer out of the events of a stream: a state machine without I/O.
//!
//! Blocks are assembled once, here, and stored; their bytes are what is replayed. Blocks and fields
//! that nobody told us of stay in them, in the order in which they first came.

use std::collections::BTreeMap;

use atlas_core::message::{Blocks, Call};
use atlas_core::ports::{Answer, End, ModelError, Tokens};
use serde_json::{Map, Value};

use crate::model::arguments::{fresh_id, is_object, mended, sound};
use crate::model::merge::merge;
use crate::model::problem::Problem;
use crate::model::reader::Assemble;

/// An answer, growing.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// By the server's index.
    blocks: BTreeMap<u64, Block>,
    /// The block whose text was shown last.
    shown: Option<u64>,
    reason: Option<String>,
    done: bool,
    usage: Usage,
}

/// A block, growing.
#[derive(Debug, Default)]
struct Block {
    fields: Map<String, Value>,
    /// The pieces of its input, as they are written.
    input: String,
    /// The server said that it is whole.
    closed: bool,
}

/// Tokens as this server counts them: what it read from the cache and wrote to it is no part of its
/// `input`.
#[derive(Debug, Default)]
struct Usage {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
}

impl Assemble for Assembly {
    fn event(&mut self, name: &str, mut data: Value) -> Result<String, ModelError> {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(name).to_owned();
        let index = data.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind.as_str() {
            "error" => return Err(failure(&data)),
            "message_start" => self.usage.add(data.pointer("/message/usage")),
            "content_block_start" => {
                if let Some(Value::Object(block)) = data.get_mut("content_block").map(Value::take) {
                    return Ok(self.start(index, block));
                }
            }
            "content_block_delta" => {
                if let Some(Value::Object(delta)) = data.get_mut("delta").map(Value::take) {
                    return Ok(self.grow(index, delta));
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.blocks.get_mut(&index) {
                    block.closed = true;
                }
            }
            "message_delta" => {
                self.usage.add(data.get("usage"));
                self.end(data.pointer("/delta/stop_reason"));
            }
            "message_stop" => self.done = true,
            // `ping`, and what nobody knows.
            _ => {}
        }
        Ok(String::new())
    }

    fn whole(&mut self, mut answer: Value) -> Result<String, ModelError> {
        if answer.get("error").is_some() {
            return Err(failure(&answer));
        }
        let Some(Value::Array(blocks)) = answer.get_mut("content").map(Value::take) else {
            let why = "its answer holds no message; is base_url the address of a Messages server?";
            return Err(ModelError::Refused(why.to_owned()));
        };
        let mut shown = String::new();
        for (index, block) in (0..).zip(blocks) {
            if let Value::Object(block) = block {
                shown.push_str(&self.start(index, block));
            }
        }
        self.blocks.values_mut().for_each(|block| block.closed = true);
        self.usage.add(answer.get("usage"));
        self.end(answer.get("stop_reason"));
        self.reason.get_or_insert_with(|| "end_turn".to_owned());
        self.done = true;
        Ok(shown)
    }

    fn has_ended(&self) -> bool {
        self.reason.is_some()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    /// Without a reason the stream broke off, and half an answer is none.
    fn finish(self, signer: &str) -> Result<Answer, ModelError> {
        let Some(reason) = &self.reason else {
            let what =
                if self.shown.is_none() { "before anything was said" } else { "in the middle" };
            return Err(ModelError::Truncated(format!("the stream ended {what}")));
        };
        let end = end(reason);
        let (text, tokens) = (self.text(), self.usage.tokens());
        let (mut calls, mut content) = (Vec::<Call>::new(), Vec::new());
        let mut sayable = 0;
        for block in self.blocks.into_values() {
            let kind = block.kind().to_owned();
            match kind.as_str() {
                "tool_use" => {
                    let Some((call, json)) = block.call(end != End::Finished, &calls) else {
                        continue;
                    };
                    calls.push(call);
                    content.push(json);
                }
                "text" if block.text().trim().is_empty() => continue,
                _ => content.push(block.json()),
            }
            // Reasoning that nothing follows is taken back by no server.
            if !is_reasoning(&kind) {
                sayable = content.len();
            }
        }
        content.truncate(sayable);
        let blocks = (!content.is_empty()).then(|| Blocks {
            signer: signer.to_owned(),
            raw: format!(r#"{{"role":"assistant","content":[{}]}}"#, content.join(",")),
        });
        Ok(Answer { text, calls, blocks, end, tokens })
    }
}

impl Assembly {
    /// Begins a block. Gives the text to show.
    fn start(&mut self, index: u64, fields: Map<String, Value>) -> String {
        let block = Block { fields, ..Block::default() };
        let text = if block.kind() == "text" { block.text().to_owned() } else { String::new() };
        self.blocks.insert(index, block);
        self.show(index, text)
    }

    /// Adds to a block. Gives the text to show.
    fn grow(&mut self, index: u64, mut delta: Map<String, Value>) -> String {
        let kind = match delta.remove("type") {
            Some(Value::String(kind)) => kind,
            _ => String::new(),
        };
        let block = self.blocks.entry(index).or_insert_with(|| Block::of(&kind));
        let is_text = kind == "text_delta" && block.kind() == "text";
        let shown = match delta.get("text") {
            Some(Value::String(text)) if is_text => text.clone(),
            _ => String::new(),
        };
        for (key, value) in delta {
            match (kind.as_str(), key.as_str(), value) {
                ("input_json_delta", "partial_json", Value::String(piece)) => {
                    block.input.push_str(&piece);
                }
                ("citations_delta", "citation", citation) => {
                    match block.fields.get_mut("citations") {
                        Some(Value::Array(held)) => held.push(citation),
                        _ => {
                            block.fields.insert("citations".to_owned(), vec![citation].into());
                        }
                    }
                }
                // It comes whole, and never in halves.
                ("signature_delta", _, value) => {
                    block.fields.insert(key, value);
                }
                (_, _, value) => merge(&mut block.fields, &key, value),
            }
        }
        self.show(index, shown)
    }

    /// The text that is shown of a piece: two texts with something between them are two paragraphs.
    fn show(&mut self, index: u64, text: String) -> String {
        if text.is_empty() {
            return text;
        }
        let parted = self.shown.is_some_and(|shown| self.are_parted(shown, index));
        self.shown = Some(index);
        if parted { format!("\n\n{text}") } else { text }
    }

    fn are_parted(&self, one: u64, other: u64) -> bool {
        one < other && self.blocks.range(one..other).any(|(_, block)| block.kind() != "text")
    }

    /// The answer's text, as it was shown.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut last = None;
        for (index, block) in self.blocks.iter().filter(|(_, block)| block.kind() == "text") {
            if block.text().is_empty() {
                continue;
            }
            if last.is_some_and(|last| self.are_parted(last, *index)) {
                text.push_str("\n\n");
            }
            text.push_str(block.text());
            last = Some(*index);
        }
        text
    }

    fn end(&mut self, reason: Option<&Value>) {
        if let Some(reason) = reason.and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            self.reason = Some(reason.to_owned());
        }
    }
}

impl Block {
    /// A block whose beginning never came.
    fn of(delta: &str) -> Self {
        let kind = match delta {
            "thinking_delta" | "signature_delta" => "thinking",
            "input_json_delta" => "tool_use",
            _ => "text",
        };
        let mut fields = Map::new();
        fields.insert("type".to_owned(), kind.into());
        Self { fields, ..Self::default() }
    }

    fn kind(&self) -> &str {
        self.field("type")
    }

    fn text(&self) -> &str {
        self.field("text")
    }

    fn field(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The input as the model wrote it: in pieces, or whole at the beginning.
    fn written(&self) -> String {
        match self.fields.get("input") {
            Some(input) if self.input.is_empty() => input.to_string(),
            _ => self.input.clone(),
        }
    }

    /// The call and its block, each with a name and an id of its own. Of a cut answer, None where the
    /// input is not whole: half a call is worth nothing.
    fn call(mut self, cut: bool, others: &[Call]) -> Option<(Call, String)> {
        let (name, written) = (self.field("name").trim().to_owned(), self.written());
        let is_whole = if self.input.is_empty() { self.closed } else { is_object(&self.input) };
        if name.is_empty() || cut && !is_whole {
            return None;
        }
        let mut id = self.field("id").to_owned();
        if id.is_empty() || others.iter().any(|other| other.id == id) {
            id = fresh_id();
            self.fields.insert("id".to_owned(), id.clone().into());
        }
        let arguments = mended(&written).into_owned();
        Some((Call { id, name, arguments }, self.json()))
    }

    /// The block as it is replayed. Its input keeps the model's own bytes where they are an object.
    fn json(&self) -> String {
        let mut json = String::from("{");
        let written = self.written();
        let input = (!written.is_empty()).then(|| sound(&written));
        let mut push = |key: &str, value: &str| {
            let comma = if json.len() > 1 { "," } else { "" };
            json.push_str(&format!("{comma}{}:{value}", Value::from(key)));
        };
        for (key, value) in &self.fields {
            match &input {
                Some(input) if key == "input" => push(key, input),
                _ => push(key, &value.to_string()),
            }
        }
        if let Some(input) = input.filter(|_| !self.fields.contains_key("input")) {
            push("input", &input);
        }
        json.push('}');
        json
    }
}

impl Usage {
    /// Takes the counts that are there; later ones stand for the whole answer too.
    fn add(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        for (key, held) in [
            ("input_tokens", &mut self.input),
            ("cache_read_input_tokens", &mut self.cached),
            ("cache_creation_input_tokens", &mut self.cache_write),
            ("output_tokens", &mut self.output),
        ] {
            if let Some(count) = usage.get(key).and_then(Value::as_u64) {
                *held = count;
            }
        }
    }

    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input + self.cached + self.cache_write,
            cached: self.cached,
            cache_write: self.cache_write,
            output: self.output,
        }
    }
}

/// Whether it is reasoning, which is bound to its signature.
pub(super) fn is_reasoning(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

fn failure(data: &Value) -> ModelError {
    Problem::in_stream(data).into_error(None)
}

/// Why an answer ended. Words that nobody knows are an end like any other.
fn end(reason: &str) -> End {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => End::Length,
        "refusal" => End::Refusal,
        "pause_turn" => End::Paused,
        // `end_turn`, `tool_use`, `stop_sequence`.
        _ => End::Finished,
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
