//! Places and who answers in them: routes to other bots, edits, groups that move, many people at once.

use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, call, say};
use atlas_tests::telegram::{BOT_NAME, Chat, Draft, User};
use serde_json::json;

use crate::scene;

#[test]
fn a_topic_routed_to_another_bot_has_its_mission_and_its_own_memory() {
    let mut scene = scene();
    scene.home.write("bots/seo/BOT.md", "---\nname: SEO\n---\nYou look after rankings.\n");
    scene.home.write("memory/MEMORY.md", "A note of the main agent.\n");
    scene.configure(
        "[[routes]]\naccount = \"tg\"\nchat = \"-2001:55\"\nbot = \"seo\"\nanswer = \"all\"",
    );
    let forum = Chat::forum(-2_001, "Forum", &[55, 56]);
    let add = json!({"target": "memory", "operations": [{"action": "add", "content": "Titles are short."}]});
    scene.model.script(
        Takes::Containing("You look after rankings."),
        [call("memory", &add), say("SEO speaking")],
    );
    scene.model.script(Takes::All, [say("Atlas speaking")]);
    scene.start();
    let owner = scene.owner();
    scene.telegram.write(Draft::text(&forum, &owner, "no mention is needed here").in_topic(55));
    assert_eq!(scene.sent_to(forum.id, "SEO speaking").thread, Some(55));
    let request = scene.model.last().expect("a request");
    assert!(request.system().starts_with("You look after rankings."), "{}", request.system());
    assert!(!request.text().contains("A note of the main agent."));
    scene.dm("hello");
    scene.answered("Atlas speaking");
    scene.settled();
    assert!(!scene.model.last().expect("a request").text().contains("Titles are short."));
    assert_eq!(scene.home.read("memory/MEMORY.md"), "A note of the main agent.\n");
}

#[test]
fn an_edit_of_an_answered_message_is_no_new_question() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start();
    let owner = scene.owner();
    let message = scene.dm("the first wording");
    scene.answered("one");
    scene.settled();
    scene.telegram.edit(&Chat::dm(&owner), &owner, message, "the second wording");
    scene.dm("go on");
    scene.answered("two");
    scene.settled();
    assert_eq!(scene.model.requests().len(), 2);
    assert_eq!(scene.answers(), ["one", "two"]);
}

#[test]
fn a_group_that_becomes_a_supergroup_keeps_its_conversation() {
    let mut scene = scene();
    let (old, new) = (Chat::group(-501, "Team"), Chat::group(-100_501, "Team"));
    let owner = scene.owner();
    scene.model.script(Takes::All, [say("in the old one"), say("in the new one")]);
    scene.start();
    let ask = |chat: &Chat, text: &str| {
        Draft::text(chat, &owner, &format!("{BOT_NAME} {text}")).mentioning(BOT_NAME)
    };
    scene.telegram.write(ask(&old, "the launch is on Friday"));
    scene.sent_to(old.id, "in the old one");
    scene.settled();
    scene.telegram.write(Draft::content(&old, &owner, &json!({"migrate_to_chat_id": new.id})));
    scene.telegram.write(ask(&new, "when is the launch?"));
    scene.sent_to(new.id, "in the new one");
    let text = scene.model.last().expect("a request").text();
    assert!(text.contains("the launch is on Friday"), "{text}");
}

#[test]
fn thirty_people_at_once_are_each_answered_once() {
    let mut scene = scene();
    let token = "token = \"env:STAND_IN_TOKEN\"";
    scene.config = scene.config.replace(token, &format!("{token}\nallow = [\"*\"]"));
    scene.model.rule(Takes::All, |request| {
        let text = request.last("user");
        let number: String = text.rsplit("number ").next().unwrap_or_default().chars().collect();
        say(&format!("Hello, number {number}"))
    });
    scene.start();
    for number in 0..30 {
        scene.telegram.dm(&User::new(9_000 + number, "Guest"), &format!("I am number {number}"));
    }
    for number in 0..30 {
        scene.sent_to(9_000 + number, &format!("Hello, number {number}"));
    }
    scene.settled();
    assert_eq!(scene.telegram.sent().len(), 30);
    assert_eq!(scene.telegram.texts(OWNER), [""; 0]);
}

#[test]
fn messages_of_one_chat_are_answered_in_their_order() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |request| say(&format!("seen {}", request.messages().len())));
    scene.start();
    for number in 1..=20 {
        scene.dm(&format!("line {number:02}."));
    }
    scene.until("all are taken", |scene| {
        let text = scene.model.last()?.text();
        text.contains("line 20.").then_some(())
    });
    scene.settled();
    let text = scene.model.last().expect("a request").text();
    let places: Vec<_> = (1..=20).filter_map(|n| text.find(&format!("line {n:02}."))).collect();
    assert!(places.len() == 20 && places.is_sorted(), "{text}");
    assert!((1..=20).all(|n| text.matches(&format!("line {n:02}.")).count() == 1));
}
