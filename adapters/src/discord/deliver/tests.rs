use atlas_core::ports::DeliveryKind;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::super::stand_in::{StandIn, account_at};
use super::*;

const SENT: &str = r#"{"id":"91","content":"x","flags":0}"#;
const PRIVATE: &str = r#"{"id":"91","content":"x","flags":64}"#;
const ME: &str = r#"{"id":"7","username":"atlas"}"#;
const SLOWLY: &str =
    r#"{"message":"You are being rate limited.","retry_after":0.65,"global":false}"#;
const BAD_FORM: &str = r#"{"message":"Invalid Form Body","code":50035,"errors":{"content":{"_errors":[{"code":"X","message":"Something about it."}]}}}"#;
const NO_CHANNEL: &str = r#"{"message":"Unknown Channel","code":10003}"#;
const NO_DM: &str = r#"{"message":"Cannot send messages to this user","code":50007}"#;
const OVER: &str = r#"{"message":"Invalid Webhook Token","code":50027}"#;

/// An hour after Discord's time began.
fn since() -> DateTime<Utc> {
    DateTime::from_timestamp(1_420_070_400 + 3_600, 0).unwrap()
}

fn repeat(seconds: u64) -> Option<Repeat> {
    Some(Repeat { since: since(), age: Duration::from_secs(seconds) })
}

fn outgoing(text: &str) -> Outgoing {
    Outgoing {
        id: DeliveryId(Uuid::from_u128(u128::MAX)),
        to: ChatKey { account: "dc".into(), chat: "55".into() },
        text: text.to_owned(),
        silent: false,
        kind: DeliveryKind::Answer,
        reply_to: None,
    }
}

async fn send(
    platform: &DiscordPlatform,
    message: &Outgoing,
    index: usize,
    repeat: Option<Repeat>,
) -> Result<Receipt, SendError> {
    let parts = platform.encode(message);
    assert_eq!(parts, platform.encode(message), "encoding is not pure");
    platform.send(message, &parts[index], index, repeat).await
}

/// A message of somebody's, as the chat shows it.
fn seen(id: u64, author: u64, content: &str) -> Value {
    json!({"id": id.to_string(), "content": content, "author": {"id": author.to_string()}})
}

fn page(messages: &[Value]) -> String {
    Value::from(messages.to_vec()).to_string()
}

#[tokio::test]
async fn a_message_calls_nobody_and_carries_its_nonce() {
    let server = StandIn::answering([(200, SENT), (200, SENT)]);
    let platform = server.account().platform();
    let receipt = send(&platform, &outgoing("**hi** @everyone"), 0, None).await.unwrap();
    assert_eq!(receipt.message, "91".into());
    send(&platform, &Outgoing { silent: true, ..outgoing("hi") }, 0, None).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[0].what, "POST /channels/55/messages");
    let expected = json!({
        "content": "**hi** @\u{200b}everyone", "allowed_mentions": {"parse": []},
        "nonce": "7n42DGM5Tflk9n8mt7Fhc7", "enforce_nonce": true,
    });
    assert_eq!(asked[0].body, expected);
    assert_eq!(asked[1].body["flags"], 4096);
}

#[test]
fn each_part_has_a_nonce_of_its_own_that_discord_takes() {
    let id = DeliveryId::new();
    let nonces: Vec<_> = (0..8).map(|index| nonce(id, index)).collect();
    for (index, nonce) in nonces.iter().enumerate() {
        assert!(nonce.len() == 22 && nonce.chars().all(|c| c.is_ascii_alphanumeric()), "{nonce}");
        assert!(!nonces[..index].contains(nonce));
        assert_eq!(*nonce, super::nonce(id, index), "not the same after a restart");
    }
}

#[tokio::test]
async fn a_young_repeat_has_the_same_nonce_and_no_mark() {
    let server = StandIn::answering([(0, ""), (200, SENT)]);
    let platform = server.account().platform();
    let message = outgoing("hi");
    let lost = send(&platform, &message, 0, None).await;
    assert!(matches!(lost, Err(SendError::Unknown(_))), "{lost:?}");
    send(&platform, &message, 0, repeat(119)).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[0].body, asked[1].body);
}

#[tokio::test]
async fn an_old_repeat_finds_what_had_arrived() {
    let tried = place::first_at(since());
    for found in [
        seen(tried + 3, 7, "**hi** there"),
        seen(tried + 3, 7, "♻︎ **hi** there"),
        json!({"id": (tried + 3).to_string(), "author": {"id": "7"}, "content": "cut",
            "nonce": "7n42DGM5Tflk9n8mt7Fhc7"}),
    ] {
        let others = [
            seen(tried + 9, 8, "**hi** there"),
            seen(tried + 8, 7, "**hi**"),
            json!({"id": (tried + 7).to_string(), "author": {"id": "7"}, "content": "**hi** there",
                "nonce": "another"}),
            found,
        ];
        let server = StandIn::answering([(200, ME), (200, &page(&others))]);
        let platform = server.account().platform();
        let receipt = send(&platform, &outgoing("**hi** there"), 0, repeat(3_600)).await.unwrap();
        assert_eq!(receipt.message, (tried + 3).to_string().into());
        let asked = server.asked();
        assert_eq!(asked[0].what, "GET /users/@me");
        let after = place::first_at(since() - CLOCKS_APART) - 1;
        assert_eq!(asked[1].what, format!("GET /channels/55/messages?&after={after}&limit=100"));
    }
}

#[tokio::test]
async fn an_old_repeat_that_had_not_arrived_is_marked() {
    let others: Vec<_> = (1..=100).rev().map(|id| seen(id, 8, "hi")).collect();
    let server = StandIn::answering([
        (200, ME),
        (200, &page(&others)),
        (200, "[]"),
        (200, SENT),
        // The bot may not read what is said there: the same.
        (403, r#"{"message":"Missing Access","code":50001}"#),
        (200, SENT),
    ]);
    let platform = server.account().platform();
    for _ in 0..2 {
        send(&platform, &outgoing("hi"), 0, repeat(120)).await.unwrap();
    }
    let asked = server.asked();
    assert!(asked[2].what.contains("&after=100&"), "{}", asked[2].what);
    for post in [&asked[3], &asked[5]] {
        assert_eq!(post.body["content"], "♻︎ hi");
    }
    assert_eq!(asked.iter().filter(|asked| asked.what == "GET /users/@me").count(), 1);
}

#[tokio::test]
async fn a_look_that_fails_sends_nothing() {
    let server = StandIn::answering([(200, ME), (429, SLOWLY), (502, "oops"), (0, "")]);
    let platform = server.account().platform();
    let wait = send(&platform, &outgoing("hi"), 0, repeat(120)).await;
    assert_eq!(wait, Err(SendError::RetryAfter(Duration::from_millis(650))));
    for _ in 0..2 {
        let failed = send(&platform, &outgoing("hi"), 0, repeat(120)).await;
        assert!(matches!(failed, Err(SendError::Unknown(_))), "{failed:?}");
    }
}

#[tokio::test]
async fn parts_of_the_same_text_are_not_taken_for_one_another() {
    let message = outgoing(&"x".repeat(3 * 1_997));
    let tried = place::first_at(since());
    let before = seen(tried - 1, 7, &"x".repeat(1_997));
    let server = StandIn::answering([(200, ME), (200, "[]"), (200, SENT)]);
    let platform = server.account().platform();
    send(&platform, &message, 1, repeat(3_600)).await.unwrap();
    let asked = server.asked();
    let after = asked[1].what.split(['=', '&']).nth(2).unwrap().parse::<u64>().unwrap();
    assert!(before["id"].as_str().unwrap().parse::<u64>().unwrap() <= after, "{after}");
}

#[tokio::test]
async fn each_failure_is_told_to_the_courier() {
    let server = StandIn::answering([
        (429, SLOWLY),
        (500, "oops"),
        (502, "<html>"),
        (200, "not json"),
        (404, NO_CHANNEL),
        (403, NO_DM),
    ]);
    let platform = server.account().platform();
    let message = outgoing("hi");
    let wait = send(&platform, &message, 0, None).await;
    assert_eq!(wait, Err(SendError::RetryAfter(Duration::from_millis(650))));
    for _ in 0..3 {
        let unknown = send(&platform, &message, 0, None).await;
        assert!(matches!(unknown, Err(SendError::Unknown(_))), "{unknown:?}");
    }
    for _ in 0..2 {
        let rejected = send(&platform, &message, 0, None).await;
        assert!(matches!(rejected, Err(SendError::Rejected(_))), "{rejected:?}");
    }
    let strange =
        Outgoing { to: ChatKey { chat: "nowhere".into(), ..message.to.clone() }, ..message };
    let strange = send(&platform, &strange, 0, None).await;
    assert!(matches!(strange, Err(SendError::Rejected(_))), "{strange:?}");
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent_and_no_error_holds_a_token() {
    let account = account_at("http://127.0.0.1:1");
    account.interactions.asked(5, 9.into(), "another-secret".into());
    account.interactions.acknowledged(5, true);
    let platform = account.platform();
    for reply_to in [None, Some("5".into())] {
        let failed = send(&platform, &Outgoing { reply_to, ..outgoing("hi") }, 0, None).await;
        assert!(matches!(failed, Err(SendError::Transient(_))), "{failed:?}");
        let told = format!("{failed:?}");
        assert!(!told.contains("secret") && !told.contains("TOKEN"), "{told}");
    }
}

#[tokio::test]
async fn a_refused_form_is_sent_plain_once() {
    let server =
        StandIn::answering([(400, BAD_FORM), (200, SENT), (400, BAD_FORM), (400, BAD_FORM)]);
    let platform = server.account().platform();
    send(&platform, &outgoing("*a*"), 0, None).await.unwrap();
    let refused = send(&platform, &outgoing("*a*"), 0, None).await;
    let Err(SendError::Rejected(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("content: Something about it."), "{why}");
    let contents: Vec<_> =
        server.asked().iter().map(|asked| asked.body["content"].clone()).collect();
    assert_eq!(contents, ["_a_", "*a*", "_a_", "*a*"]);
}

#[tokio::test]
async fn a_very_long_text_goes_along_as_a_file() {
    let server = StandIn::answering([(200, SENT)]);
    let platform = server.account().platform();
    let text = "All of it, **line** by line.\n\n".repeat(900);
    let message = outgoing(&text);
    assert_eq!(platform.encode(&message).len(), 1);
    send(&platform, &message, 0, None).await.unwrap();
    let asked = server.asked();
    let body = &asked[0].text;
    assert!(body.contains(&text), "the whole as it was written");
    assert!(body.contains("filename=\"answer.md\"") && body.contains("name=\"payload_json\""));
    assert!(body.contains(r#""attachments":[{"id":0,"filename":"answer.md"}]"#), "{body}");
}

fn commanded(server: &StandIn) -> (Arc<DiscordPlatform>, Outgoing) {
    let account = server.account();
    account.interactions.asked(5, 9.into(), "cmd".into());
    account.interactions.acknowledged(5, true);
    (account.platform(), Outgoing { reply_to: Some("5".into()), ..outgoing(&"x".repeat(3_000)) })
}

#[tokio::test]
async fn case_8_a_command_is_answered_where_it_was_acknowledged() {
    let server = StandIn::answering([(200, PRIVATE), (200, PRIVATE), (200, SENT), (200, SENT)]);
    let (platform, message) = commanded(&server);
    send(&platform, &message, 0, None).await.unwrap();
    send(&platform, &message, 1, None).await.unwrap();
    // A repeat changes the same message once more.
    send(&platform, &message, 0, repeat(60)).await.unwrap();
    let asked = server.asked();
    let what: Vec<_> = asked.iter().map(|asked| asked.what.as_str()).collect();
    let original = "/webhooks/9/cmd/messages/@original";
    assert_eq!(what[0], format!("PATCH {original}"));
    assert_eq!(what[1..3], [format!("GET {original}"), "POST /webhooks/9/cmd".to_owned()]);
    assert_eq!(asked[2].body["flags"], 64, "as private as the first part");
    assert_eq!((what[3], &asked[3].body), (what[0], &asked[0].body));
}

#[tokio::test]
async fn a_command_too_old_is_answered_by_a_message() {
    let server = StandIn::answering([
        (401, OVER),
        (200, SENT),
        (401, OVER),
        (200, ME),
        (200, "[]"),
        (200, SENT),
    ]);
    let (platform, message) = commanded(&server);
    send(&platform, &message, 0, None).await.unwrap();
    // The answer may stand where the command was acknowledged, and no nonce tells: it is looked for.
    send(&platform, &message, 0, repeat(10)).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[1].what, "POST /channels/55/messages");
    assert_eq!(asked[4].what, "GET /channels/55/messages?&after=4&limit=100");
    assert!(asked[5].body["content"].as_str().unwrap().starts_with("♻︎ x"));
}

#[tokio::test]
async fn typing_is_shown_and_its_failure_is_nobodys() {
    let server = StandIn::answering([(204, ""), (403, NO_DM)]);
    let platform = server.account().platform();
    let place = |chat: &str| ChatKey { account: "dc".into(), chat: chat.into() };
    platform.typing(&place("55")).await;
    platform.typing(&place("56")).await;
    platform.typing(&place("nowhere")).await;
    let asked = server.asked();
    assert_eq!(asked[0].what, "POST /channels/55/typing");
    assert_eq!(asked.len(), 2);
}
