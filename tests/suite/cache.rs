//! What the servers' caches would have saved of a long conversation, by their published rules.

use std::time::Duration;

use atlas_tests::harness::Harness;
use atlas_tests::model::cache::{Share, share};
use atlas_tests::model::{Reply, Request, Takes, call, say};
use serde_json::json;

use crate::scene;

/// Shorter prefixes are kept by neither of the servers.
const LEAST: u64 = 1024;
/// How long chat completions are kept at least, from their last use on.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

const TURNS: usize = 200;
/// After these turns everybody goes away for hours.
const PAUSES: [usize; 2] = [70, 140];

/// The model of the conversation: it keeps a fact every tenth turn, and asks for a tool every fourth.
fn answer(request: &Request) -> Reply {
    if request.last_role() == "tool" {
        return say("Done. I have looked at it, and there is nothing else to be said about that.");
    }
    let last = request.last("user");
    let number = last.rsplit("turn ").next().unwrap_or_default();
    let turn: usize = number.split('.').next().and_then(|turn| turn.parse().ok()).unwrap_or(1);
    if turn.is_multiple_of(10) {
        let add = json!({"action": "add", "content": format!("Fact number {turn} of the garden.")});
        return call("memory", &json!({"target": "memory", "operations": [add]}));
    }
    if turn.is_multiple_of(4) {
        return call("weather", &json!({"place": "the garden", "day": turn}));
    }
    say(
        "The tomatoes want sun and little water; the beans can wait until the nights are warm again.",
    )
}

/// Two hundred turns in three sittings, and what a cache would have served of their requests.
fn two_hundred_turns(mut scene: Harness) -> Share {
    scene.model.rule(Takes::All, answer);
    scene.start_with(&[("RUST_LOG", "info")]);
    let (mut times, mut now) = (Vec::new(), Duration::ZERO);
    for turn in 1..=TURNS {
        scene.dm(&format!(
            "What about the garden this week? The tomatoes are slow and the beans have not come up \
             yet; I wonder whether the soil is too wet. This is turn {turn}. "
        ));
        scene.until("the turn's answer", |scene| (scene.answers().len() == turn).then_some(()));
        times.resize(scene.model.requests().len(), now);
        let pause = if PAUSES.contains(&turn) { 5 * 3600 } else { 40 };
        now += Duration::from_secs(pause);
    }
    scene.settled();
    let requests = scene.model.requests();
    assert_eq!(requests.len(), TURNS + TURNS / 10 + TURNS / 4 - TURNS / 20, "one for each step");
    let notes = scene.home.read("memory/MEMORY.md");
    assert_eq!(notes.matches("Fact number").count(), TURNS / 10, "{notes}");
    share(times.into_iter().zip(requests.iter().map(|request| &**request)), LEAST, LIFETIME)
}

/// The prefix rule is held by the stand-in, which compares every request with the one before.
#[test]
fn two_hundred_turns_with_tools_are_served_from_anthropic_s_cache() {
    let mut scene = scene();
    scene.use_anthropic();
    let share = two_hundred_turns(scene);
    assert!(share.percent() >= 97.0, "{:.2} %: {share:?}", share.percent());
    // What is written costs more than what is read: nothing is written twice but after a pause.
    let twice = share.cached + share.written - share.input;
    assert_eq!(twice, 0, "{share:?}");
}

#[test]
fn two_hundred_turns_with_tools_are_served_from_chat_completions_cache() {
    let share = two_hundred_turns(scene());
    assert!(share.percent() >= 97.0, "{:.2} %: {share:?}", share.percent());
}
