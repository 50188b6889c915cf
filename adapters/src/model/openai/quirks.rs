//! What one server turned out not to take. Learnt from its own refusals, kept for as long as the
//! client lives, and only ever growing: a request is refused for the same reason once.

use std::collections::BTreeSet;

use crate::model::arguments::hex;
use crate::model::problem::Problem;

/// How servers say that they do not know a field.
const UNKNOWN: [&str; 16] = [
    "unsupported",
    "unknown",
    "unrecognized",
    "unexpected",
    "not permitted",
    "not supported",
    "not support",
    "not allowed",
    "not a valid",
    "no such",
    "extra inputs",
    "additional properties",
    "does not exist",
    "cannot find field",
    "removed from",
    "remove the",
];

/// What a server does not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// Names of fields that are left out: of the request, or of a replayed message.
    refused: BTreeSet<String>,
    /// Ids of calls must be nine letters and digits.
    short_ids: bool,
}

impl Quirks {
    /// Whether the field may be sent.
    pub(super) fn takes(&self, field: &str) -> bool {
        !self.refused.contains(field)
    }

    /// Whether replayed messages may be sent as they are stored.
    pub(super) fn takes_everything(&self) -> bool {
        self.refused.is_empty() && !self.short_ids
    }

    /// Takes a lesson from a refusal of a request that held the fields `sent`, all of which can be
    /// left out. True if the next request will differ.
    pub(super) fn learn(&mut self, problem: &Problem, sent: &BTreeSet<String>) -> bool {
        if !matches!(problem.status, 400 | 422) {
            return false;
        }
        if !self.short_ids && problem.says(&["a-z, a-z, 0-9, with a length of 9"]) {
            self.short_ids = true;
            return true;
        }
        let unknown = problem.code == "unsupported_parameter"
            || problem.code == "unknown_parameter"
            || problem.says(&UNKNOWN);
        let named = sent.iter().filter(|field| {
            last_name(&problem.param) == *field || unknown && names(&problem.message, field)
        });
        let fresh: Vec<String> = named.filter(|field| self.takes(field)).cloned().collect();
        let learnt = !fresh.is_empty();
        self.refused.extend(fresh);
        learnt
    }

    /// The id of a call as this server takes it: the same for the call and for its result.
    pub(super) fn id(&self, id: &str) -> String {
        let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !self.short_ids || is_short {
            return id.to_owned();
        }
        hex(id, 9)
    }
}

/// `messages[1].reasoning` names `reasoning`.
fn last_name(param: &str) -> &str {
    param.rsplit(['.', '/']).next().unwrap_or(param)
}

/// Whether the words hold the field's name as a word of its own.
fn names(message: &str, field: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    message.match_indices(field).any(|(at, _)| {
        let before = message[..at].chars().next_back();
        let after = message[at + field.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(body: &str, sent: &[&str]) -> Vec<String> {
        let sent: BTreeSet<String> = sent.iter().map(|field| (*field).to_owned()).collect();
        let mut quirks = Quirks::default();
        let problem = Problem::from_body(400, body.as_bytes());
        let first = quirks.learn(&problem, &sent);
        assert_eq!(first, !quirks.refused.is_empty());
        assert!(!quirks.learn(&problem, &sent), "a lesson is learnt once");
        quirks.refused.into_iter().collect()
    }

    #[test]
    fn a_refused_field_is_known_in_every_spelling() {
        let sent = ["prompt_cache_key", "stream_options", "max_tokens", "reasoning_content"];
        for (body, expected) in [
            (
                r#"{"error":{"message":"Unknown parameter: 'prompt_cache_key'.","type":"invalid_request_error","param":"prompt_cache_key","code":"unknown_parameter"}}"#,
                "prompt_cache_key",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","prompt_cache_key"],"msg":"Extra inputs are not permitted","input":"k"}]}"#,
                "prompt_cache_key",
            ),
            (
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
                "max_tokens",
            ),
            (
                r#"{"error":{"message":"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]"}}"#,
                "reasoning_content",
            ),
            (
                r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"stream_options\": Cannot find field.","status":"INVALID_ARGUMENT"}}]"#,
                "stream_options",
            ),
        ] {
            assert_eq!(learnt(body, &sent), [expected], "{body}");
        }
    }

    #[test]
    fn other_refusals_teach_nothing() {
        let sent = ["max_tokens"];
        for body in [
            r#"{"error":{"message":"max_tokens is too large"}}"#,
            r#"{"error":{"message":"Unknown parameter: 'max_tokens_total'"}}"#,
            r#"{"error":{"message":"Unknown parameter: 'temperature'","param":"temperature"}}"#,
            "not json",
        ] {
            assert!(learnt(body, &sent).is_empty(), "{body}");
        }
    }

    #[test]
    fn ids_are_cut_to_nine_where_a_server_asks_for_it() {
        let mut quirks = Quirks::default();
        assert_eq!(quirks.id("call_1"), "call_1");
        let body = br#"{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}"#;
        assert!(quirks.learn(&Problem::from_body(400, body), &BTreeSet::new()));
        assert_eq!(quirks.id("call_1").len(), 9);
        assert_eq!(quirks.id("call_1"), quirks.id("call_1"));
        assert_eq!(quirks.id("abcDEF123"), "abcDEF123");
    }
}
