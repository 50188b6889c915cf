//! A model that does not answer, and those that stand in for it.

use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, call, say, status, truncated};
use serde_json::json;

use crate::scene;

/// A scene in which `other` stands in for the bot's model.
fn with_another() -> Harness {
    let mut scene = scene();
    scene.config =
        scene.config.replace("window = 200000", "window = 200000\nfallback = [\"other\"]");
    let (address, key) = (scene.model.base_url(), "api_key = \"env:STAND_IN_KEY\"");
    let key = if scene.config.contains(key) { key } else { "" };
    scene.configure(&format!(
        "[models.other]\nprovider = \"anthropic\"\nmodel = \"other-model\"\nbase_url = \"{address}\"\n{key}"
    ));
    scene
}

/// The models that were asked, in order.
fn asked(scene: &Harness) -> Vec<String> {
    let model = |body: &serde_json::Value| body["model"].as_str().unwrap_or_default().to_owned();
    scene.model.requests().iter().map(|request| model(&request.body)).collect()
}

#[test]
fn a_busy_server_that_does_not_say_how_long_is_passed_by_at_once() {
    let mut scene = with_another();
    scene.model.script(Takes::Model("other-model"), [say("From the other."), say("Again.")]);
    scene.model.script(Takes::All, [status(429, "slow down")]);
    scene.start();
    scene.dm("hello");
    scene.answered("From the other.");
    scene.settled();
    // It rests for a minute: the next turn does not ask it first.
    scene.dm("and now?");
    scene.answered("Again.");
    scene.settled();
    assert_eq!(asked(&scene)[1..], ["other-model", "other-model"]);
    assert_eq!(scene.answers().len(), 2, "nothing else is said of it");
}

#[test]
fn a_key_that_is_refused_is_told_to_the_owner_once_while_another_answers() {
    let mut scene = with_another();
    let others =
        [call("memory", &json!({"target": "user", "operations": []})), say("One."), say("Two.")];
    scene.model.script(Takes::Model("other-model"), others);
    scene.model.script(Takes::All, [status(401, "this key was revoked")]);
    scene.start();
    scene.dm("hello");
    scene.answered("One.");
    scene.settled();
    scene.dm("once more");
    scene.answered("Two.");
    scene.settled();
    let told = scene.telegram.sent();
    let told: Vec<_> = told.iter().filter(|sent| sent.text.contains("revoked")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].text.contains("main") && told[0].text.contains("other"), "{told:?}");
    assert!(scene.model.requests().iter().all(|request| request.body.get("model").is_some()));
}

#[test]
fn a_stream_that_breaks_off_twice_is_asked_elsewhere_and_half_of_it_is_nowhere() {
    let mut scene = with_another();
    scene.model.script(Takes::Model("other-model"), [say("Whole.")]);
    scene.model.script(Takes::All, [truncated("half an"), truncated("half an")]);
    scene.start();
    scene.dm("hello");
    scene.answered("Whole.");
    scene.settled();
    assert_eq!(asked(&scene).len(), 3);
    assert!(scene.telegram.sent().iter().all(|sent| !sent.text.contains("half an")));
}

#[test]
fn a_turn_that_was_passed_on_goes_on_with_the_same_model_after_a_death() {
    let mut scene = with_another();
    let gate = scene.model.gate();
    let add = json!({"target": "user", "operations": [{"action": "add", "content": "Likes tea."}]});
    let others = [call("memory", &add), say("never heard").after(&gate), say("Done.")];
    scene.model.script(Takes::Model("other-model"), others);
    scene.model.script(Takes::All, [status(529, "overloaded")]);
    scene.start();
    scene.dm("I like tea");
    scene.until("the second call hangs", |_| gate.reached().then_some(()));
    scene.kill();
    gate.open();
    scene.start();
    scene.answered("Done.");
    scene.settled();
    assert_eq!(asked(&scene)[1..], ["other-model", "other-model", "other-model"]);
}

#[test]
fn when_no_model_can_answer_the_person_is_told_why() {
    let mut scene = with_another();
    scene.model.script(Takes::Model("other-model"), [status(402, "no credit left")]);
    scene.model.script(Takes::All, [status(401, "this key was revoked")]);
    scene.start();
    scene.dm("hello");
    scene.until("it is told", |scene| {
        scene.telegram.sent().iter().any(|sent| sent.text.contains("no credit")).then_some(())
    });
    scene.settled();
}
