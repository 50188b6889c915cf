//! Anthropic's messages: what a request must be, and what an answer looks like. Refusals are made as
//! the real server makes them.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::check::Request;
use super::reply::{Answer, pieces};
use super::signing::{self, Signing};

/// The version that clients must name.
const VERSION: &str = "2023-06-01";
/// What a client must name to say what is done with reasoning that lost its place.
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// Fields that a request may have.
const FIELDS: [&str; 14] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "metadata",
    "thinking",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "output_config",
];

/// Why a request is not answered.
pub(super) enum Refusal {
    /// No client sends this: it is a failure of the test too.
    Fault(String),
    /// A server may say this to a client that did nothing wrong.
    Refused(String),
}

pub(super) fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

pub(super) fn all(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn unmarked(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("cache_control");
    }
    value
}

/// The messages in the shape of chat completions, and what a server compares of a request: the tools,
/// the instructions, and each block with whose it is.
pub(super) fn read(body: &Value) -> (Vec<Value>, Vec<String>) {
    let tools: Vec<Value> = all(&body["tools"]).iter().map(unmarked).collect();
    let mut elements = vec![Value::from(tools).to_string()];
    let (mut shown, mut system) = (Vec::new(), Vec::new());
    for block in all(&body["system"]) {
        elements.push(format!("system {}", unmarked(block)));
        system.push(word(block, "text"));
    }
    if !system.is_empty() {
        shown.push(json!({"role": "system", "content": system.join("\n")}));
    }
    for message in all(&body["messages"]) {
        let role = word(message, "role");
        let blocks: Vec<Value> = blocks(message).iter().map(unmarked).collect();
        elements.extend(blocks.iter().map(|block| format!("{role} {block}")));
        shown.extend(if role == "assistant" { vec![said(&blocks)] } else { heard(&blocks) });
    }
    (shown, elements)
}

fn said(blocks: &[Value]) -> Value {
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let calls: Vec<Value> = blocks
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(|call| {
            let function = json!({"name": call["name"], "arguments": call["input"].to_string()});
            json!({"id": call["id"], "type": "function", "function": function})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": texts.join("\n\n")});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn heard(blocks: &[Value]) -> Vec<Value> {
    let mut heard: Vec<Value> = Vec::new();
    for block in blocks {
        heard.push(match word(block, "type") {
            "tool_result" => json!({
                "role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"],
            }),
            _ => json!({"role": "user", "content": block["text"]}),
        });
    }
    heard
}

/// A refusal as this dialect says it.
pub(super) fn refusal(code: u16, message: &str) -> String {
    let kind = match code {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        500 => "api_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => "invalid_request_error",
    };
    let error = json!({"type": kind, "message": message});
    json!({"type": "error", "error": error, "request_id": "req_stand_in"}).to_string()
}

/// Looks at a request; the first thing that is wrong with it.
pub(super) fn look(
    request: &Request,
    headers: &HeaderMap,
    signing: Signing,
) -> Result<(), Refusal> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let version = header("anthropic-version");
    if version != VERSION {
        return Err(Refusal::Fault(format!(
            "anthropic-version: {version:?} is not a valid version"
        )));
    }
    let drops = request.body["thinking"].pointer("/block_binding/prefix_mismatch_behavior");
    let drops = drops.is_some_and(|drops| drops == "drop_block");
    if drops && !header("anthropic-beta").contains(BINDING_CONTROLS) {
        return Err(Refusal::Fault(
            "thinking.block_binding: Extra inputs are not permitted".into(),
        ));
    }
    for look in [head, marks, texts, turns] {
        look(&request.body).map_or(Ok(()), |fault| Err(Refusal::Fault(fault)))?;
    }
    signing::look(request, signing, drops)
}

fn head(body: &Value) -> Option<String> {
    if body["max_tokens"].as_u64().unwrap_or(0) == 0 {
        return Some("max_tokens: Field required".to_owned());
    }
    let known = |key: &&String| !FIELDS.contains(&key.as_str());
    if let Some(odd) = body.as_object().and_then(|fields| fields.keys().find(known)) {
        return Some(format!("{odd}: Extra inputs are not permitted"));
    }
    for (index, tool) in all(&body["tools"]).iter().enumerate() {
        if !is_plain(word(tool, "name")) || !tool["input_schema"].is_object() {
            return Some(format!("tools.{index}.custom: Field required"));
        }
    }
    None
}

fn marks(body: &Value) -> Option<String> {
    let of_messages = all(&body["messages"]).iter().flat_map(blocks).collect::<Vec<_>>();
    let marked = |block: &&Value| block.get("cache_control").is_some();
    if of_messages.iter().filter(marked).any(is_reasoning) {
        return Some("thinking.cache_control: Extra inputs are not permitted".to_owned());
    }
    let before = all(&body["tools"]).iter().chain(all(&body["system"])).filter(marked).count();
    let found = before + of_messages.iter().filter(marked).count();
    (found > 4).then(|| {
        format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")
    })
}

fn texts(body: &Value) -> Option<String> {
    let system = all(&body["system"]).iter().cloned();
    let of_messages = all(&body["messages"]).iter().flat_map(blocks);
    let mut texts = system.chain(of_messages).filter(|block| block["type"] == "text");
    let empty = texts.any(|block| word(&block, "text").trim().is_empty());
    empty.then(|| "messages: text content blocks must contain non-whitespace text".to_owned())
}

fn turns(body: &Value) -> Option<String> {
    let messages = all(&body["messages"]);
    if messages.is_empty() {
        return Some("messages: at least one message is required".to_owned());
    }
    let (mut owed, mut ids) = (Vec::<String>::new(), BTreeSet::new());
    for (index, message) in messages.iter().enumerate() {
        let (role, blocks) = (word(message, "role"), blocks(message));
        if role != ["user", "assistant"][index % 2] {
            return Some(format!(
                "messages.{index}: roles must alternate between user and assistant"
            ));
        }
        if blocks.is_empty() {
            return Some(format!("messages.{index}: content must not be empty"));
        }
        let fault = if role == "user" {
            results(&blocks, &mut owed)
        } else {
            calls(&blocks, &mut owed, &mut ids)
        };
        if let Some(fault) = fault {
            return Some(format!("messages.{index}: {fault}"));
        }
    }
    messages
        .len()
        .is_multiple_of(2)
        .then(|| "the conversation must end with a user message".to_owned())
}

fn results(blocks: &[Value], owed: &mut Vec<String>) -> Option<String> {
    let mut said = false;
    for block in blocks {
        if block["type"] != "tool_result" {
            said = true;
            continue;
        }
        let id = word(block, "tool_use_id");
        let Some(place) = owed.iter().position(|owed| owed == id) else {
            return Some(format!("unexpected `tool_use_id` found in `tool_result` blocks: {id}"));
        };
        if said {
            return Some("`tool_result` blocks must come before all other content".to_owned());
        }
        owed.remove(place);
    }
    let open = std::mem::take(owed);
    (!open.is_empty()).then(|| {
        let open = open.join(", ");
        format!("`tool_use` ids were found without `tool_result` blocks immediately after: {open}")
    })
}

fn calls(blocks: &[Value], owed: &mut Vec<String>, ids: &mut BTreeSet<String>) -> Option<String> {
    if blocks.last().is_some_and(is_reasoning) {
        return Some("The final block in an assistant message cannot be `thinking`.".to_owned());
    }
    for call in blocks.iter().filter(|block| block["type"] == "tool_use") {
        let id = word(call, "id");
        if !is_plain(id) || !is_plain(word(call, "name")) {
            return Some(format!(
                "tool_use {call}: String should match pattern '^[a-zA-Z0-9_-]+$'"
            ));
        }
        if !call["input"].is_object() {
            return Some("tool_use.input: Input should be a valid dictionary".to_owned());
        }
        if !ids.insert(id.to_owned()) {
            return Some("`tool_use` ids must be unique".to_owned());
        }
        owed.push(id.to_owned());
    }
    None
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.bytes().all(plain)
}

pub(super) fn is_reasoning(block: &Value) -> bool {
    matches!(word(block, "type"), "thinking" | "redacted_thinking")
}

/// An answer as it is streamed.
pub(super) fn events(
    answer: &Answer,
    request: &Request,
    number: u64,
    signing: Signing,
) -> Vec<String> {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", word(&data, "type"));
    let usage = json!({
        "input_tokens": 0, "cache_read_input_tokens": request.cached,
        "cache_creation_input_tokens": request.input - request.cached, "output_tokens": 1,
    });
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": request.body["model"], "content": [], "stop_reason": null, "usage": usage,
    });
    let mut events = vec![
        event(json!({"type": "message_start", "message": message})),
        event(json!({"type": "ping"})),
    ];
    let mut index = 0;
    let mut block = |block: Value, deltas: Vec<Value>| {
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        let mut one = vec![event(start)];
        for delta in deltas {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            one.push(event(data));
        }
        one.push(event(json!({"type": "content_block_stop", "index": index})));
        index += 1;
        one
    };
    if let Some(thought) = &answer.thinking {
        let mut deltas: Vec<Value> = pieces(thought, 9)
            .iter()
            .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
            .collect();
        let signature = signing::signature(thought, signing.key, &request.elements);
        deltas.push(json!({"type": "signature_delta", "signature": signature}));
        events.extend(block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas));
    }
    let mut first = json!({"type": "text", "text": ""});
    for (key, value) in answer.extra.iter().filter_map(Value::as_object).flatten() {
        first[key] = value.clone();
    }
    if !answer.text.is_empty() || answer.extra.is_some() && answer.calls.is_empty() {
        let text = |piece: &String| json!({"type": "text_delta", "text": piece});
        events.extend(block(first, pieces(&answer.text, 7).iter().map(text).collect()));
    }
    for (at, (name, arguments)) in answer.calls.iter().enumerate() {
        let id = format!("toolu_{number}_{at}");
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let input = |piece: &String| json!({"type": "input_json_delta", "partial_json": piece});
        events.extend(block(call, pieces(arguments, 11).iter().map(input).collect()));
    }
    if let Some(kind) = answer.failing {
        let error = json!({"type": kind, "message": "it failed"});
        events.push(event(json!({"type": "error", "error": error})));
        return events;
    }
    if answer.truncated {
        return events;
    }
    let stop = match answer.finish {
        None if answer.calls.is_empty() => "end_turn",
        None => "tool_use",
        Some("length") => "max_tokens",
        Some("content_filter") => "refusal",
        Some(other) => other,
    };
    let usage = json!({"output_tokens": answer.text.len() / 4 + 1});
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(event(json!({"type": "message_delta", "delta": delta, "usage": usage})));
    events.push(event(json!({"type": "message_stop"})));
    events
}
