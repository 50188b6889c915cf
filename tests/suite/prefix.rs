//! Within an episode nothing that a model was sent is rewritten. The stand-in compares every request
//! with the one before; these tests give it something to compare.

use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, call, say};
use serde_json::json;

use crate::scene;

#[test]
fn fifty_turns_with_a_memory_change_every_fifth_keep_the_prefix() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |request| {
        if request.last_role() == "tool" {
            return say("Noted.");
        }
        let last = request.last("user");
        match last.split("remember fact ").nth(1) {
            Some(fact) => {
                let fact: String = fact.chars().take_while(char::is_ascii_digit).collect();
                let add = json!({"action": "add", "content": format!("Fact number {fact}.")});
                call("memory", &json!({"target": "memory", "operations": [add]}))
            }
            None => say("Fine."),
        }
    });
    scene.start();
    for turn in 1..=50 {
        match turn % 5 {
            0 => {
                scene.dm(&format!("remember fact {turn}"));
            }
            // By hand, as a person with an editor.
            3 if turn % 10 == 3 => {
                let profile = scene.home.read("memory/USER.md");
                let more = format!("Edited by hand in turn {turn}.\n");
                let text = if profile.is_empty() { more } else { format!("{profile}§\n{more}") };
                scene.home.write("memory/USER.md", &text);
                scene.dm(&format!("turn {turn}"));
            }
            _ => {
                scene.dm(&format!("turn {turn}"));
            }
        }
        scene.until("the turn's answer", |scene| (scene.answers().len() == turn).then_some(()));
    }
    scene.settled();
    let notes = scene.home.read("memory/MEMORY.md");
    assert_eq!(notes.matches("Fact number").count(), 10, "{notes}");
    let last = scene.model.last().expect("a request");
    assert!(last.text().contains("Edited by hand in turn 43."));
    let share = last.cached * 100 / last.input;
    assert!(share >= 90, "only {share} % of the last request could be cached");
    assert_eq!(scene.model.requests().len(), 60);
}

#[test]
fn a_restart_between_turns_keeps_the_prefix() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Fine."));
    for turn in 1..=4 {
        scene.start();
        scene.dm(&format!("turn {turn}"));
        scene.until("the turn's answer", |scene| {
            (scene.telegram.texts(OWNER).len() == turn).then_some(())
        });
        scene.settled();
        if turn % 2 == 0 {
            scene.kill();
        } else {
            assert!(scene.stop().success());
        }
    }
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[3].text().contains("turn 1"));
}

#[test]
fn a_full_episode_is_cut_between_steps_with_one_line_that_says_so() {
    let mut scene = scene();
    scene.configure("[conversations]\ncompact_at = 6000");
    scene.model.announce_break();
    scene.model.rule(Takes::All, |request| {
        let length = request.text().len();
        say(&format!("An answer of many words. {}", "word ".repeat(200 + length % 7)))
    });
    scene.start();
    let mut turn = 0;
    let cut = scene.until("a quiet line about the cut", |scene| {
        if let Some(line) = scene.telegram.sent().into_iter().find(|sent| sent.silent) {
            return Some(line);
        }
        if scene.answers().len() == turn && turn < 40 {
            turn += 1;
            scene.dm(&format!("turn {turn} {}", "and more words ".repeat(60)));
        }
        None
    });
    assert_eq!(cut.chat, OWNER);
    scene.until("the answer after the cut", |scene| (scene.answers().len() == turn).then_some(()));
    scene.settled();
    let quiet = scene.telegram.sent().iter().filter(|sent| sent.silent).count();
    assert_eq!(quiet, 1);
    let requests = scene.model.requests();
    let (before, after) = (&requests[requests.len() - 2], &requests[requests.len() - 1]);
    assert!(after.input < before.input, "the cut made it smaller");
    assert!(after.text().contains(&format!("turn {turn} ")));
}
