//! What a request must be: paired calls, nothing empty, roles in an order that servers take, and the
//! earlier request of the same conversation as a prefix of the next.

use serde_json::Value;

/// A request as it was captured.
#[derive(Clone, Debug)]
pub struct Request {
    /// The whole body.
    pub body: Value,
    /// Input tokens as the server counts them.
    pub input: u64,
    /// Of these, those that an earlier request of the conversation had cached.
    pub cached: u64,
}

impl Request {
    /// The messages, `system` included.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The instructions.
    #[must_use]
    pub fn system(&self) -> String {
        self.messages()
            .first()
            .filter(|first| first["role"] == "system")
            .map(text)
            .unwrap_or_default()
    }

    /// The whole of what the model reads, without the tools.
    #[must_use]
    pub fn text(&self) -> String {
        self.messages().iter().map(text).collect::<Vec<_>>().join("\n")
    }

    /// What the last message of this role says.
    #[must_use]
    pub fn last(&self, role: &str) -> String {
        self.messages()
            .iter()
            .rev()
            .find(|message| message["role"] == role)
            .map(text)
            .unwrap_or_default()
    }

    /// The role of the last message.
    #[must_use]
    pub fn last_role(&self) -> &str {
        self.messages().last().and_then(|message| message["role"].as_str()).unwrap_or_default()
    }

    /// What the conversation's requests have in common.
    #[must_use]
    pub fn cache_key(&self) -> &str {
        self.body["prompt_cache_key"].as_str().unwrap_or_default()
    }

    /// The tools' names.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    /// One line for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        let roles: Vec<_> = self.messages().iter().filter_map(|m| m["role"].as_str()).collect();
        let last = self.messages().last().map(ToString::to_string).unwrap_or_default();
        let last: String = last.chars().take(600).collect();
        format!("{} [{}] last: {last}", self.body["model"], roles.join(" "))
    }
}

/// What a message says: its content, whether a string or parts.
#[must_use]
pub fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// What no server should be sent.
#[must_use]
pub fn faults(body: &Value) -> Vec<String> {
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
#[must_use]
pub fn strict_roles(body: &Value) -> bool {
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

/// Whether two values are the same on the wire, the order of their keys included.
fn same(one: &Value, other: &Value) -> bool {
    let written = |value: &Value| value.to_string();
    written(one) == written(other)
}

/// Where `later` is not `earlier` and more; None where it is.
#[must_use]
pub fn prefix_break(earlier: &Value, later: &Value) -> Option<String> {
    if !same(&earlier["tools"], &later["tools"]) {
        return Some("the tools changed".to_owned());
    }
    let (before, after) = (earlier["messages"].as_array()?, later["messages"].as_array()?);
    if after.len() < before.len() {
        return Some(format!("{} messages became {}", before.len(), after.len()));
    }
    let differs = before.iter().zip(after).position(|(b, a)| !same(b, a))?;
    let cut = |message: &Value| message.to_string().chars().take(1500).collect::<String>();
    Some(format!(
        "message {differs} of {} was rewritten\n    from {}\n    to   {}",
        before.len(),
        cut(&before[differs]),
        cut(&after[differs])
    ))
}

/// Input tokens of a request, and those that `earlier` requests left in the cache.
#[must_use]
pub fn tokens<'a>(body: &Value, earlier: impl Iterator<Item = &'a Value>) -> (u64, u64) {
    let size = |value: &Value| (value.to_string().len() as u64).div_ceil(4);
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let input = size(&body["tools"]) + messages.iter().map(size).sum::<u64>();
    let shared = |earlier: &Value| {
        if !same(&earlier["tools"], &body["tools"]) {
            return 0;
        }
        let before = earlier["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let same = before.iter().zip(messages).take_while(|(b, a)| same(b, a));
        size(&body["tools"]) + same.map(|(b, _)| size(b)).sum::<u64>()
    };
    (input, earlier.map(shared).max().unwrap_or(0))
}
