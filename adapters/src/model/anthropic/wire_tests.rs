//! The dialect against a server that answers with scripted bytes.

use std::sync::Arc;
use std::time::Duration;

use atlas_core::message::{Blocks, Body, Call};
use atlas_core::ports::{End, ToolSpec};
use serde_json::{Value, json};

use super::*;
use crate::http;
use crate::model::scripted::{Scripted, Then, refusal, stream};

impl Scripted {
    fn anthropic(&self, idle: Duration) -> Anthropic {
        let config = AnthropicConfig {
            name: "default".into(),
            model: "m".into(),
            base_url: Some(self.base_url.clone()),
            api_key: Some("sk-ant-secret-key".into()),
            window: Some(200_000),
            max_output: None,
            cache_ttl: CacheTtl::Hour,
        };
        Anthropic::new(config, http::client_for(&self.base_url, idle).unwrap())
    }
}

const IDLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

fn events(events: &[Value]) -> String {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn hello() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]
}

fn said() -> (Vec<u8>, Then) {
    (stream(&events(&hello())), Then::Close)
}

fn refused(status: &str, kind: &str, message: &str) -> (Vec<u8>, Then) {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    refusal(status, "", &body.to_string())
}

fn question() -> ModelRequest {
    let spec = ToolSpec {
        name: "memory".into(),
        description: "Keeps.".into(),
        schema: json!({"type": "object"}),
    };
    ModelRequest {
        system: "Be kind.".into(),
        tools: Arc::new([spec]),
        messages: vec![Arc::new(Body::note("Hi."))],
        strict_roles: false,
        reasoning: true,
        cache_key: "home-7".into(),
    }
}

async fn asked(model: &Anthropic) -> (Result<Answer, ModelError>, String) {
    let mut heard = String::new();
    let answer = model.ask(&question(), &mut |Delta::Text(text)| heard.push_str(&text)).await;
    (answer, heard)
}

#[tokio::test]
async fn an_answer_is_heard_as_it_comes_and_given_whole() {
    let server = Scripted::start(vec![said()]).await;
    let (answer, heard) = asked(&server.anthropic(IDLE)).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), heard.as_str()), ("Hello.", "Hello."));
    assert_eq!((answer.tokens.input, answer.tokens.cached, answer.tokens.output), (12, 9, 2));
    let root = server.base_url.strip_suffix("/v1").unwrap();
    assert_eq!(answer.blocks.unwrap().signer, format!("anthropic|{root}|m"));
    let (head, body) = server.seen.lock().await.remove(0);
    assert!(head.starts_with("POST /v1/messages "), "{head}");
    assert!(head.contains("x-api-key: sk-ant-secret-key"), "{head}");
    assert!(head.contains("anthropic-version: 2023-06-01") && !head.contains("beta"), "{head}");
    assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(MAX_OUTPUT), &json!(true)));
    assert_eq!(body["system"][0]["cache_control"]["ttl"], "1h");
}

#[tokio::test]
async fn the_end_is_the_end_also_where_the_server_keeps_the_connection() {
    let mut short = hello();
    short.pop();
    let answers =
        vec![(stream(&events(&hello())), Then::Stall), (stream(&events(&short)), Then::Close)];
    let server = Scripted::start(answers).await;
    let model = server.anthropic(SHORT);
    for _ in 0..2 {
        assert_eq!(asked(&model).await.0.unwrap().text, "Hello.");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_or_stands_still_or_fails_is_no_answer() {
    let half = events(&hello()[..4]);
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let failing = format!("{half}{}", events(&[overloaded]));
    let answers = vec![
        (stream(&half), Then::Close),
        (stream(&half), Then::Stall),
        (stream(&failing), Then::Close),
    ];
    let server = Scripted::start(answers).await;
    let model = server.anthropic(SHORT);
    let (answer, heard) = asked(&model).await;
    assert!(matches!(answer, Err(ModelError::Truncated(_))), "{answer:?}");
    assert_eq!(heard, "Hel");
    let answer = asked(&model).await.0;
    assert!(matches!(answer, Err(ModelError::Unreachable(_))), "{answer:?}");
    let answer = asked(&model).await.0;
    assert!(matches!(answer, Err(ModelError::Busy { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_limit_of_output_that_the_server_names_holds_from_then_on() {
    let limit =
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m";
    let answers = vec![refused("400 Bad Request", "invalid_request_error", limit), said(), said()];
    let server = Scripted::start(answers).await;
    let model = server.anthropic(IDLE);
    for _ in 0..2 {
        assert_eq!(asked(&model).await.0.unwrap().text, "Hello.");
    }
    let limits: Vec<Value> =
        server.seen.lock().await.iter().map(|(_, body)| body["max_tokens"].clone()).collect();
    assert_eq!(limits, [json!(32_000), json!(8_192), json!(8_192)]);
}

#[tokio::test]
async fn a_server_that_binds_reasoning_to_its_place_is_told_to_pass_over_what_lost_it() {
    let bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a \
                 different conversation. Remove the block, or set \
                 `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";
    let refuses = || refused("400 Bad Request", "invalid_request_error", bound);
    let server = Scripted::start(vec![refuses(), said(), said(), refuses()]).await;
    let model = server.anthropic(IDLE);
    for _ in 0..2 {
        assert_eq!(asked(&model).await.0.unwrap().text, "Hello.");
    }
    let again = asked(&model).await.0;
    assert!(matches!(again, Err(ModelError::Signature(_))), "learnt once: {again:?}");
    let seen = server.seen.lock().await;
    assert_eq!(seen.len(), 4);
    for (head, body) in &seen[1..] {
        assert!(head.contains("anthropic-beta: thinking-binding-controls-2026-08-01"), "{head}");
        assert_eq!(body["thinking"]["block_binding"]["prefix_mismatch_behavior"], "drop_block");
    }
}

#[tokio::test]
async fn a_busy_server_says_how_long_to_wait() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let busy = refusal("429 Too Many Requests", "retry-after: 3\r\n", body);
    let server = Scripted::start(vec![busy]).await;
    let why = asked(&server.anthropic(IDLE)).await.0.unwrap_err();
    let retry_after = Some(Duration::from_secs(3));
    assert_eq!(why, ModelError::Busy { retry_after, reason: "429 slow down".into() });
}

// Case 76: what the provider signed goes back as it came.
#[tokio::test]
async fn case_76_reasoning_is_replayed_byte_for_byte() {
    let block = r#"{"type":"thinking","thinking":"They \"like\" tea. é\n","signature":"EqQB+/=="}"#;
    let thinking = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "They \"like\" tea. é\n"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQB+/=="}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "memory", "input": {}}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    let server = Scripted::start(vec![(stream(&events(&thinking)), Then::Close), said()]).await;
    let model = server.anthropic(IDLE);
    let (answer, heard) = asked(&model).await;
    let Answer { text, calls, blocks, end, .. } = answer.unwrap();
    assert_eq!((text.as_str(), heard.as_str(), end), ("", "", End::Finished));
    assert!(blocks.as_ref().unwrap().raw.contains(block));
    let mut next = question();
    next.messages.push(Arc::new(Body::Assistant { text, calls, blocks }));
    let (call, name, text) = ("a".into(), "memory".into(), "Done.".into());
    next.messages.push(Arc::new(Body::Tool { call, name, text, outside: false }));
    model.ask(&next, &mut |_| {}).await.unwrap();
    let sent = &server.seen.lock().await[1].1;
    assert_eq!(sent["messages"][1]["content"][0].to_string(), block);
    assert_eq!(sent["messages"][2]["content"][0]["tool_use_id"], "a");
}

#[tokio::test]
async fn the_key_is_in_no_error() {
    let echo = || refused("401 Unauthorized", "authentication_error", "no: sk-ant-secret-key");
    let server = Scripted::start(vec![echo(), echo()]).await;
    let model = server.anthropic(IDLE);
    for why in [asked(&model).await.0.unwrap_err(), model.check().await.unwrap_err()] {
        assert!(
            matches!(&why, ModelError::Auth(_)) && !format!("{why:?}").contains("sk-ant-secret"),
            "{why:?}"
        );
    }
}

#[tokio::test]
async fn a_check_tells_whether_the_server_has_the_model_and_what_is_nearest() {
    let listed = |body: &str| refusal("200 OK", "", body);
    let unknown = || refused("404 Not Found", "not_found_error", "model: m");
    let server = Scripted::start(vec![
        listed(r#"{"type":"model","id":"m-20260101"}"#),
        listed(r#"{"type":"model","id":"m","max_input_tokens":100000}"#),
        unknown(),
        listed(r#"{"data":[{"id":"zebra"},{"id":"m-5"}]}"#),
        unknown(),
        unknown(),
        unknown(),
        listed(r#"{"data":[{"id":"m"}]}"#),
    ])
    .await;
    let model = server.anthropic(IDLE);
    assert!(model.check().await.unwrap().is_empty());
    let wide = model.check().await.unwrap().join("\n");
    assert!(wide.contains("set window = 100000"), "{wide}");
    let why = model.check().await.unwrap_err();
    assert!(matches!(&why, ModelError::Refused(why) if why.contains("it has m-5, zebra")), "{why}");
    assert!(model.check().await.unwrap().join("\n").contains("does not list its models"));
    assert!(model.check().await.unwrap().is_empty());
    let seen = server.seen.lock().await;
    assert!(seen[0].0.starts_with("GET /v1/models/m "), "{}", seen[0].0);
    assert!(seen[3].0.starts_with("GET /v1/models?limit=1000 "), "{}", seen[3].0);
}

#[test]
fn an_address_may_be_written_with_or_without_its_path() {
    for written in ["https://h/a", "https://h/a/", "https://h/a/v1", "https://h/a/v1/messages"] {
        assert_eq!(root(written.trim_end_matches('/')), "https://h/a", "{written}");
    }
}

#[test]
fn a_small_window_leaves_room_for_what_is_read() {
    let config = |window, max_output| AnthropicConfig {
        name: "default".into(),
        model: "m".into(),
        base_url: None,
        api_key: None,
        window,
        max_output,
        cache_ttl: CacheTtl::FiveMinutes,
    };
    let limit = |window, max_output| {
        let client = http::client_for("http://127.0.0.1:1", IDLE).unwrap();
        Anthropic::new(config(window, max_output), client).lessons().max_output
    };
    assert_eq!(limit(None, None), MAX_OUTPUT);
    assert_eq!(limit(Some(200_000), None), MAX_OUTPUT);
    assert_eq!(limit(Some(32_768), None), 8_192);
    assert_eq!(limit(Some(32_768), Some(9)), 9);
}

/// What is replayed to whom is the signer's matter, and a signer is a dialect, a server and a model.
#[test]
fn a_signer_is_a_dialect_a_server_and_a_model() {
    let call = Call { id: "a".into(), name: "t".into(), arguments: "{}".into() };
    let blocks = Blocks { signer: "openai|https://api.anthropic.com|m".into(), raw: "{}".into() };
    let mut request = question();
    let body = Body::Assistant { text: "Hm.".into(), calls: vec![call], blocks: Some(blocks) };
    request.messages.push(Arc::new(body));
    let client = http::client_for("http://127.0.0.1:1", IDLE).unwrap();
    let config = AnthropicConfig {
        name: "default".into(),
        model: "m".into(),
        base_url: None,
        api_key: None,
        window: None,
        max_output: None,
        cache_ttl: CacheTtl::Hour,
    };
    let model = Anthropic::new(config, client);
    assert_eq!(model.info().signer, "anthropic|https://api.anthropic.com|m");
    let body = render(&request, &model.server(model.lessons())).unwrap();
    assert!(String::from_utf8(body).unwrap().contains("Hm."));
}
