//! The dialect against a server that answers with scripted bytes.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use atlas_core::ports::ToolSpec;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;
use crate::http;
use crate::model::scripted::{Scripted, Then, head, refusal, stream};

impl Scripted {
    fn model(&self, idle: Duration) -> OpenAi {
        let config = OpenAiConfig {
            name: "default".into(),
            model: "m".into(),
            base_url: Some(self.base_url.clone()),
            api_key: Some("sk-secret-key".into()),
            window: None,
            max_output: Some(64),
            strict_roles: false,
        };
        OpenAi::new(config, http::client_for(&self.base_url, idle).unwrap())
    }
}

const HELLO: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo.\"},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn hello() -> (Vec<u8>, Then) {
    (stream(&format!("{HELLO}{DONE}")), Then::Close)
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
        messages: vec![Arc::new(atlas_core::message::Body::note("Hi."))],
        strict_roles: false,
        reasoning: true,
        cache_key: "home-7".into(),
    }
}

const IDLE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

async fn asked(model: &OpenAi) -> (Result<Answer, ModelError>, String) {
    let mut heard = String::new();
    let answer = model.ask(&question(), &mut |Delta::Text(text)| heard.push_str(&text)).await;
    (answer, heard)
}

#[tokio::test]
async fn an_answer_is_heard_as_it_comes_and_given_whole() {
    let server = Scripted::start(vec![hello()]).await;
    let model = server.model(IDLE);
    let (answer, heard) = asked(&model).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), heard.as_str()), ("Hello.", "Hello."));
    assert_eq!(answer.blocks.unwrap().signer, format!("openai|{}|m", server.base_url));
    let (head, body) = server.seen.lock().await.remove(0);
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    assert!(head.contains("authorization: Bearer sk-secret-key"), "{head}");
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!((&body["max_tokens"], &body["prompt_cache_key"]), (&json!(64), &json!("home-7")));
}

#[tokio::test]
async fn an_end_without_done_is_an_end() {
    let answers = vec![(stream(HELLO), Then::Close), (stream(HELLO), Then::Stall)];
    let server = Scripted::start(answers).await;
    let model = server.model(SHORT);
    assert_eq!(asked(&model).await.0.unwrap().text, "Hello.");
    // The server keeps the connection: nobody waits for it.
    assert_eq!(asked(&model).await.0.unwrap().text, "Hello.");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let half =
        HELLO.split_once("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo").unwrap().0;
    let chunked = format!(
        "{}{:x}\r\n{half}\r\n",
        head("200 OK", "content-type: text/event-stream\r\ntransfer-encoding: chunked"),
        half.len()
    );
    let answers = vec![(stream(half), Then::Close), (chunked.into_bytes(), Then::Close)];
    let server = Scripted::start(answers).await;
    let model = server.model(IDLE);
    for _ in 0..2 {
        let (answer, heard) = asked(&model).await;
        assert!(matches!(answer, Err(ModelError::Truncated(_))), "{answer:?}");
        assert_eq!(heard, "Hel");
    }
}

#[tokio::test]
async fn a_stream_that_stands_still_is_given_up() {
    let answers =
        vec![(stream("data: {\"choices\":[]}\n\n"), Then::Stall), (Vec::new(), Then::Stall)];
    let server = Scripted::start(answers).await;
    let model = server.model(SHORT);
    for _ in 0..2 {
        let why = asked(&model).await.0.unwrap_err();
        assert!(
            matches!(&why, ModelError::Unreachable(why) if why.contains("stood still")),
            "{why}"
        );
    }
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(format!("{HELLO}{DONE}").as_bytes()).unwrap();
    let mut bytes =
        head("200 OK", "content-type: text/event-stream\r\ncontent-encoding: gzip").into_bytes();
    bytes.extend(encoder.finish().unwrap());
    let server = Scripted::start(vec![(bytes, Then::Close)]).await;
    assert_eq!(asked(&server.model(IDLE)).await.0.unwrap().text, "Hello.");
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable_and_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let server = Scripted { base_url, seen: Arc::default() };
    let why = asked(&server.model(IDLE)).await.0.unwrap_err();
    assert!(
        matches!(&why, ModelError::Unreachable(why) if why.contains("does not answer") && why.contains("refused")),
        "{why}"
    );
}

#[tokio::test]
async fn a_busy_server_says_how_long_to_wait() {
    let busy = refusal(
        "429 Too Many Requests",
        "retry-after: 3\r\n",
        r#"{"error":{"message":"slow down"}}"#,
    );
    let server = Scripted::start(vec![busy]).await;
    let why = asked(&server.model(IDLE)).await.0.unwrap_err();
    assert_eq!(
        why,
        ModelError::Busy {
            retry_after: Some(Duration::from_secs(3)),
            reason: "429 slow down".into()
        }
    );
}

#[tokio::test]
async fn a_field_that_is_refused_is_left_out_for_good() {
    let unknown = refusal(
        "400 Bad Request",
        "",
        r#"{"error":{"message":"Unknown parameter: 'prompt_cache_key'.","param":"prompt_cache_key"}}"#,
    );
    let limit = refusal(
        "400 Bad Request",
        "",
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
    );
    let server = Scripted::start(vec![unknown, limit, hello(), hello()]).await;
    let model = server.model(IDLE);
    for _ in 0..2 {
        assert_eq!(asked(&model).await.0.unwrap().text, "Hello.");
    }
    let seen = server.seen.lock().await;
    assert_eq!(seen.len(), 4);
    for (_, body) in &seen[2..] {
        assert_eq!((body.get("prompt_cache_key"), body.get("max_tokens")), (None, None));
        assert_eq!(body["max_completion_tokens"], 64);
    }
}

#[tokio::test]
async fn a_refusal_that_teaches_nothing_is_given_once() {
    let strict = refusal(
        "400 Bad Request",
        "",
        r#"{"error":{"message":"Conversation roles must alternate"}}"#,
    );
    let server = Scripted::start(vec![strict.clone(), strict]).await;
    let model = server.model(IDLE);
    assert!(matches!(asked(&model).await.0, Err(ModelError::StrictRoles(_))));
    let mut question = question();
    question.strict_roles = true;
    let again = model.ask(&question, &mut |_| {}).await;
    assert!(matches!(again, Err(ModelError::Refused(_))), "{again:?}");
    assert_eq!(server.seen.lock().await.len(), 2);
}

#[tokio::test]
async fn a_filter_that_refuses_the_question_is_an_end() {
    let filter = refusal(
        "400 Bad Request",
        "",
        r#"{"error":{"code":"content_filter","message":"filtered"}}"#,
    );
    let server = Scripted::start(vec![filter]).await;
    assert_eq!(asked(&server.model(IDLE)).await.0.unwrap().end, End::ContentFilter);
}

#[tokio::test]
async fn a_web_page_is_a_wrong_address() {
    let page = format!("{}<html>", head("200 OK", "content-type: text/html; charset=utf-8"));
    let server = Scripted::start(vec![(page.into_bytes(), Then::Close)]).await;
    let why = asked(&server.model(IDLE)).await.0.unwrap_err().to_string();
    assert!(why.contains("base_url"), "{why}");
}

#[tokio::test]
async fn a_conversation_follows_no_redirect_to_another_host() {
    for (status, location, expected) in [
        ("301 Moved Permanently", "https://other.example/v1/chat/completions", "other.example/v1;"),
        ("308 Permanent Redirect", "http://a:b@other.example/v1?key=x", "http://other.example/v1;"),
        ("302 Found", "/login", "/login;"),
        ("307 Temporary Redirect", "http://", "to nowhere"),
    ] {
        let head = format!("location: {location}\r\n");
        let server = Scripted::start(vec![refusal(status, &head, "")]).await;
        let (answer, _) = asked(&server.model(Duration::from_secs(5))).await;
        let Err(ModelError::Refused(why)) = answer else { panic!("{status}: {answer:?}") };
        assert!(why.contains(expected) && why.contains("base_url"), "{status}: {why}");
        assert_eq!(server.seen.lock().await.len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_within_the_host_keeps_the_request() {
    let there = Scripted::start(vec![hello()]).await;
    let head = format!("location: {}/chat/completions\r\n", there.base_url);
    let here = Scripted::start(vec![refusal("308 Permanent Redirect", &head, "")]).await;
    let (answer, _) = asked(&here.model(Duration::from_secs(5))).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(here.seen.lock().await[0].1, there.seen.lock().await[0].1);
}

#[tokio::test]
async fn the_key_is_in_no_error() {
    let echo = r#"{"error":{"message":"Incorrect API key provided: sk-secret-key."}}"#;
    let server = Scripted::start(vec![
        refusal("401 Unauthorized", "", echo),
        refusal("401 Unauthorized", "", echo),
    ])
    .await;
    let model = server.model(IDLE);
    for why in [asked(&model).await.0.unwrap_err(), model.check().await.unwrap_err()] {
        assert!(
            matches!(&why, ModelError::Auth(_)) && !format!("{why:?}").contains("sk-secret"),
            "{why:?}"
        );
    }
}

#[tokio::test]
async fn a_check_tells_what_the_server_has() {
    let listed = |body: &str| refusal("200 OK", "", body);
    let cases = [
        (listed(r#"{"data":[{"id":"m"}]}"#), ""),
        (listed(r#"{"data":[{"id":"m:latest"}]}"#), ""),
        (listed(r#"{"data":[{"id":"models/m"}]}"#), ""),
        (listed(r#"{"data":[{"id":"a"},{"id":"b"}]}"#), "it has a, b"),
        (listed(r#"{"data":[]}"#), "it lists none"),
        (refusal("404 Not Found", "", "{}"), "does not list its models"),
    ];
    let server = Scripted::start(cases.iter().map(|(answer, _)| answer.clone()).collect()).await;
    let model = server.model(IDLE);
    for (_, expected) in &cases {
        let warnings = model.check().await.unwrap().join("\n");
        assert!(
            warnings.contains(expected) && warnings.is_empty() == expected.is_empty(),
            "{warnings}"
        );
    }
    assert!(server.seen.lock().await[0].0.starts_with("GET /v1/models "));
    let elsewhere = Scripted::start(vec![listed("hello")]).await;
    let why = elsewhere.model(IDLE).check().await.unwrap_err().to_string();
    assert!(why.contains("base_url"), "{why}");
}

#[tokio::test]
async fn a_context_that_is_too_small_is_told_with_what_mends_it() {
    let listed = |body: &str| refusal("200 OK", "", body);
    let server = Scripted::start(vec![
        listed(r#"{"data":[{"id":"m:latest","owned_by":"library"}]}"#),
        listed(r#"{"models":[{"name":"m:latest","context_length":4096}]}"#),
        listed(r#"{"data":[{"id":"m","max_model_len":8192}]}"#),
        listed(r#"{"data":[{"id":"m","max_model_len":32768}]}"#),
        listed(r#"{"data":[{"id":"m","owned_by":"library"}]}"#),
        refusal("404 Not Found", "", "{}"),
    ])
    .await;
    let model = server.model(IDLE);
    let ollama = model.check().await.unwrap().join("\n");
    assert!(
        ollama.contains("4096 tokens") && ollama.contains("OLLAMA_CONTEXT_LENGTH=32768"),
        "{ollama}"
    );
    assert!(model.check().await.unwrap().join("\n").contains("8192 tokens"));
    assert!(model.check().await.unwrap().is_empty());
    assert!(model.check().await.unwrap().is_empty());
    assert!(server.seen.lock().await[1].0.starts_with("GET /api/ps "));
}
