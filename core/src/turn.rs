//! A turn: from one or more messages to the last answer. What comes next is decided here, by a pure
//! function of what is stored; [`run`] does it.
//!
//! A turn is a journal. Every finished step is committed at once, so after a crash the same function
//! over the same rows goes on where the journal ends.

use chrono::{DateTime, Duration, Utc};

use crate::message::{Body, Call, Message};
use crate::ports::OpenTurn;

pub(crate) mod answer;
mod batch;
mod chain;
mod files;
pub mod learned;
pub mod markup;
mod model;
pub(crate) mod run;
mod steps;
mod tools;

/// Model calls of one turn.
pub const MAX_STEPS: u32 = 40;

/// Minutes of one turn.
pub const MAX_MINUTES: i64 = 30;

/// Characters of a tool's result that a model is shown.
pub const MAX_RESULT: usize = 16_000;

/// Failures in a row (the process died, the turn's code broke) after which a turn is given up.
pub const MAX_FAILURES: u32 = 3;

/// A turn, as the decision sees it.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Its row.
    pub open: &'a OpenTurn,
    /// The open episode's messages; those of this turn count.
    pub messages: &'a [Message],
    /// How often the conversation was claimed since the last committed step, this time included.
    pub attempt: u32,
    /// Somebody asked to stop.
    pub stop_requested: bool,
    /// When this process took it up. The time that nobody worked at it does not count.
    pub taken_up: DateTime<Utc>,
    /// The present instant.
    pub now: DateTime<Utc>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask the model.
    AskModel,
    /// Run these calls, in order: each with its place in its message, which names it for ever.
    RunTools(Vec<(usize, Call)>),
    /// Close the turn: its last answer is committed.
    Finish,
    /// End the turn without an answer of the model's.
    Stop(Why),
}

/// Why a turn ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody said `/stop`.
    Asked,
    /// [`MAX_STEPS`].
    Steps,
    /// [`MAX_MINUTES`].
    Time,
    /// [`MAX_FAILURES`].
    Failures,
}

/// Decides what comes next in a turn.
#[must_use]
pub fn next(turn: &Turn<'_>) -> Step {
    if turn.stop_requested {
        return Step::Stop(Why::Asked);
    }
    if turn.attempt > MAX_FAILURES {
        return Step::Stop(Why::Failures);
    }
    let missing = unanswered(turn.messages, turn.open);
    if !missing.is_empty() {
        // Results come before any bound: no call is left without one.
        return Step::RunTools(missing);
    }
    match last_of(turn.messages, turn.open) {
        Some(Body::Assistant { .. }) => Step::Finish,
        _ if turn.open.notes.steps >= MAX_STEPS => Step::Stop(Why::Steps),
        _ if turn.now - turn.taken_up >= Duration::minutes(MAX_MINUTES) => Step::Stop(Why::Time),
        _ => Step::AskModel,
    }
}

/// The calls of the turn's last assistant message that have no result, each with its place in it.
#[must_use]
pub fn unanswered(messages: &[Message], turn: &OpenTurn) -> Vec<(usize, Call)> {
    let mut answered: Vec<&str> = Vec::new();
    for message in of_turn(messages, turn).rev() {
        match &message.body {
            Body::Tool { call, .. } => answered.push(call),
            Body::Assistant { calls, .. } => {
                return calls
                    .iter()
                    .enumerate()
                    .filter(|(_, call)| !answered.contains(&call.id.as_str()))
                    .map(|(index, call)| (index, call.clone()))
                    .collect();
            }
            Body::User { .. } => return Vec::new(),
        }
    }
    Vec::new()
}

/// Whether a final answer could be what the turn's last message is: a user message that follows
/// tool results belongs to the same turn, so only the very last row counts.
fn last_of<'a>(messages: &'a [Message], turn: &OpenTurn) -> Option<&'a Body> {
    of_turn(messages, turn).next_back().map(|message| &message.body)
}

/// The messages of a turn.
pub(crate) fn of_turn<'a>(
    messages: &'a [Message],
    turn: &OpenTurn,
) -> impl DoubleEndedIterator<Item = &'a Message> {
    let id = turn.id;
    messages.iter().filter(move |message| message.turn == Some(id))
}

#[cfg(test)]
mod tests;
