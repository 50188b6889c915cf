//! What the server answers, as a short list of constructors: `say("hello")`,
//! `call("memory", json!({…}))`, `status(429, "slow down")`.

use serde_json::Value;

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
    /// A refusal: in the words of the dialect that was asked in, or with this very body.
    Status {
        code: u16,
        reason: Reason,
        retry_after: Option<u64>,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Reason {
    Words(String),
    Body(String),
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
    /// What the model thought before it spoke.
    pub(super) thinking: Option<String>,
    /// The stream breaks off before its end.
    pub(super) truncated: bool,
    /// The stream ends with an error of this type.
    pub(super) failing: Option<&'static str>,
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

    /// After this thought, which nobody is shown and the server wants back as it gave it.
    #[must_use]
    pub fn thinking(mut self, thought: &str) -> Self {
        self.answer().thinking = Some(thought.to_owned());
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

/// The beginning of an answer; then an error of this type instead of its end: `overloaded_error`.
#[must_use]
pub fn failing(text: &str, kind: &'static str) -> Reply {
    let answer = Answer { text: text.to_owned(), failing: Some(kind), ..Answer::default() };
    Reply::of(Kind::Answer(answer))
}

/// A refusal, with the provider's reason.
#[must_use]
pub fn status(code: u16, reason: &str) -> Reply {
    let reason = Reason::Words(reason.to_owned());
    Reply::of(Kind::Status { code, reason, retry_after: None })
}

/// A refusal whose body is this.
#[must_use]
pub fn status_raw(code: u16, body: &str) -> Reply {
    let reason = Reason::Body(body.to_owned());
    Reply::of(Kind::Status { code, reason, retry_after: None })
}

/// Pieces of at most `size` characters. A long text still comes in some 200 pieces.
pub(super) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = size.max(characters.len() / 200);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
