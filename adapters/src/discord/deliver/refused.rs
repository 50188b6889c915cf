//! What a failed send means: what to try at once, what to tell the courier, and in words that tell a
//! person how to mend it.

use std::time::Duration;

use atlas_core::ports::SendError;

use super::calls::{CallError, Refusal};

/// "Invalid form body": Discord does not like something about the text.
const INVALID_FORM: isize = 50_035;

/// Whether the same text, plain, may be taken.
pub(super) fn may_be_cured(error: &CallError) -> bool {
    matches!(error, CallError::Refused(Refusal { status: 400, code: 0 | INVALID_FORM, .. }))
}

/// Whether a command can no longer be answered in its place.
pub(super) fn is_over(error: &CallError) -> bool {
    matches!(error, CallError::Refused(Refusal { status: 401 | 403 | 404, .. }))
}

/// What the courier is to do about `error`.
pub(super) fn send_error(error: CallError) -> SendError {
    match error {
        CallError::Unreachable(_) => SendError::Transient(error.to_string()),
        CallError::Lost(_) => SendError::Unknown(error.to_string()),
        CallError::Refused(ref refusal) => refused(refusal, error.to_string()),
    }
}

fn refused(refusal: &Refusal, said: String) -> SendError {
    match (refusal.status, refusal.code) {
        (429, _) => SendError::RetryAfter(refusal.retry_after.unwrap_or(Duration::from_secs(5))),
        // Also while the message may be on its way already; the nonce makes the repeat safe.
        (500.., _) => SendError::Unknown(said),
        (401, _) => SendError::Transient(format!(
            "Discord refuses the token ({said}): it must be replaced in the configuration"
        )),
        (408, _) | (_, 40_004 | 40_333 | 130_000) => SendError::Transient(said),
        (_, code) => SendError::Rejected(match cure(code) {
            Some(cure) => format!("{cure} (Discord: {said})"),
            None => format!("Discord says: {said}"),
        }),
    }
}

/// What is wrong, and who can mend it how.
fn cure(code: isize) -> Option<&'static str> {
    Some(match code {
        10_003 => "the channel is gone, or the bot is no longer in it",
        10_004 => "the server is gone, or the bot is no longer in it",
        10_008 => "it had arrived, and somebody has deleted it",
        10_013 => "the person's account is gone",
        50_001 => {
            "the bot cannot see the channel; give its role \"View Channel\" there, or invite the bot \
             again"
        }
        50_013 => {
            "the bot may not write in the channel; give its role \"Send Messages\" there (in threads \
             \"Send Messages in Threads\", for long answers \"Attach Files\")"
        }
        50_007 => {
            "the person takes no direct messages from the bot; they can allow them in the privacy \
             settings of a server that both are in, or unblock the bot"
        }
        50_278 => "the person shares no server with the bot; invite them to one that it is in",
        50_008 | 50_024 => "nobody can write in a channel of this kind",
        50_083 | 160_005 => {
            "the thread is closed; open it again, or allow the bot to manage threads"
        }
        20_009 | 240_000 => "Discord takes a part of the text for harmful",
        200_000 => "the server's AutoMod blocks the text; exempt the bot's role from that rule",
        40_005 => "the file is too large for this server",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, code: isize) -> CallError {
        let words = "Some Words".to_owned();
        CallError::Refused(Refusal { status, code, words, retry_after: None })
    }

    #[test]
    fn each_failure_is_one_thing_to_do() {
        let words = |error: CallError| match send_error(error) {
            SendError::RetryAfter(wait) => format!("wait {}", wait.as_millis()),
            SendError::Transient(_) => "again".to_owned(),
            SendError::Rejected(_) => "never".to_owned(),
            SendError::Unknown(_) => "perhaps".to_owned(),
            SendError::Moved(to) => format!("to {to}"),
        };
        let retry_after = Some(Duration::from_millis(650));
        let wait = Refusal { status: 429, retry_after, ..Refusal::default() };
        for (error, expected) in [
            (CallError::Refused(wait), "wait 650"),
            (refusal(429, 0), "wait 5000"),
            (CallError::Unreachable("refused".into()), "again"),
            (CallError::Lost("reset".into()), "perhaps"),
            (refusal(500, 0), "perhaps"),
            (refusal(502, 0), "perhaps"),
            (refusal(503, 0), "perhaps"),
            (refusal(401, 0), "again"),
            (refusal(403, 40_333), "again"),
            (refusal(400, 40_004), "again"),
            (refusal(403, 50_001), "never"),
            (refusal(403, 50_013), "never"),
            (refusal(403, 50_007), "never"),
            (refusal(404, 10_003), "never"),
            (refusal(400, 50_035), "never"),
            (refusal(403, 1), "never"),
        ] {
            assert_eq!(words(error.clone()), expected, "{error}");
        }
    }

    #[test]
    fn a_person_is_told_how_to_mend_it() {
        for (status, code, cure) in [
            (403, 50_001, "give its role \"View Channel\""),
            (403, 50_013, "give its role \"Send Messages\""),
            (403, 50_007, "takes no direct messages"),
            (404, 10_003, "the channel is gone"),
            (400, 200_000, "AutoMod"),
            (400, 99, "Discord says: Some Words (99)"),
        ] {
            let SendError::Rejected(told) = send_error(refusal(status, code)) else {
                panic!("{code}")
            };
            assert!(told.contains(cure) && told.contains("Some Words"), "{told}");
        }
        let told = send_error(refusal(401, 0)).to_string();
        assert!(told.contains("must be replaced"), "{told}");
    }

    #[test]
    fn only_a_form_that_is_refused_is_sent_plain() {
        assert!(may_be_cured(&refusal(400, INVALID_FORM)));
        for error in [refusal(400, 50_006), refusal(403, INVALID_FORM), refusal(429, 0)] {
            assert!(!may_be_cured(&error), "{error}");
        }
    }
}
