//! What the server answers, as a short list of constructors: `say("hello")`,
//! `call("memory", json!({…}))`, `status(429, "slow down")`.

use serde_json::{Value, json};

use crate::bell::Gate;

/// One answer to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) kind: Kind,
    /// Held before the first byte.
    pub(super) before: Option<Gate>,
    /// Held in the middle of the text.
    pub(super) midway: Option<Gate>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Answer(Answer),
    /// The body of a 200 stream, as it stands.
    Raw(String),
    Status {
        code: u16,
        body: String,
        retry_after: Option<u64>,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    /// Name and arguments, the latter as they are written on the wire.
    pub(super) calls: Vec<(String, String)>,
    /// None for the usual one: `tool_calls` or `stop`.
    pub(super) finish: Option<&'static str>,
    /// More fields of the first delta.
    pub(super) extra: Option<Value>,
    /// The stream breaks off before its end.
    pub(super) truncated: bool,
}

impl Reply {
    fn of(kind: Kind) -> Self {
        Self { kind, before: None, midway: None }
    }

    fn answer(&mut self) -> &mut Answer {
        match &mut self.kind {
            Kind::Answer(answer) => answer,
            other => panic!("{other:?} is no answer of a model"),
        }
    }

    /// The first byte waits for the gate.
    #[must_use]
    pub fn after(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// The second half of the stream waits for the gate.
    #[must_use]
    pub fn held(mut self, gate: &Gate) -> Self {
        self.midway = Some(gate.clone());
        self
    }

    /// With this reason for its end: `length`, `content_filter`.
    #[must_use]
    pub fn ending(mut self, finish: &'static str) -> Self {
        self.answer().finish = Some(finish);
        self
    }

    /// With a call after its text.
    #[must_use]
    pub fn and_call(mut self, name: &str, arguments: &Value) -> Self {
        self.answer().calls.push((name.to_owned(), arguments.to_string()));
        self
    }

    /// With fields of the message that no client knows.
    #[must_use]
    pub fn with_fields(mut self, fields: Value) -> Self {
        self.answer().extra = Some(fields);
        self
    }

    /// With a `Retry-After` of so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        match &mut self.kind {
            Kind::Status { retry_after, .. } => *retry_after = Some(seconds),
            other => panic!("{other:?} is no refusal"),
        }
        self
    }
}

/// An answer in words.
#[must_use]
pub fn say(text: &str) -> Reply {
    Reply::of(Kind::Answer(Answer { text: text.to_owned(), ..Answer::default() }))
}

/// An answer without words and without a call.
#[must_use]
pub fn empty() -> Reply {
    say("")
}

/// One call of a tool.
#[must_use]
pub fn call(name: &str, arguments: &Value) -> Reply {
    empty().and_call(name, arguments)
}

/// Several calls; the arguments are text and may be no JSON at all.
#[must_use]
pub fn calls<const N: usize>(calls: [(&str, &str); N]) -> Reply {
    let calls = calls.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    Reply::of(Kind::Answer(Answer { calls, ..Answer::default() }))
}

/// The beginning of an answer; then the connection breaks.
#[must_use]
pub fn truncated(text: &str) -> Reply {
    let answer = Answer { text: text.to_owned(), truncated: true, ..Answer::default() };
    Reply::of(Kind::Answer(answer))
}

/// A stream of these very bytes.
#[must_use]
pub fn raw_sse(body: &str) -> Reply {
    Reply::of(Kind::Raw(body.to_owned()))
}

/// A refusal, with the provider's reason.
#[must_use]
pub fn status(code: u16, reason: &str) -> Reply {
    let kind = match code {
        401 => "invalid_api_key",
        402 => "insufficient_credit",
        429 => "rate_limit_exceeded",
        _ => "error",
    };
    let body = json!({"error": {"message": reason, "type": kind, "code": kind}}).to_string();
    Reply::of(Kind::Status { code, body, retry_after: None })
}

/// A refusal whose body is this.
#[must_use]
pub fn status_raw(code: u16, body: &str) -> Reply {
    Reply::of(Kind::Status { code, body: body.to_owned(), retry_after: None })
}
