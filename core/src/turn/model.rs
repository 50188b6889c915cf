//! Asking a model, with everything that can go wrong on the way: what is tried again, how long, and
//! what people are told meanwhile.

use std::time::Duration;

use crate::ports::ModelError;
use crate::retry::{LONGEST, back_off, jitter};
use chrono::{DateTime, Utc};

/// After this long of trying, people are told that it takes longer.
pub(super) const TELL_AFTER: Duration = Duration::from_secs(20);

/// What to do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Wait and ask again, as long as patience lasts.
    Wait(Duration),
    /// Ask again at once, in the strict rendering.
    Strict,
    /// Ask again at once, without the reasoning of earlier answers.
    WithoutReasoning,
    /// Cut the episode and ask again.
    Cut,
    /// Give up: what the person is told, and whether only the owner may read the reason.
    GiveUp {
        /// What is told in the conversation.
        says: String,
        /// What the owner is told in private, where the conversation is not.
        reason: String,
    },
}

/// What to do about an error, by its kind. `tries` counts the ones before; `strict` and `reasoning` say
/// how the request was rendered.
pub(super) fn remedy(error: &ModelError, tries: u32, strict: bool, reasoning: bool) -> Remedy {
    match error {
        ModelError::Busy { retry_after, .. } => Remedy::Wait(jitter(
            retry_after.map_or_else(|| back_off(tries), |asked| asked.min(LONGEST)),
        )),
        ModelError::Unreachable(_) | ModelError::Truncated(_) => {
            Remedy::Wait(jitter(back_off(tries)))
        }
        ModelError::StrictRoles(_) if !strict => Remedy::Strict,
        ModelError::Signature(_) if reasoning => Remedy::WithoutReasoning,
        ModelError::Overflow(_) => Remedy::Cut,
        ModelError::Auth(reason) => give_up(
            "I cannot reach my model: its server refuses the key.",
            format!(
                "The model's server refuses the key: {reason}\nMend `api_key` of the model in atlas.toml."
            ),
        ),
        ModelError::Payment(reason) => give_up(
            "I cannot reach my model: its account has no credit.",
            format!("The model's account has no credit: {reason}\nMend it with the provider."),
        ),
        ModelError::StrictRoles(reason)
        | ModelError::Signature(reason)
        | ModelError::Refused(reason) => give_up(
            "My model's server refused the request.",
            format!("The model's server refused the request: {reason}"),
        ),
    }
}

fn give_up(says: &str, reason: String) -> Remedy {
    Remedy::GiveUp { says: says.to_owned(), reason }
}

/// Whether patience with an outage is at its end.
pub(super) fn is_over(
    since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    patience: Duration,
) -> bool {
    lasted(since, now) >= patience
}

/// How long an outage has lasted.
pub(super) fn lasted(since: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Duration {
    since.and_then(|since| (now - since).to_std().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_asks_to_wait_is_obeyed_up_to_a_minute() {
        let busy = |secs| ModelError::Busy {
            retry_after: Some(Duration::from_secs(secs)),
            reason: String::new(),
        };
        for (asked, least) in [(7, 7), (3_600, 60)] {
            let Remedy::Wait(wait) = remedy(&busy(asked), 0, false, true) else {
                panic!("busy waits")
            };
            assert!(
                wait >= Duration::from_secs(least) && wait <= Duration::from_secs(least) * 5 / 4
            );
        }
    }

    #[test]
    fn strict_roles_are_tried_once() {
        let error = ModelError::StrictRoles("alternate".into());
        assert_eq!(remedy(&error, 0, false, true), Remedy::Strict);
        assert!(matches!(remedy(&error, 1, true, true), Remedy::GiveUp { .. }));
    }

    #[test]
    fn reasoning_that_is_refused_is_left_out_once() {
        let error = ModelError::Signature("invalid signature".into());
        assert_eq!(remedy(&error, 0, false, true), Remedy::WithoutReasoning);
        assert!(matches!(remedy(&error, 0, false, false), Remedy::GiveUp { .. }));
    }

    #[test]
    fn a_provider_s_reason_is_for_the_owner() {
        let Remedy::GiveUp { says, reason } =
            remedy(&ModelError::Payment("balance is 0".into()), 0, false, true)
        else {
            panic!("no credit gives up");
        };
        assert!(!says.contains("balance") && reason.contains("balance is 0"));
    }
}
