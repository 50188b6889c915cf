//! A request as the stand-in reads it, in either dialect: what it says, and the earlier request of the
//! same conversation as a prefix of the next.

use serde_json::Value;

use super::{chat, messages};

/// How a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
}

/// A request as it was captured.
#[derive(Clone, Debug)]
pub struct Request {
    /// How it is written.
    pub dialect: Dialect,
    /// The whole body.
    pub body: Value,
    /// Input tokens as the server counts them.
    pub input: u64,
    /// Of these, those that an earlier request of the conversation had cached.
    pub cached: u64,
    /// The messages in the shape of chat completions, whatever the dialect.
    shown: Vec<Value>,
    /// What a server compares, in its order, as text: the tools, then each message or block, without
    /// the marks of a cache.
    pub(super) elements: Vec<String>,
}

impl Request {
    /// Reads a body.
    pub(super) fn new(dialect: Dialect, body: Value) -> Self {
        let (shown, elements) = match dialect {
            Dialect::Chat => chat::read(&body),
            Dialect::Messages => messages::read(&body),
        };
        let input = elements.iter().map(|element| size(element)).sum();
        Self { dialect, body, input, cached: 0, shown, elements }
    }

    /// The same after these requests of the same conversation.
    pub(super) fn after<'a>(mut self, earlier: impl Iterator<Item = &'a Self>) -> Self {
        self.cached = earlier.map(|earlier| self.shared(earlier)).max().unwrap_or(0);
        self
    }

    fn shared(&self, earlier: &Self) -> u64 {
        let same = self.elements.iter().zip(&earlier.elements).take_while(|(a, b)| a == b);
        same.map(|(element, _)| size(element)).sum()
    }

    /// The messages, `system` included, in the shape of chat completions.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        &self.shown
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
        let key = match self.dialect {
            Dialect::Chat => &self.body["prompt_cache_key"],
            Dialect::Messages => &self.body["metadata"]["user_id"],
        };
        key.as_str().unwrap_or_default()
    }

    /// The tools' names.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools
            .iter()
            .filter_map(|tool| match self.dialect {
                Dialect::Chat => tool["function"]["name"].as_str(),
                Dialect::Messages => tool["name"].as_str(),
            })
            .collect()
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

fn size(element: &str) -> u64 {
    (element.len() as u64).div_ceil(4)
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

/// Where `later` is not `earlier` and more; None where it is.
#[must_use]
pub fn prefix_break(earlier: &Request, later: &Request) -> Option<String> {
    let (before, after) = (&earlier.elements, &later.elements);
    if before.first() != after.first() {
        return Some("the tools changed".to_owned());
    }
    // The tools are no message.
    if after.len() < before.len() {
        return Some(format!("{} messages became {}", before.len() - 1, after.len() - 1));
    }
    let differs = before.iter().zip(after).position(|(b, a)| b != a)?;
    let cut = |element: &str| element.chars().take(1500).collect::<String>();
    Some(format!(
        "message {} of {} was rewritten\n    from {}\n    to   {}",
        differs - 1,
        before.len() - 1,
        cut(&before[differs]),
        cut(&after[differs])
    ))
}
