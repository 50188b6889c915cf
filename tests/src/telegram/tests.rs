//! The stand-in refuses what the real server refuses.

use super::*;
use crate::wire::request;

fn call(telegram: &Telegram, method: &str, body: &Value) -> Option<(u16, Value)> {
    let (status, body) = request(telegram.address, "POST", &format!("/bot{TOKEN}/{method}"), body)?;
    Some((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

fn told(telegram: &Telegram, method: &str, body: &Value) -> String {
    let (status, body) = call(telegram, method, body).unwrap();
    match body["description"].as_str() {
        Some(description) => format!("{status} {description}"),
        None => status.to_string(),
    }
}

fn scene() -> (Telegram, User) {
    let telegram = Telegram::start(&Bell::new());
    let user = User::new(5, "Ana");
    telegram.enter(&Chat::dm(&user));
    telegram.enter(&Chat::group(-100, "Team"));
    telegram.enter(&Chat::forum(-200, "Forum", &[55]));
    (telegram, user)
}

#[test]
fn a_message_that_telegram_would_refuse_is_refused_in_its_words() {
    let (telegram, _) = scene();
    let long = "😀".repeat(2049);
    let fits = "😀".repeat(2048);
    for (body, answer) in [
        (json!({"chat_id": 5, "text": " \n"}), "400 Bad Request: message text is empty"),
        (json!({"chat_id": 5}), "400 Bad Request: message text is empty"),
        (json!({"chat_id": 5, "text": long}), "400 Bad Request: message is too long"),
        (json!({"chat_id": 5, "text": fits}), "200"),
        (json!({"chat_id": "5", "text": format!("<b>{fits}</b>"), "parse_mode": "HTML"}), "200"),
        (
            json!({"chat_id": 5, "text": "é <x>", "parse_mode": "HTML"}),
            "400 Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 3",
        ),
        (json!({"chat_id": 5, "text": "a <x>"}), "200"),
        (json!({"chat_id": 6, "text": "a"}), "400 Bad Request: chat not found"),
        (json!({"text": "a"}), "400 Bad Request: chat_id is empty"),
        (
            json!({"chat_id": 5, "text": "a", "reply_markup": null}),
            "400 Bad Request: object expected as reply markup",
        ),
        (
            json!({"chat_id": 5, "text": "a", "parse_mode": null}),
            "400 Bad Request: unsupported parse_mode",
        ),
        (
            json!({"chat_id": -200, "text": "a", "message_thread_id": 56}),
            "400 Bad Request: message thread not found",
        ),
        (
            json!({"chat_id": -200, "text": "a", "message_thread_id": 1}),
            "400 Bad Request: message thread not found",
        ),
        (json!({"chat_id": -200, "text": "a", "message_thread_id": 55}), "200"),
        (json!({"chat_id": -100, "text": "a", "message_thread_id": 55}), "200"),
    ] {
        assert_eq!(told(&telegram, "SendMessage", &body), answer, "{body}");
    }
    assert_eq!(telegram.sent().last().unwrap().thread, None);
    assert_eq!(telegram.sent()[telegram.sent().len() - 2].thread, Some(55));
    assert_eq!(telegram.problems(), Vec::<String>::new());
}

#[test]
fn a_bot_that_was_blocked_cannot_write() {
    let (telegram, user) = scene();
    telegram.block(user.id);
    let answer = told(&telegram, "sendMessage", &json!({"chat_id": 5, "text": "a"}));
    assert_eq!(answer, "403 Forbidden: bot was blocked by the user");
}

#[test]
fn planned_faults_come_in_order_and_an_unmet_one_is_a_problem() {
    let (telegram, _) = scene();
    telegram.plan_sends([
        SendFault::TooMany(7),
        SendFault::Status(502),
        SendFault::LostAnswer,
        SendFault::LostRequest,
        SendFault::RefuseEntities,
    ]);
    let send = |text: &str| call(&telegram, "sendMessage", &json!({"chat_id": 5, "text": text}));
    let (status, body) = send("a").unwrap();
    assert_eq!((status, &body["parameters"]["retry_after"]), (429, &json!(7)));
    assert_eq!(send("b").unwrap().0, 502);
    assert_eq!(send("c"), None);
    assert_eq!(send("d"), None);
    assert_eq!(telegram.texts(5), ["c"]);
    let html = json!({"chat_id": 5, "text": "e", "parse_mode": "HTML"});
    assert!(told(&telegram, "sendMessage", &html).contains("can't parse entities"));
    assert_eq!(telegram.problems(), Vec::<String>::new());
    telegram.plan_sends([SendFault::Status(500)]);
    assert_eq!(telegram.problems().len(), 1);
}

#[test]
fn updates_come_again_until_an_offset_confirms_them() {
    let (telegram, user) = scene();
    telegram.dm(&user, "one");
    telegram.dm(&user, "two");
    let poll = |body: &Value| {
        let (_, answer) = call(&telegram, "GetUpdates", body).unwrap();
        let updates = answer["result"].as_array().unwrap().clone();
        updates
            .iter()
            .map(|update| update["message"]["text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(poll(&json!({})), ["one", "two"]);
    assert_eq!(poll(&json!({"offset": 0})), ["one", "two"]);
    assert_eq!(poll(&json!({"offset": 1002})), ["two"]);
    assert_eq!(poll(&json!({})), ["two"]);
    assert_eq!(poll(&json!({"offset": 1003})), [""; 0]);
    assert_eq!(telegram.polls(), [None, Some(0), Some(1002), None, Some(1003)]);
}

#[test]
fn a_poll_waits_for_an_update_and_a_second_poller_ends_the_first() {
    let (telegram, user) = scene();
    let waits = |telegram: &Telegram| {
        let telegram = telegram.clone();
        std::thread::spawn(move || call(&telegram, "getUpdates", &json!({"timeout": 20})).unwrap())
    };
    let polls = |count: usize| {
        let bell = telegram.state.bell().clone();
        crate::bell::until(
            &bell,
            "polls",
            || telegram.describe(),
            || (telegram.polls().len() == count).then_some(()),
        );
    };
    let first = waits(&telegram);
    polls(1);
    let second = waits(&telegram);
    let (status, body) = first.join().unwrap();
    assert_eq!(status, 409);
    assert!(body["description"].as_str().unwrap().starts_with("Conflict: terminated by other"));
    polls(2);
    telegram.dm(&user, "here");
    let (_, body) = second.join().unwrap();
    assert_eq!(body["result"][0]["message"]["text"], "here");
}

#[test]
fn an_unknown_method_and_a_wrong_token_are_refused() {
    let (telegram, _) = scene();
    assert_eq!(told(&telegram, "getChatMenuButton", &json!({})), "404 Not Found");
    assert_eq!(telegram.take_problems().len(), 1);
    let answer = request(telegram.address, "POST", "/bot1:wrong/getMe", &json!({})).unwrap();
    assert_eq!(answer.0, 401);
    assert_eq!(call(&telegram, "GetMe", &json!({})).unwrap().1["result"]["id"], json!(BOT_ID));
}

#[test]
fn an_edit_to_the_same_text_is_no_edit() {
    let (telegram, _) = scene();
    told(&telegram, "sendMessage", &json!({"chat_id": 5, "text": "a"}));
    let edit = |text: &str| {
        told(&telegram, "editMessageText", &json!({"chat_id": 5, "message_id": 1, "text": text}))
    };
    assert!(edit("a").starts_with("400 Bad Request: message is not modified"));
    assert_eq!(edit("b"), "200");
    assert_eq!(telegram.texts(5), ["b"]);
}

#[test]
fn mentions_count_in_utf16_units() {
    let user = User::new(5, "Ana");
    let draft =
        Draft::text(&Chat::group(-1, "G"), &user, "😀 @atlas_test_bot hi").mentioning(BOT_NAME);
    assert_eq!(draft.body["entities"][0], json!({"type": "mention", "offset": 3, "length": 15}));
}
