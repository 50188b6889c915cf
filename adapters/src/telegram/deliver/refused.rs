//! What a failed send means: what to try at once, and what to tell the courier.

use std::time::Duration;

use atlas_core::ports::SendError;

use super::super::api::{CallError, Refusal};
use super::super::place::Place;

/// What may help at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cure {
    /// The same text without its format.
    Plain,
    /// The same chat without the topic, which is gone.
    NoThread,
    /// Nothing.
    None,
}

/// Refusals of the place: no text would be taken there. Compared in lower case.
const GONE: [&str; 13] = [
    "chat not found",
    "peer_id_invalid",
    "user not found",
    "group is deactivated",
    "user is deactivated",
    "bot was kicked",
    "bot was blocked",
    "bot is not a member",
    "chat_write_forbidden",
    "chat_restricted",
    "not enough rights",
    "have no rights to send",
    "need administrator rights",
];

const NO_THREAD: [&str; 4] =
    ["message thread not found", "topic_deleted", "topic_closed", "topic_id_invalid"];

/// What may help against `error`.
pub(super) fn cure(error: &CallError) -> Cure {
    let CallError::Refused(refusal) = error else { return Cure::None };
    if refusal.code != 400 || refusal.moved_to.is_some() || refusal.retry_after.is_some() {
        return Cure::None;
    }
    if says(refusal, &NO_THREAD) {
        Cure::NoThread
    } else if says(refusal, &GONE) {
        Cure::None
    } else {
        Cure::Plain
    }
}

fn says(refusal: &Refusal, words: &[&str]) -> bool {
    let description = refusal.description.to_lowercase();
    words.iter().any(|word| description.contains(word))
}

/// What the courier is to do about `error`, on the way to `place`.
pub(super) fn send_error(place: Place, error: CallError) -> SendError {
    match error {
        CallError::Unreachable(_) => SendError::Transient(error.to_string()),
        CallError::Lost(_) => SendError::Unknown(error.to_string()),
        // An answer that is read as neither yes nor no: only an error of the caller's is a sure no.
        CallError::Garbled { status: 400..500, .. } => SendError::Transient(error.to_string()),
        CallError::Garbled { .. } => SendError::Unknown(error.to_string()),
        CallError::Refused(refusal) => refused(place, &refusal),
    }
}

fn refused(place: Place, refusal: &Refusal) -> SendError {
    if let Some(wait) = refusal.retry_after {
        return SendError::RetryAfter(wait);
    }
    if let Some(chat) = refusal.moved_to {
        return SendError::Moved(Place { chat, ..place }.id());
    }
    match refusal.code {
        429 => SendError::RetryAfter(Duration::from_secs(5)),
        // Also while the message may be on its way already.
        500.. => SendError::Unknown(refusal.to_string()),
        401 | 404 => SendError::Transient(format!(
            "Telegram refuses the token ({refusal}): it must be replaced in the configuration"
        )),
        _ => SendError::Rejected(refusal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: u16, description: &str) -> CallError {
        let description = description.to_owned();
        CallError::Refused(Refusal { code, description, ..Refusal::default() })
    }

    #[test]
    fn each_refusal_has_its_cure() {
        for (code, description, expected) in [
            (
                400,
                "Bad Request: can't parse entities: Unclosed start tag at byte offset 2",
                Cure::Plain,
            ),
            (400, "Bad Request: something new", Cure::Plain),
            (400, "Bad Request: message is too long", Cure::Plain),
            (400, "Bad Request: MESSAGE_TOO_LONG", Cure::Plain),
            (400, "Bad Request: message thread not found", Cure::NoThread),
            (400, "Bad Request: TOPIC_DELETED", Cure::NoThread),
            (400, "Bad Request: chat not found", Cure::None),
            (400, "Bad Request: CHAT_WRITE_FORBIDDEN", Cure::None),
            (403, "Forbidden: bot was blocked by the user", Cure::None),
            (429, "Too Many Requests: retry after 3", Cure::None),
            (500, "Internal Server Error", Cure::None),
        ] {
            assert_eq!(cure(&refusal(code, description)), expected, "{description}");
        }
    }

    #[test]
    fn each_failure_is_one_thing_to_do() {
        let place = Place { chat: -5, thread: None };
        let words = |error: CallError| match send_error(place, error) {
            SendError::RetryAfter(wait) => format!("wait {}", wait.as_secs()),
            SendError::Transient(_) => "again".to_owned(),
            SendError::Rejected(_) => "never".to_owned(),
            SendError::Unknown(_) => "perhaps".to_owned(),
            SendError::Moved(to) => format!("to {to}"),
        };
        let wait =
            Refusal { code: 429, retry_after: Some(Duration::from_secs(7)), ..Refusal::default() };
        let moved = Refusal { code: 400, moved_to: Some(-1001), ..Refusal::default() };
        for (error, expected) in [
            (CallError::Refused(wait), "wait 7"),
            (refusal(429, "Too Many Requests"), "wait 5"),
            (CallError::Refused(moved), "to -1001"),
            (CallError::Unreachable("refused".into()), "again"),
            (CallError::Lost("reset".into()), "perhaps"),
            (CallError::Garbled { status: 502, why: "html".into() }, "perhaps"),
            (CallError::Garbled { status: 200, why: "cut".into() }, "perhaps"),
            (CallError::Garbled { status: 404, why: "html".into() }, "again"),
            (refusal(500, "Internal Server Error"), "perhaps"),
            (refusal(401, "Unauthorized"), "again"),
            (refusal(403, "Forbidden: bot was blocked by the user"), "never"),
            (refusal(403, "Forbidden: user is deactivated"), "never"),
            (refusal(400, "Bad Request: chat not found"), "never"),
        ] {
            assert_eq!(words(error), expected);
        }
    }
}
