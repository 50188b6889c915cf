//! The main job on the wire: written on Telegram, answered in place, once.

use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, call, say};
use atlas_tests::telegram::{BOT_NAME, Chat, Draft, SendFault, User};
use serde_json::json;

use crate::scene;

#[test]
fn a_direct_message_is_answered_once_with_typing_before_it() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("Hello, Ana.")]);
    scene.start();
    scene.dm("good morning");
    let sent = scene.answered("Hello, Ana.");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["Hello, Ana."]);
    assert!(!sent.silent, "an answer makes a sound");
    let typing = scene.telegram.actions();
    let first = typing.first().expect("typing was shown");
    assert_eq!((first.chat, first.action.as_str()), (OWNER, "typing"));
    assert!(first.order < sent.order, "typing comes before the answer");
    let request = scene.model.last().expect("a request");
    assert!(request.last("user").contains("good morning"));
    assert!(request.tools().contains(&"memory"));
}

#[test]
fn a_topic_is_answered_in_the_topic() {
    let mut scene = scene();
    let forum = Chat::forum(-2_001, "Forum", &[55, 56]);
    scene.model.script(Takes::All, [say("in here")]);
    scene.start();
    let text = format!("{BOT_NAME} where are you?");
    scene
        .telegram
        .write(Draft::text(&forum, &scene.owner(), &text).mentioning(BOT_NAME).in_topic(55));
    let sent = scene.sent_to(forum.id, "in here");
    assert_eq!(sent.thread, Some(55));
    assert!(scene.telegram.actions().iter().all(|typing| typing.thread == Some(55)));
}

#[test]
fn a_reply_thread_of_a_plain_group_is_no_topic() {
    let mut scene = scene();
    let group = scene.group();
    scene.model.script(Takes::All, [say("plainly")]);
    scene.start();
    let draft = Draft::text(&group, &scene.owner(), &format!("😀 {BOT_NAME} hello"))
        .mentioning(BOT_NAME)
        .with("message_thread_id", json!(9));
    scene.telegram.write(draft);
    assert_eq!(scene.sent_to(group.id, "plainly").thread, None);
}

#[test]
fn in_a_group_a_bot_answers_a_mention_a_reply_and_nothing_else() {
    let mut scene = scene();
    let (group, owner) = (scene.group(), scene.owner());
    scene.model.script(Takes::All, [say("you called?"), say("you replied")]);
    scene.start();
    scene.telegram.write(Draft::text(&group, &owner, "the launch is on Friday"));
    let mention = format!("{BOT_NAME} when is the launch?");
    scene.telegram.write(Draft::text(&group, &owner, &mention).mentioning(BOT_NAME));
    let sent = scene.sent_to(group.id, "you called?");
    let request = scene.model.last().expect("a request");
    assert!(request.text().contains("the launch is on Friday"), "what was said nearby is shown");
    scene.telegram.write(Draft::text(&group, &owner, "and why?").reply_to(&sent.message));
    scene.sent_to(group.id, "you replied");
    scene.settled();
    assert_eq!(scene.telegram.texts(group.id).len(), 2);
    assert_eq!(scene.telegram.texts(OWNER), [""; 0]);
}

#[test]
fn strangers_get_nothing_but_a_line_with_a_code_in_a_dm() {
    let mut scene = scene();
    let (group, stranger) = (scene.group(), User::new(99, "Eve"));
    scene.model.script(Takes::All, [say("for the owner")]);
    scene.start();
    scene.telegram.dm(&stranger, "hello?");
    scene.telegram.dm(&stranger, "/status");
    let mention = format!("{BOT_NAME} hello?");
    scene.telegram.write(Draft::text(&group, &stranger, &mention).mentioning(BOT_NAME));
    let anonymous = Draft::text(&group, &stranger, &mention).mentioning(BOT_NAME).anonymous();
    scene.telegram.write(anonymous);
    scene.dm("hello");
    scene.answered("for the owner");
    scene.settled();
    let sent = scene.telegram.sent();
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().any(|sent| sent.chat == 99 && sent.text.contains("/allow ")));
    assert!(scene.telegram.actions().iter().all(|typing| typing.chat == OWNER));
}

#[test]
fn a_hanging_model_call_does_not_delay_another_conversation() {
    let mut scene = scene();
    let (group, gate) = (scene.group(), scene.model.gate());
    scene.model.script(Takes::Containing("slow question"), [say("at last").after(&gate)]);
    scene.model.script(Takes::All, [say("at once")]);
    scene.start();
    let slow = format!("{BOT_NAME} slow question");
    scene.telegram.write(Draft::text(&group, &scene.owner(), &slow).mentioning(BOT_NAME));
    scene.until("the slow call hangs", |_| gate.reached().then_some(()));
    scene.dm("quick question");
    scene.answered("at once");
    assert_eq!(scene.telegram.texts(group.id), [""; 0]);
    gate.open();
    scene.sent_to(group.id, "at last");
}

#[test]
fn what_arrives_during_a_turn_joins_it_at_its_next_step() {
    let mut scene = scene();
    let gate = scene.model.gate();
    let add = json!({"target": "user", "operations": [{"action": "add", "content": "Likes tea."}]});
    scene.model.script(Takes::All, [call("memory", &add).after(&gate), say("Both seen.")]);
    scene.start();
    scene.dm("I like tea");
    scene.until("the first call hangs", |_| gate.reached().then_some(()));
    scene.dm("and I like coffee");
    scene.until("the second message is stored", |scene| {
        (scene.telegram.unconfirmed() == 0).then_some(())
    });
    gate.open();
    scene.answered("Both seen.");
    let request = scene.model.last().expect("a request");
    assert!(request.text().contains("and I like coffee"));
    scene.settled();
    assert_eq!(scene.answers(), ["Both seen."]);
}

#[test]
fn commands_are_answered_without_the_model() {
    let mut scene = scene();
    scene.start();
    scene.dm("/help");
    let help = scene.until("help", |scene| scene.telegram.texts(OWNER).pop());
    for command in ["/status", "/stop", "/help"] {
        assert!(help.contains(command), "{help}");
    }
    scene.dm("/status");
    let status = scene.until("status", |scene| {
        Some(scene.telegram.texts(OWNER)).filter(|texts| texts.len() == 2)?.pop()
    });
    assert!(status.contains("atlas") || status.contains("Atlas"), "{status}");
    assert!(status.contains("stand-in") || status.contains("main"), "names the model: {status}");
    scene.settled();
    assert!(scene.model.requests().is_empty());
}

#[test]
fn stop_ends_a_turn_at_once_and_the_conversation_goes_on() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("never said").after(&gate), say("still here")]);
    scene.start();
    scene.dm("think long");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.dm("/stop");
    scene.until("an answer to /stop", |scene| scene.telegram.texts(OWNER).pop());
    scene.settled();
    scene.dm("are you there?");
    scene.answered("still here");
    gate.open();
    scene.settled();
    assert!(!scene.telegram.texts(OWNER).contains(&"never said".to_owned()));
}

#[test]
fn a_platform_that_asks_to_wait_or_fails_gets_the_answer_once() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.telegram.plan_sends([SendFault::TooMany(1)]);
    scene.start();
    scene.dm("first");
    scene.answered("one");
    scene.telegram.plan_sends([SendFault::Status(502), SendFault::Status(500)]);
    scene.dm("second");
    scene.until("the second answer, perhaps marked", |scene| {
        scene.telegram.texts(OWNER).iter().any(|text| text.ends_with("two")).then_some(())
    });
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER).len(), 2);
}

#[test]
fn an_answer_whose_receipt_was_lost_is_repeated_once_and_marked() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one")]);
    scene.telegram.plan_sends([SendFault::LostAnswer]);
    scene.start();
    scene.dm("first");
    scene.until("the repeat", |scene| (scene.telegram.texts(OWNER).len() == 2).then_some(()));
    scene.settled();
    let texts = scene.telegram.texts(OWNER);
    assert_eq!(texts[0], "one");
    assert!(texts[1].contains('♻') && texts[1].contains("one"), "{texts:?}");
}

#[test]
fn refused_formatting_falls_back_to_the_text_as_it_was_written() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("a **bold** word and `code`")]);
    scene.telegram.plan_sends([SendFault::RefuseEntities]);
    scene.start();
    scene.dm("format it");
    let sent = scene.answered("a **bold** word and `code`");
    assert_eq!(sent.html, None);
    scene.settled();
    assert_eq!(scene.telegram.sent().len(), 1);
}

#[test]
fn an_answer_is_formatted_and_split_within_telegrams_limits() {
    let mut scene = scene();
    let code = format!("```rust\n{}\n```", "let answer = 42; // <&>\n".repeat(400));
    let text = format!("# Title\n\nsome **bold** text\n\n{code}\n\nthe end");
    scene.model.script(Takes::All, [say(&text)]);
    scene.start();
    scene.dm("a long one");
    scene.until("the last part", |scene| {
        scene
            .telegram
            .texts(OWNER)
            .last()
            .is_some_and(|last| last.ends_with("the end"))
            .then_some(())
    });
    let sent = scene.telegram.sent();
    assert!(sent.len() > 1, "it was split");
    let html = sent[0].html.clone().expect("formatted");
    assert!(html.contains("<b>bold</b>"), "{html}");
    let lines: usize =
        sent.iter().map(|part| part.text.matches("let answer = 42; // <&>").count()).sum();
    assert_eq!(lines, 400, "nothing is lost and nothing is doubled");
    for part in sent.iter().filter(|part| part.text.contains("let answer")) {
        let html = part.html.clone().expect("formatted");
        assert!(html.contains("language-rust"), "every part of the fence is code: {html}");
    }
}

#[test]
fn a_bot_that_was_blocked_does_not_try_for_ever() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("nobody reads this"), say("back again")]);
    scene.start();
    scene.telegram.block(OWNER);
    scene.dm("hello");
    scene.until("a try", |scene| (scene.telegram.tries() > 0).then_some(()));
    scene.settled();
    assert!(scene.telegram.tries() <= 3, "{} tries", scene.telegram.tries());
    scene.telegram.unblock(OWNER);
    scene.dm("I am back");
    scene.answered("back again");
}

#[test]
fn polling_survives_whatever_the_server_does() {
    use atlas_tests::telegram::PollFault;
    let mut scene = scene();
    scene.announce_error("another");
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.telegram.plan_polls([
        PollFault::Status(502),
        PollFault::Cut,
        PollFault::Malformed,
        PollFault::Conflict,
    ]);
    scene.start();
    scene.dm("first");
    scene.answered("one");
    scene.telegram.other_poller();
    scene.dm("second");
    scene.answered("two");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["one", "two"]);
}

#[test]
fn an_update_number_that_starts_anew_is_no_old_one() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start();
    scene.dm("first");
    scene.answered("one");
    scene.settled();
    scene.stop();
    scene.telegram.jump_to_update(10);
    scene.dm("second");
    scene.start();
    scene.answered("two");
    scene.settled();
}
