use atlas_core::ports::DeliveryKind;
use serde_json::Value;

use super::super::stand_in::StandIn;
use super::*;

const SENT: &str = r#"{"ok":true,"result":{"message_id":91,"date":1,"chat":{"id":5}}}"#;
const BAD_FORMAT: &str =
    r#"{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: no"}"#;
const NO_THREAD: &str =
    r#"{"ok":false,"error_code":400,"description":"Bad Request: message thread not found"}"#;
const SLOWLY: &str =
    r#"{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":3}}"#;
const BLOCKED: &str =
    r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#;

fn outgoing(chat: &str, text: &str, silent: bool) -> Outgoing {
    Outgoing {
        id: DeliveryId::new(),
        to: ChatKey { account: "tg".into(), chat: chat.into() },
        text: text.to_owned(),
        silent,
        kind: DeliveryKind::Answer,
        reply_to: None,
    }
}

async fn send(
    platform: &TelegramPlatform,
    message: &Outgoing,
    repeat: bool,
) -> Result<Receipt, SendError> {
    let parts = platform.encode(message);
    assert_eq!(parts, platform.encode(message), "encoding is not pure");
    let since = chrono::DateTime::UNIX_EPOCH;
    let repeat = repeat.then_some(Repeat { since, age: std::time::Duration::from_secs(1) });
    platform.send(message, &parts[0], 0, repeat).await
}

fn texts(server: &StandIn) -> Vec<String> {
    let text = |(_, asked): (_, Value)| asked["text"].as_str().unwrap_or_default().to_owned();
    server.asked().into_iter().map(text).collect()
}

#[tokio::test]
async fn a_message_goes_to_its_topic_with_its_format() {
    let server = StandIn::answering([(200, SENT), (200, SENT)]);
    let platform = server.account().platform();
    let receipt = send(&platform, &outgoing("-5:55", "**hi**", true), false).await.unwrap();
    assert_eq!(receipt.message, "91".into());
    send(&platform, &outgoing("-5", "hi", false), true).await.unwrap();
    let asked: Vec<_> = server.asked().into_iter().map(|(_, asked)| asked).collect();
    let expected = serde_json::json!({
        "chat_id": -5, "text": "<b>hi</b>", "message_thread_id": 55, "parse_mode": "HTML",
        "disable_notification": true,
    });
    assert_eq!(asked[0], expected);
    let expected = serde_json::json!({"chat_id": -5, "text": "♻︎ hi", "parse_mode": "HTML"});
    assert_eq!(asked[1], expected);
}

#[tokio::test]
async fn case_14_a_refused_format_is_sent_plain_and_never_again() {
    let server = StandIn::answering([(400, BAD_FORMAT), (429, SLOWLY), (200, SENT)]);
    let platform = server.account().platform();
    let message = outgoing("5", "* a **b**", false);
    let wait = send(&platform, &message, false).await;
    assert_eq!(wait, Err(SendError::RetryAfter(std::time::Duration::from_secs(3))));
    send(&platform, &message, false).await.unwrap();
    assert_eq!(texts(&server), ["• a <b>b</b>", "* a **b**", "* a **b**"]);
    assert!(platform.plain.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_text_that_is_refused_plain_too_is_refused_for_good() {
    let server = StandIn::answering([(400, BAD_FORMAT), (400, BAD_FORMAT)]);
    let platform = server.account().platform();
    let refused = send(&platform, &outgoing("5", "a", false), false).await;
    assert!(matches!(refused, Err(SendError::Rejected(_))), "{refused:?}");
    assert_eq!(server.asked().len(), 2);
    assert!(platform.plain.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_to_a_topic_that_is_gone_is_not_lost() {
    let server = StandIn::answering([(400, NO_THREAD), (400, BAD_FORMAT), (200, SENT)]);
    let platform = server.account().platform();
    send(&platform, &outgoing("-5:55", "*a*", false), false).await.unwrap();
    let asked = server.asked();
    let threads: Vec<_> =
        asked.iter().map(|(_, asked)| asked["message_thread_id"].as_i64()).collect();
    assert_eq!(threads, [Some(55), None, None]);
    assert_eq!(asked[2].1["text"], "*a*");
}

#[tokio::test]
async fn a_blocked_bot_tries_once_and_a_lost_answer_is_unknown() {
    let server = StandIn::answering([(403, BLOCKED), (0, ""), (500, "oops")]);
    let platform = server.account().platform();
    let blocked = send(&platform, &outgoing("5", "a", false), false).await;
    assert!(matches!(blocked, Err(SendError::Rejected(_))), "{blocked:?}");
    for _ in 0..2 {
        let lost = send(&platform, &outgoing("5", "a", false), false).await;
        assert!(matches!(lost, Err(SendError::Unknown(_))), "{lost:?}");
    }
    let strange = send(&platform, &outgoing("nowhere", "a", false), false).await;
    assert!(matches!(strange, Err(SendError::Rejected(_))), "{strange:?}");
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn typing_is_shown_in_the_topic_and_its_failure_is_nobodys() {
    let server = StandIn::answering([(200, r#"{"ok":true,"result":true}"#), (403, BLOCKED)]);
    let platform = server.account().platform();
    let place = |chat: &str| ChatKey { account: "tg".into(), chat: chat.into() };
    platform.typing(&place("-5:55")).await;
    platform.typing(&place("-5")).await;
    platform.typing(&place("nowhere")).await;
    let asked = server.asked();
    let expected = serde_json::json!({"chat_id": -5, "action": "typing", "message_thread_id": 55});
    assert_eq!(asked[0], ("sendChatAction".to_owned(), expected));
    assert_eq!(asked.len(), 2);
}
