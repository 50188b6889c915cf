//! Servers of models as they are: strict roles, reasoning, fields that nobody knows, and models that
//! never come to an end.

use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, call, say};
use serde_json::{Value, json};

use crate::scene;

fn add(text: &str) -> Value {
    json!({"target": "user", "operations": [{"action": "add", "content": text}]})
}

#[test]
fn a_server_with_strict_roles_is_found_out_once_and_remembered() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.strict_roles();
    scene.model.script(
        Takes::All,
        [call("memory", &add("Likes tea.")).after(&gate), say("Both seen."), say("And on.")],
    );
    scene.start();
    scene.dm("I like tea");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.dm("and coffee");
    scene.until("it is stored", |scene| (scene.telegram.unconfirmed() == 0).then_some(()));
    gate.open();
    scene.answered("Both seen.");
    scene.settled();
    let refused = scene.model.requests().len() - 2;
    assert_eq!(refused, 1, "refused once, then rendered strictly");
    assert!(scene.model.last().expect("a request").text().contains("and coffee"));
    scene.stop();
    scene.start();
    scene.dm("go on");
    scene.answered("And on.");
    scene.settled();
    assert_eq!(scene.model.requests().len(), 4, "it is not found out again");
}

#[test]
fn a_model_that_is_configured_as_strict_is_never_refused() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.config = scene.config.replace("window = 200000", "window = 200000\nstrict_roles = true");
    scene.model.strict_roles();
    scene
        .model
        .script(Takes::All, [call("memory", &add("Likes tea.")).after(&gate), say("Both seen.")]);
    scene.start();
    scene.dm("I like tea");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.dm("and coffee");
    scene.until("it is stored", |scene| (scene.telegram.unconfirmed() == 0).then_some(()));
    gate.open();
    scene.answered("Both seen.");
    scene.settled();
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn reasoning_is_never_delivered_and_unknown_fields_go_back_as_they_came() {
    let mut scene = scene();
    let fields = json!({"reasoning_content": "secret thoughts", "x_signature": "c2ln"});
    scene.model.script(
        Takes::All,
        [
            call("memory", &add("Likes tea.")).with_fields(fields.clone()),
            say("Noted.").with_fields(fields),
            say("Again."),
        ],
    );
    scene.start();
    scene.dm("I like tea");
    scene.answered("Noted.");
    scene.settled();
    let back = scene.model.last().expect("a request").body.to_string();
    assert!(back.contains("c2ln"), "the signature goes back: {back}");
    scene.dm("once more");
    scene.answered("Again.");
    assert!(!scene.telegram.texts(OWNER).iter().any(|text| text.contains("secret")));
}

#[test]
fn a_model_that_never_stops_calling_is_stopped() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |request| {
        if request.last("user").contains("are you there") {
            return say("I am.");
        }
        call("memory", &add(&format!("Fact {}.", request.messages().len())))
    });
    scene.start();
    scene.dm("remember everything");
    // Each ten steps have a ceiling of their own: they write to a disk that others use too.
    for steps in [10, 20, 30, 40] {
        scene
            .until("ten more steps", |scene| (scene.model.requests().len() >= steps).then_some(()));
    }
    let told = scene.until("a word about it", |scene| {
        scene.telegram.sent().into_iter().find(|sent| !sent.silent).map(|sent| sent.text)
    });
    scene.settled();
    assert!(told.contains("40"), "{told}");
    assert_eq!(scene.model.requests().len(), 40);
    scene.dm("are you there?");
    scene.answered("I am.");
}

#[test]
fn the_third_refusal_of_the_memory_tool_says_to_stop() {
    let mut scene = scene();
    let replace = json!({"target": "user", "operations": [
        {"action": "replace", "old_text": "no such entry", "content": "x"},
    ]});
    let again = || call("memory", &replace);
    scene.model.script(Takes::All, [again(), again(), again(), say("I could not.")]);
    scene.start();
    scene.dm("change it");
    scene.answered("I could not.");
    scene.settled();
    let result = scene.model.last().expect("a request").last("tool").to_lowercase();
    assert!(result.contains("stop") || result.contains("answer"), "{result}");
    assert_eq!(scene.home.read("memory/USER.md"), "");
}

#[test]
fn two_conversations_that_write_one_file_at_once_lose_nothing() {
    let mut scene = scene();
    scene.configure("[conversations]\njoin_direct = false");
    scene.model.rule(Takes::All, |request| match request.last_role() {
        "tool" => say("Noted."),
        _ => {
            let text = request.last("user");
            let fact = text.rsplit("remember ").next().unwrap_or_default().to_owned();
            call("memory", &add(&format!("Fact {fact}.")))
        }
    });
    scene.start();
    // All terminals are one conversation; its messages come one after the other here.
    let terminal = scene.chat(&["remember c0", "remember c1", "remember c2"]);
    for number in 0..3 {
        scene.dm(&format!("remember t{number}"));
    }
    let (status, _, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    scene.settled();
    let profile = scene.home.read("memory/USER.md");
    for number in 0..3 {
        assert_eq!(profile.matches(&format!("Fact c{number}.")).count(), 1, "{profile}");
    }
    assert!(profile.contains("Fact t2."), "{profile}");
}
