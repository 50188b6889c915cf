use reqwest::header::{HeaderName, HeaderValue};

use super::*;

fn error(status: u16, body: &str) -> ModelError {
    Problem::from_body(status, body.as_bytes()).into_error(None)
}

fn name(error: &ModelError) -> &'static str {
    match error {
        ModelError::Busy { .. } => "busy",
        ModelError::Unreachable(_) => "unreachable",
        ModelError::Truncated(_) => "truncated",
        ModelError::Auth(_) => "auth",
        ModelError::Payment(_) => "payment",
        ModelError::Overflow(_) => "overflow",
        ModelError::StrictRoles(_) => "strict",
        ModelError::Signature(_) => "signature",
        ModelError::Refused(_) => "refused",
    }
}

/// What servers answer with, and what each means.
const FAILURES: &[(u16, &str, &str)] = &[
    (
        429,
        r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
        "busy",
    ),
    (
        429,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        "payment",
    ),
    (
        429,
        r#"{"error":{"message":"Request too large for gpt on tokens per min (TPM): Limit 10000, Requested 12000","code":"rate_limit_exceeded"}}"#,
        "overflow",
    ),
    (429, "", "busy"),
    (503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#, "busy"),
    (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "busy"),
    (401, r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#, "auth"),
    (403, "<html>no</html>", "auth"),
    (
        400,
        r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
        "auth",
    ),
    (
        402,
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
        "payment",
    ),
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        "overflow",
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}"#,
        "overflow",
    ),
    (
        400,
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","code":400}"#,
        "overflow",
    ),
    (
        400,
        r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. The number of tokens to keep from the initial prompt is greater than the context length"}"#,
        "overflow",
    ),
    (
        422,
        r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096","error_type":"validation"}"#,
        "overflow",
    ),
    (
        400,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}","provider_name":"x"}}}"#,
        "overflow",
    ),
    (413, "<html>Request Entity Too Large</html>", "overflow"),
    (
        400,
        r#"{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError"}}"#,
        "strict",
    ),
    (
        500,
        r#"{"error":{"code":500,"message":"After the optional system message, conversation roles must alternate","type":"server_error"}}"#,
        "strict",
    ),
    (400, r#"{"error":{"message":"System message must be at the beginning."}}"#, "strict"),
    (
        400,
        r#"{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_error","code":3230}"#,
        "strict",
    ),
    (
        400,
        r#"{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages"}}"#,
        "refused",
    ),
    (
        404,
        r#"{"error":{"message":"model \"qwen9\" not found, try pulling it first","type":"api_error"}}"#,
        "refused",
    ),
    (
        422,
        r#"{"detail":[{"loc":["body","messages"],"msg":"field required","input":"roles must alternate"}]}"#,
        "refused",
    ),
    (500, r#"{"error":{"message":"boom"}}"#, "unreachable"),
    (502, "<html>bad gateway</html>", "unreachable"),
    (408, "", "unreachable"),
    (307, "", "refused"),
];

#[test]
fn a_failure_means_what_its_status_and_code_say() {
    for (status, body, expected) in FAILURES {
        assert_eq!(name(&error(*status, body)), *expected, "{status} {body}");
    }
}

// Case 78: whatever a person quotes is an ordinary turn. Only statuses of failure are read at all;
// the input that a server repeats beside its own words is not.
#[test]
fn case_78_words_of_the_chat_decide_nothing() {
    let quoted = "Context overflow: prompt is too long, roles must alternate, insufficient_quota";
    for body in [
        serde_json::json!({"detail": [{"loc": ["body", "tools"], "msg": "bad", "input": quoted}]}),
        serde_json::json!({"error": {"message": "bad request", "request": {"messages": [{"content": quoted}]}}}),
    ] {
        assert_eq!(name(&error(400, &body.to_string())), "refused");
        assert_eq!(name(&error(503, &body.to_string())), "busy");
    }
    let flaky = serde_json::json!({"error": {"message": quoted}});
    assert_eq!(name(&error(502, &flaky.to_string())), "unreachable");
    assert_eq!(name(&error(401, &flaky.to_string())), "auth");
}

#[test]
fn what_anthropic_answers_with_is_known_by_status_and_type() {
    for (status, kind, said, expected) in [
        (400, "invalid_request_error", "messages: at least one message is required", "refused"),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "overflow",
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
            "overflow",
        ),
        (
            400,
            "invalid_request_error",
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "signature",
        ),
        (
            400,
            "invalid_request_error",
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
            "signature",
        ),
        (
            400,
            "invalid_request_error",
            "messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
            "signature",
        ),
        (
            400,
            "invalid_request_error",
            "messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
            "signature",
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            "payment",
        ),
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (402, "billing_error", "There is an issue with your billing", "payment"),
        (403, "permission_error", "Your API key does not have permission", "auth"),
        (404, "not_found_error", "model: claude-none", "refused"),
        (
            413,
            "request_too_large",
            "Request exceeds the maximum allowed number of bytes",
            "overflow",
        ),
        (429, "rate_limit_error", "This request would exceed your rate limit", "busy"),
        (500, "api_error", "Internal server error", "unreachable"),
        (504, "timeout_error", "Request timed out", "unreachable"),
        (529, "overloaded_error", "Overloaded", "busy"),
    ] {
        let body = serde_json::json!({"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"});
        assert_eq!(name(&error(status, &body.to_string())), expected, "{status} {said}");
        if status != 400 && status != 404 && status != 413 {
            let streamed = Problem::in_stream(&body).into_error(None);
            assert_eq!(name(&streamed), expected, "{kind} in the stream");
        }
    }
}

// Case 89: the reason reaches the owner.
#[test]
fn case_89_the_providers_reason_is_passed_on_bounded_and_without_the_key() {
    let said = error(402, r#"{"error":{"message":"Add credit at example.com"}}"#).to_string();
    assert!(said.contains("402 Add credit at example.com"), "{said}");
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "wörd ".repeat(500));
    let ModelError::Refused(reason) = error(400, &long) else { panic!() };
    assert_eq!(reason.chars().count(), 500);
    let key = "sk-proj-0123456789";
    let body = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {key} (sk-p****6789).\nSee here."}}}}"#
    );
    let problem = Problem::from_body(401, body.as_bytes()).without(Some(key));
    let reason = problem.into_error(None).to_string();
    assert!(
        !reason.contains("0123") && !reason.contains("6789") && !reason.contains('\n'),
        "{reason}"
    );
    assert!(reason.contains("Incorrect API key provided: [key]"), "{reason}");
}

#[test]
fn a_filter_of_the_provider_is_known_by_its_code() {
    let azure = r#"{"error":{"code":"content_filter","message":"The response was filtered","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    assert!(Problem::from_body(400, azure.as_bytes()).is_content_filter());
    assert!(
        !Problem::from_body(400, br#"{"error":{"message":"content_filter"}}"#).is_content_filter()
    );
}

#[test]
fn the_wait_is_read_in_seconds_milliseconds_and_dates() {
    let date = "Wed, 21 Oct 2015 07:28:00 GMT";
    for (headers, expected) in [
        (vec![("retry-after", "7")], Some(7_000)),
        (vec![("retry-after", " 1.5 ")], Some(1_500)),
        (vec![("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
        (vec![("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), ("date", date)], Some(30_000)),
        (vec![("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"), ("date", date)], Some(0)),
        (vec![("retry-after", date)], None),
        (vec![("retry-after", "-1")], None),
        (vec![("retry-after", "1e300")], None),
        (vec![("retry-after", "NaN")], None),
        (vec![("retry-after", "soon")], None),
        (vec![], None),
    ] {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let wait = retry_after(&map).map(|wait| wait.as_millis());
        assert_eq!(wait, expected, "{headers:?}");
    }
}
