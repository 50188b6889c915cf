//! Chat completions: what a request must be, and what an answer looks like.

use serde_json::{Value, json};

use super::check::Request;
use super::reply::{Answer, pieces};

/// The messages, and what a server compares of a request.
pub(super) fn read(body: &Value) -> (Vec<Value>, Vec<String>) {
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let tools = body["tools"].to_string();
    let elements = std::iter::once(tools).chain(messages.iter().map(Value::to_string)).collect();
    (messages, elements)
}

/// A refusal as this dialect says it.
pub(super) fn refusal(code: u16, message: &str) -> String {
    let kind = match code {
        400 | 404 => "invalid_request_error",
        401 => "invalid_api_key",
        402 => "insufficient_credit",
        429 => "rate_limit_exceeded",
        _ => "error",
    };
    json!({"error": {"message": message, "type": kind, "code": kind}}).to_string()
}

/// What no server should be sent.
pub(super) fn faults(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let Some(messages) = body["messages"].as_array() else {
        return vec!["no messages".to_owned()];
    };
    let mut open: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("?");
        if role != "tool" && !open.is_empty() {
            faults.push(format!("message {index} ({role}) comes before the results of {open:?}"));
            open.clear();
        }
        match role {
            "system" if index == 0 => faults.extend(empty(message, index)),
            "system" => faults.push(format!("message {index}: a system message that is not first")),
            "user" => faults.extend(empty(message, index)),
            "assistant" => faults.extend(assistant(message, index, &mut open)),
            "tool" => {
                faults.extend(empty(message, index));
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                match open.iter().position(|call| call == id) {
                    Some(found) => drop(open.remove(found)),
                    None => {
                        faults.push(format!("message {index}: a result of no open call, {id:?}"))
                    }
                }
            }
            other => faults.push(format!("message {index}: role {other:?}")),
        }
    }
    if !open.is_empty() {
        faults.push(format!("the request ends before the results of {open:?}"));
    }
    if matches!(messages.last(), Some(last) if last["role"] == "assistant") {
        faults.push("the request ends with the assistant's own words".to_owned());
    }
    faults
}

fn empty(message: &Value, index: usize) -> Option<String> {
    let blank = match &message["content"] {
        Value::Array(parts) => {
            parts.is_empty()
                || parts.iter().any(|part| {
                    part["type"] == "text" && part["text"].as_str().is_none_or(str::is_empty)
                })
        }
        Value::String(text) => text.is_empty(),
        _ => true,
    };
    blank.then(|| format!("message {index} ({}) is empty", message["role"]))
}

fn assistant(message: &Value, index: usize, open: &mut Vec<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    if calls.is_empty() {
        faults.extend(empty(message, index));
        if message.get("tool_calls").is_some() {
            faults.push(format!("message {index}: an empty list of calls"));
        }
    }
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        if id.is_empty() || open.contains(&id) {
            faults.push(format!("message {index}: the call's id {id:?} is empty or given twice"));
        }
        if call["function"]["name"].as_str().is_none_or(str::is_empty) {
            faults.push(format!("message {index}: a call without a name"));
        }
        if !call["function"]["arguments"].is_string() {
            faults.push(format!("message {index}: arguments that are no text"));
        }
        open.push(id);
    }
    faults
}

/// Whether a server with strict roles takes it: after `system`, user and assistant take turns, and
/// only an assistant follows a tool's results.
pub(super) fn strict_roles(body: &Value) -> bool {
    let mut before = "assistant";
    for message in body["messages"].as_array().map_or(&[][..], Vec::as_slice) {
        let role = message["role"].as_str().unwrap_or_default();
        let fits = match role {
            "system" => true,
            "user" => before == "assistant",
            "assistant" => before != "assistant",
            "tool" => matches!(before, "assistant" | "tool"),
            _ => false,
        };
        if !fits {
            return false;
        }
        if role != "system" {
            before = role;
        }
    }
    true
}

/// An answer as it is streamed.
pub(super) fn events(answer: &Answer, request: &Request, number: u64) -> Vec<String> {
    let usage_wanted = request.body["stream_options"]["include_usage"] == true;
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk",
            "created": 1_790_000_000, "model": request.body["model"], "choices": choices,
        });
        if usage_wanted {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    };
    let mut first = json!({"role": "assistant", "content": ""});
    if let Some(thought) = &answer.thinking {
        first["reasoning_content"] = thought.clone().into();
    }
    for (key, value) in answer.extra.iter().filter_map(Value::as_object).flatten() {
        first[key] = value.clone();
    }
    let mut events = vec![delta(first)];
    events
        .extend(pieces(&answer.text, 7).into_iter().map(|piece| delta(json!({"content": piece}))));
    for (index, (name, arguments)) in answer.calls.iter().enumerate() {
        let id = format!("call_{number}_{index}");
        let function = json!({"name": name, "arguments": ""});
        let head = json!({"index": index, "id": id, "type": "function", "function": function});
        events.push(delta(json!({"tool_calls": [head]})));
        for piece in pieces(arguments, 11) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(delta(json!({"tool_calls": [more]})));
        }
    }
    if let Some(kind) = answer.failing {
        let error = json!({"error": {"message": "it failed", "type": kind, "code": kind}});
        events.push(format!("data: {error}\n\n"));
        return events;
    }
    if answer.truncated {
        return events;
    }
    let usual = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    let finish = answer.finish.unwrap_or(usual);
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null));
    if usage_wanted {
        let output = answer.text.len() / 4 + 1;
        let usage = json!({
            "prompt_tokens": request.input, "completion_tokens": output,
            "total_tokens": request.input + output as u64,
            "prompt_tokens_details": {"cached_tokens": request.cached},
        });
        events.push(chunk(json!([]), usage));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}
