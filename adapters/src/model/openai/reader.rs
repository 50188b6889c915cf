//! The bytes of an answer, as they come, into a whole answer. Without I/O: it is fed, and does not
//! know from where.

use atlas_core::ports::{Answer, Delta, ModelError};
use serde_json::Value;

use super::assemble::Assembly;
use super::problem::Problem;
use crate::model::sse::{Event, Sse, TooLong};

/// The most bytes of one event, or of an answer that is not streamed.
const EVENT: usize = 8 << 20;
/// The most bytes of a whole answer: a server that never stops is stopped.
const ANSWER: usize = 64 << 20;

/// Reads one answer.
pub(super) struct Reader {
    form: Form,
    assembly: Assembly,
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

impl Reader {
    pub(super) fn new() -> Self {
        Self { form: Form::Unknown, assembly: Assembly::new(), seen: 0, done: false }
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
        self.done
    }

    /// Whether the answer itself is whole, so that what still comes is worth only a short wait.
    pub(super) fn has_ended(&self) -> bool {
        self.done || self.assembly.has_ended()
    }

    fn event(
        &mut self,
        event: &Event,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(data)
            .map_err(|_| ModelError::Truncated("a piece of the stream is not JSON".to_owned()))?;
        if event.name == "error" && chunk.get("error").is_none() {
            return Err(Problem::in_stream(&chunk).into_error(None));
        }
        self.add(chunk, deltas)
    }

    fn add(
        &mut self,
        chunk: Value,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        let shown = self.assembly.add(chunk)?;
        if !shown.is_empty() {
            deltas(Delta::Text(shown));
        }
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
            Form::Whole(body) => self.whole(&body, deltas)?,
        }
        self.assembly.finish(signer)
    }

    /// An answer that came in one piece is whole, whether or not it says why it ended.
    fn whole(
        &mut self,
        body: &[u8],
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ModelError> {
        let answer: Value = serde_json::from_slice(body)
            .map_err(|_| ModelError::Truncated("the answer is not whole".to_owned()))?;
        let answered = answer.pointer("/choices/0/message").is_some();
        self.add(answer, deltas)?;
        if !answered {
            let why = "its answer holds no message; is base_url the address of a chat-completions server?";
            return Err(ModelError::Refused(why.to_owned()));
        }
        self.assembly.end_if_open();
        Ok(())
    }
}

fn too_long() -> ModelError {
    ModelError::Truncated("the server sends more than an answer can be".to_owned())
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
