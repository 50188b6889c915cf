//! The bytes of an answer, as they come, into a whole answer. Without I/O: it is fed, and does not
//! know from where. What the events mean is the dialect's.

use atlas_core::ports::{Answer, Delta, ModelError};
use serde_json::Value;

use super::sse::{Event, Sse, TooLong};

/// The most bytes of one event, or of an answer that is not streamed.
const EVENT: usize = 8 << 20;
/// The most bytes of a whole answer: a server that never stops is stopped.
const ANSWER: usize = 64 << 20;

/// A dialect's way from events to an answer: a state machine without I/O. What it gives back on the
/// way is text to show.
pub(super) trait Assemble {
    /// Takes the data of one event, which has this name in the stream, or none.
    ///
    /// # Errors
    ///
    /// What the server reports in it.
    fn event(&mut self, name: &str, data: Value) -> Result<String, ModelError>;

    /// Takes an answer that was not streamed, although a stream was asked for.
    ///
    /// # Errors
    ///
    /// What the server reports in it, or that it is no answer.
    fn whole(&mut self, answer: Value) -> Result<String, ModelError>;

    /// Whether the answer itself is whole, so that what still comes is worth only a short wait.
    fn has_ended(&self) -> bool;

    /// Whether the server said that nothing more comes.
    fn is_done(&self) -> bool;

    /// The whole answer; `signer` is whose the message is.
    ///
    /// # Errors
    ///
    /// [`ModelError::Truncated`] where its end is missing.
    fn finish(self, signer: &str) -> Result<Answer, ModelError>;
}

/// Reads one answer.
pub(super) struct Reader<A> {
    form: Form,
    assembly: A,
    seen: usize,
    done: bool,
}

/// How the server answers.
enum Form {
    /// Nothing but white space has come.
    Unknown,
    /// As a stream of events.
    Stream(Sse),
    /// As one JSON object, although a stream was asked for.
    Whole(Vec<u8>),
}

impl<A: Assemble> Reader<A> {
    pub(super) fn new(assembly: A) -> Self {
        Self { form: Form::Unknown, assembly, seen: 0, done: false }
    }

    /// Takes bytes; `deltas` hears their text.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        self.seen += bytes.len();
        if self.seen > ANSWER {
            return Err(too_long());
        }
        if let Form::Unknown = self.form {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(());
            };
            self.form = if *first == b'{' || *first == b'[' {
                Form::Whole(Vec::new())
            } else {
                Form::Stream(Sse::new(EVENT))
            };
        }
        let events = match &mut self.form {
            Form::Stream(sse) => sse.push(bytes).map_err(|TooLong| too_long())?,
            Form::Whole(body) if body.len() + bytes.len() > EVENT => return Err(too_long()),
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                Vec::new()
            }
            Form::Unknown => Vec::new(),
        };
        events.iter().try_for_each(|event| self.event(event, deltas))
    }

    /// Whether the server said that nothing more comes.
    pub(super) fn is_done(&self) -> bool {
        self.done || self.assembly.is_done()
    }

    /// Whether the answer itself is whole, so that what still comes is worth only a short wait.
    pub(super) fn has_ended(&self) -> bool {
        self.is_done() || self.assembly.has_ended()
    }

    fn event(
        &mut self,
        event: &Event,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.is_done() || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let data = serde_json::from_str(data)
            .map_err(|_| ModelError::Truncated("a piece of the stream is not JSON".to_owned()))?;
        show(self.assembly.event(&event.name, data)?, deltas);
        Ok(())
    }

    /// The whole answer, after the last byte.
    pub(super) fn finish(
        mut self,
        signer: &str,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => {}
            Form::Stream(sse) => {
                if let Some(event) = sse.finish() {
                    self.event(&event, deltas)?;
                }
            }
            Form::Whole(body) => {
                let answer = serde_json::from_slice(&body)
                    .map_err(|_| ModelError::Truncated("the answer is not whole".to_owned()))?;
                show(self.assembly.whole(answer)?, deltas);
            }
        }
        self.assembly.finish(signer)
    }
}

fn show(text: String, deltas: &mut (dyn FnMut(Delta) + Send)) {
    if !text.is_empty() {
        deltas(Delta::Text(text));
    }
}

fn too_long() -> ModelError {
    ModelError::Truncated("the server sends more than an answer can be".to_owned())
}
