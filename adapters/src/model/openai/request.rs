//! The request as bytes: a pure function of the stored rows and of what is known of the server.
//!
//! Fields have one order and `messages` is the last of them, so that a request begins with the bytes
//! of the one before it. Each stored row is rendered from itself alone; only `strict_roles` joins
//! neighbours, and it joins them by what is stored.

use std::borrow::Cow;
use std::collections::BTreeSet;

use atlas_core::message::{Blocks, Body, Call};
use atlas_core::ports::{ModelRequest, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::quirks::Quirks;
use crate::model::arguments::{hex, sound};
use crate::model::render::{MEANWHILE, user_text};

/// The longest `prompt_cache_key` that the dialect's makers take.
const CACHE_KEY: usize = 64;

/// What a request depends on besides the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server<'a> {
    pub(super) model: &'a str,
    /// Whose blocks are replayed.
    pub(super) signer: &'a str,
    pub(super) max_output: Option<u32>,
    /// The names of the limit of output, the server's own first.
    pub(super) limit_names: [&'static str; 2],
    pub(super) strict_roles: bool,
    /// Messages are replayed with the reasoning in them.
    pub(super) reasoning: bool,
    pub(super) quirks: &'a Quirks,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Message<'a> {
    Plain {
        role: &'static str,
        content: Cow<'a, str>,
    },
    Assistant {
        role: &'static str,
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        role: &'static str,
        tool_call_id: String,
        content: Cow<'a, str>,
    },
    /// The provider's own message, byte for byte.
    Own(&'a RawValue),
    /// The provider's own message without what its server turned out not to take.
    OwnWithout(Map<String, Value>),
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: String,
    r#type: &'static str,
    function: FunctionCall<'a>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

/// A row on its way to a message: what `strict_roles` joins.
enum Line<'a> {
    User(Cow<'a, str>),
    Assistant { text: Cow<'a, str>, calls: &'a [Call], blocks: Option<&'a Blocks> },
    Tool { call: &'a str, text: Cow<'a, str> },
}

/// The body of the request.
///
/// # Errors
///
/// None that is known: every part of it is text or JSON.
pub(super) fn render(request: &ModelRequest, server: &Server<'_>) -> serde_json::Result<Vec<u8>> {
    let quirks = server.quirks;
    let limit = |name: &str| server.max_output.filter(|_| server.limit_name() == Some(name));
    let system = Message::Plain { role: "system", content: solid(&request.system, "(none)") };
    let lines = lines(request, server.strict_roles);
    let mut messages = Vec::with_capacity(lines.len() + 1);
    messages.push(system);
    messages.extend(lines.into_iter().map(|line| message(line, server)));
    serde_json::to_vec(&Request {
        model: server.model,
        stream: true,
        stream_options: quirks
            .takes("stream_options")
            .then_some(StreamOptions { include_usage: true }),
        max_completion_tokens: limit("max_completion_tokens"),
        max_tokens: limit("max_tokens"),
        prompt_cache_key: cache_key(request).filter(|_| quirks.takes("prompt_cache_key")),
        tools: request.tools.iter().map(tool).collect(),
        messages,
    })
}

impl Server<'_> {
    /// What the limit of output is called here; None where neither name is taken.
    fn limit_name(&self) -> Option<&'static str> {
        self.limit_names.into_iter().find(|name| self.quirks.takes(name))
    }
}

/// The fields that a request holds and can do without.
pub(super) fn optional_fields(request: &ModelRequest, server: &Server<'_>) -> BTreeSet<String> {
    const KNOWN: [&str; 7] =
        ["role", "content", "tool_calls", "id", "type", "function", "tool_call_id"];
    let mut fields: BTreeSet<String> =
        ["stream_options", "prompt_cache_key"].map(str::to_owned).into();
    if server.max_output.is_some() {
        fields.extend(server.limit_name().map(str::to_owned));
    }
    for body in &request.messages {
        let Body::Assistant { blocks: Some(blocks), .. } = &**body else { continue };
        if blocks.signer == server.signer
            && let Ok(message) = serde_json::from_str::<Map<String, Value>>(&blocks.raw)
        {
            let calls = message.get("tool_calls").and_then(Value::as_array);
            let calls = calls.into_iter().flatten().filter_map(Value::as_object);
            fields.extend(calls.chain([&message]).flat_map(|map| map.keys().cloned()));
        }
    }
    KNOWN.iter().for_each(|known| {
        fields.remove(*known);
    });
    fields
}

fn cache_key(request: &ModelRequest) -> Option<Cow<'_, str>> {
    let key = request.cache_key.as_str();
    let key = if key.len() > CACHE_KEY { hex(key, CACHE_KEY).into() } else { key.into() };
    Some(key).filter(|key: &Cow<'_, str>| !key.is_empty())
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function =
        Function { name: &spec.name, description: &spec.description, parameters: &spec.schema };
    Tool { r#type: "function", function }
}

fn lines(request: &ModelRequest, strict_roles: bool) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::with_capacity(request.messages.len());
    for body in &request.messages {
        let next = line(body);
        let next = match lines.last_mut() {
            Some(last) if strict_roles => join(last, next),
            _ => Some(next),
        };
        lines.extend(next);
    }
    lines
}

fn line(body: &Body) -> Line<'_> {
    match body {
        Body::User { parts } => {
            let text = user_text(parts);
            Line::User(if text.trim().is_empty() {
                "(an empty message)".into()
            } else {
                text.into()
            })
        }
        Body::Assistant { text, calls, blocks } => {
            Line::Assistant { text: text.into(), calls, blocks: blocks.as_ref() }
        }
        Body::Tool { call, text, .. } => Line::Tool { call, text: solid(text, "(no output)") },
    }
}

/// Puts `next` into `last` where a strict server would not take it after it; else gives it back.
fn join<'a>(last: &mut Line<'a>, next: Line<'a>) -> Option<Line<'a>> {
    match (last, next) {
        (Line::User(held), Line::User(more)) => *held = format!("{held}\n\n{more}").into(),
        (Line::Tool { text, .. }, Line::User(more)) => {
            *text = format!("{text}\n\n{MEANWHILE}\n{more}").into();
        }
        (
            Line::Assistant { text, calls, blocks },
            Line::Assistant { text: more, calls: more_calls, .. },
        ) if calls.is_empty() => {
            *text = format!("{text}\n\n{more}").trim().to_owned().into();
            *calls = more_calls;
            *blocks = None;
        }
        (_, next) => return Some(next),
    }
    None
}

fn message<'a>(line: Line<'a>, server: &Server<'_>) -> Message<'a> {
    match line {
        Line::User(content) => Message::Plain { role: "user", content },
        Line::Tool { call, text } => {
            Message::Tool { role: "tool", tool_call_id: server.quirks.id(call), content: text }
        }
        Line::Assistant { text, calls, blocks } => blocks
            .filter(|_| server.reasoning)
            .and_then(|blocks| own(blocks, calls, server))
            .unwrap_or_else(|| foreign(text, calls, server.quirks)),
    }
}

/// An assistant's message out of its words and calls, for whoever did not write it.
fn foreign<'a>(text: Cow<'a, str>, calls: &'a [Call], quirks: &Quirks) -> Message<'a> {
    let content = match text.trim().is_empty() {
        true if calls.is_empty() => Some("(no answer)".into()),
        true => None,
        false => Some(text),
    };
    let tool_calls = calls.iter().map(|call| tool_call(call, quirks)).collect();
    Message::Assistant { role: "assistant", content, tool_calls }
}

fn tool_call<'a>(call: &'a Call, quirks: &Quirks) -> ToolCall<'a> {
    let name = if call.name.is_empty() { "unknown" } else { &call.name };
    let function = FunctionCall { name, arguments: sound(&call.arguments) };
    ToolCall { id: quirks.id(&call.id), r#type: "function", function }
}

/// The provider's own message, if this server wrote it and it holds just these calls: a transcript
/// that was mended is no longer what it wrote.
fn own<'a>(blocks: &'a Blocks, calls: &[Call], server: &Server<'_>) -> Option<Message<'a>> {
    #[derive(Deserialize)]
    struct Ids {
        #[serde(default)]
        tool_calls: Vec<Id>,
    }
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    if blocks.signer != server.signer {
        return None;
    }
    let ids: Ids = serde_json::from_str(&blocks.raw).ok()?;
    if !ids.tool_calls.iter().map(|call| &call.id).eq(calls.iter().map(|call| &call.id)) {
        return None;
    }
    if server.quirks.takes_everything() {
        return serde_json::from_str(&blocks.raw).ok().map(Message::Own);
    }
    let mut message: Map<String, Value> = serde_json::from_str(&blocks.raw).ok()?;
    leave_out(&mut message, server.quirks);
    Some(Message::OwnWithout(message))
}

fn leave_out(message: &mut Map<String, Value>, quirks: &Quirks) {
    message.retain(|key, _| quirks.takes(key));
    let Some(Value::Array(calls)) = message.get_mut("tool_calls") else { return };
    for call in calls.iter_mut().filter_map(Value::as_object_mut) {
        call.retain(|key, _| quirks.takes(key));
        if let Some(Value::String(id)) = call.get_mut("id") {
            *id = quirks.id(id);
        }
    }
}

/// Text that a server takes: not empty.
fn solid<'a>(text: &'a str, instead: &'a str) -> Cow<'a, str> {
    if text.trim().is_empty() { instead.into() } else { text.into() }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
