//! What a server says when it does not answer, and what that means: by status and code, and by the
//! words of its error object where servers have no code for it. Words of the chat mean nothing here.

use std::time::Duration;

use atlas_core::ports::ModelError;
use chrono::DateTime;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// The most characters of a provider's words that are passed on.
const REASON: usize = 500;

/// A server's refusal or failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Problem {
    /// The HTTP status, or what an error inside a stream stands for.
    pub(super) status: u16,
    /// `code` of the error object.
    pub(super) code: String,
    /// `type` or `status` of the error object.
    pub(super) kind: String,
    /// The parameter that is at fault, where it is named.
    pub(super) param: String,
    /// The server's words, on one line.
    pub(super) message: String,
}

const OVERFLOW_CODES: [&str; 6] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "model_context_window_exceeded",
    "max_tokens_exceeded",
    "request_too_large",
];

/// How servers without a code say that the request is too long.
const OVERFLOW_WORDS: [&str; 16] = [
    "maximum context length",
    "maximum prompt length",
    "context length exceeded",
    "context size has been exceeded",
    "exceeds the available context size",
    "exceeds the context window",
    "exceed context window",
    "exceeds the model's context",
    "greater than the context length",
    "prompt is too long",
    "exceed context limit",
    "input is too long",
    "exceeds the maximum number of tokens allowed",
    "too large for model",
    "inputs tokens + max_new_tokens must be",
    "request too large for",
];

/// How servers and the templates in them say that roles must alternate.
const STRICT_WORDS: [&str; 10] = [
    "roles must alternate",
    "must alternate between",
    "system message must be at the beginning",
    "system message must be the first",
    "system role must be first",
    "only user and assistant roles",
    "unexpected role 'user' after role 'tool'",
    "unexpected role 'system' after role",
    "consecutive user messages",
    "messages with the same role in a row",
];

/// How servers say that reasoning that came back is not what they signed, or not where they signed it.
const SIGNATURE_WORDS: [&str; 5] = [
    "invalid signature in",
    "thinking.signature: field required",
    "blocks in the latest assistant message cannot be modified",
    "expected thinking or redacted_thinking, but found",
    "thought signature is not valid",
];

impl Problem {
    /// Reads the body of an answer with the status of a failure.
    pub(super) fn from_body(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self { status, ..Self::from_json(&value) },
            Err(_) => Self { status, message: plain(body), ..Self::default() },
        }
    }

    /// Reads an error object that came inside a stream, after a status of success.
    pub(super) fn in_stream(error: &Value) -> Self {
        let problem = Self::from_json(error);
        let status = match problem.code.parse::<u16>() {
            Ok(code @ 400..=599) => code,
            _ => problem.status_of_kind(),
        };
        Self { status, ..problem }
    }

    fn from_json(value: &Value) -> Self {
        // Google's servers send a list with one object.
        let value = value.get(0).unwrap_or(value);
        let error = match value.get("error") {
            Some(error @ (Value::Object(_) | Value::String(_))) => error,
            _ => value,
        };
        let field = |key: &str| error.get(key).map(word).unwrap_or_default();
        let kind = Some(field("type")).filter(|kind| !kind.is_empty());
        Self {
            status: 0,
            code: field("code"),
            kind: kind.unwrap_or_else(|| field("status")),
            param: field("param"),
            message: one_line(&message(error)),
        }
    }

    fn status_of_kind(&self) -> u16 {
        let said = format!("{} {}", self.code, self.kind).to_ascii_lowercase();
        let any = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if any(&["insufficient_quota", "rate_limit", "resource_exhausted", "too_many"]) {
            429
        } else if any(&["overloaded", "unavailable"]) {
            503
        } else if any(&["authentication", "invalid_api_key", "permission"]) {
            401
        } else if any(&["billing"]) {
            402
        } else if any(&["not_found"]) {
            404
        } else if any(&["invalid_request", "badrequest", "invalid_argument"])
            || any(&OVERFLOW_CODES)
        {
            400
        } else {
            500
        }
    }

    /// The error that core reacts to. The words are bounded; the key is not in them if
    /// [`Self::without`] has run.
    pub(super) fn into_error(self, retry_after: Option<Duration>) -> ModelError {
        let reason = self.reason();
        let client_fault = matches!(self.status, 400 | 404 | 413 | 422 | 429 | 500);
        if client_fault && self.is_overflow() {
            return ModelError::Overflow(reason);
        }
        if client_fault && self.says(&STRICT_WORDS) {
            return ModelError::StrictRoles(reason);
        }
        if self.status == 400 && self.says(&SIGNATURE_WORDS) {
            return ModelError::Signature(reason);
        }
        match self.status {
            400 if self.says(&["credit balance is too low"]) => ModelError::Payment(reason),
            429 if self.is_quota() => ModelError::Payment(reason),
            429 | 503 | 529 => ModelError::Busy { retry_after, reason },
            401 | 403 => ModelError::Auth(reason),
            402 => ModelError::Payment(reason),
            413 => ModelError::Overflow(reason),
            408 | 409 | 425 | 500..=599 => ModelError::Unreachable(reason),
            400..=499 if self.is_key() => ModelError::Auth(reason),
            _ => ModelError::Refused(reason),
        }
    }

    /// Whether a filter of the provider refused what was asked.
    pub(super) fn is_content_filter(&self) -> bool {
        self.status < 500 && self.code.eq_ignore_ascii_case("content_filter")
    }

    fn is_overflow(&self) -> bool {
        let named = |code: &str| self.code == code || self.kind == code;
        OVERFLOW_CODES.iter().any(|code| named(code)) || self.says(&OVERFLOW_WORDS)
    }

    fn is_quota(&self) -> bool {
        ["insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low"]
            .iter()
            .any(|code| self.code == *code || self.kind == *code)
    }

    /// Google's servers refuse a wrong key with 400.
    fn is_key(&self) -> bool {
        self.code == "invalid_api_key" || self.message.starts_with("API key not valid")
    }

    /// Whether the server's words hold one of these, quotes and case aside.
    pub(super) fn says(&self, words: &[&str]) -> bool {
        let message = self.message.replace(['`', '"'], "").to_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    /// The same with the key, and what a server shows of it, taken out of its words.
    pub(super) fn without(mut self, key: Option<&str>) -> Self {
        if let Some(key) = key.filter(|key| key.len() >= 4) {
            self.message = self.message.replace(key, "[key]");
        }
        if self.message.contains("**") && matches!(self.status, 401 | 403) {
            let words = self.message.split(' ');
            let masked = words.map(|word| if word.contains("**") { "[key]" } else { word });
            self.message = masked.collect::<Vec<_>>().join(" ");
        }
        self
    }

    fn reason(&self) -> String {
        let mut reason = format!("{} ", self.status);
        if self.message.is_empty() {
            let label = if self.code.is_empty() { &self.kind } else { &self.code };
            reason.push_str(if label.is_empty() { "without a reason" } else { label });
        } else {
            reason.push_str(&self.message);
        }
        cut(&reason)
    }
}

/// The words of an error object, wherever the server puts them.
fn message(error: &Value) -> String {
    let mut said = match error {
        Value::String(text) => text.clone(),
        _ => ["message", "error_message", "msg", "detail", "error"]
            .iter()
            .filter_map(|key| error.get(key))
            .map(words)
            .find(|words| !words.is_empty())
            .unwrap_or_default(),
    };
    // A router in between says what its upstream said.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        said.push_str(": ");
        said.push_str(raw);
    }
    said
}

/// Text as it is; of a list of faults (`FastAPI`'s), where each is and what it is, never its input.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(faults) => {
            let fault = |fault: &Value| match fault.get("loc").and_then(Value::as_array) {
                Some(place) => {
                    let place: Vec<String> = place.iter().map(word).collect();
                    format!(
                        "{}: {}",
                        place.join("."),
                        fault.get("msg").map(word).unwrap_or_default()
                    )
                }
                None => message(fault),
            };
            faults.iter().map(fault).collect::<Vec<_>>().join("; ")
        }
        Value::Object(_) => message(value),
        _ => String::new(),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * REASON)]);
    if text.trim_start().starts_with('<') {
        return "a web page instead of an answer".to_owned();
    }
    one_line(&text)
}

/// On one line, without control characters, and not without end.
fn one_line(text: &str) -> String {
    let shown: String =
        text.chars().take(16 * REASON).map(|c| if c.is_control() { ' ' } else { c }).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= REASON {
        return text.to_owned();
    }
    text.chars().take(REASON - 1).chain(['…']).collect()
}

/// What the server asks to wait. A date is compared with the server's own clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    const DAY: f64 = 86_400.0;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds =
        |seconds: f64| (0.0..=DAY).contains(&seconds).then(|| Duration::from_secs_f64(seconds));
    if let Some(wait) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return seconds(wait / 1000.0);
    }
    let after = text(RETRY_AFTER.as_str())?;
    if let Ok(wait) = after.parse::<f64>() {
        return seconds(wait);
    }
    let at = DateTime::parse_from_rfc2822(after).ok()?;
    let now = DateTime::parse_from_rfc2822(text(DATE.as_str())?).ok()?;
    let wait = (at - now).to_std().unwrap_or_default();
    seconds(wait.as_secs_f64())
}

#[cfg(test)]
#[path = "problem_tests.rs"]
mod tests;
