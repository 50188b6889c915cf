//! Killed at every named point, then restarted at once, or after an hour: no message lost, no turn
//! run twice, no memory write lost or doubled. On Telegram at most one marked repeat; on Discord none:
//! there what arrived is never sent again.
//!
//! Each row is one scene: the owner asks for something to be remembered, the process dies at the
//! point, a second one takes over.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use atlas_tests::faults::{KILL, LATER};
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Reply, Request, Takes, call, say};
use atlas_tests::rounds;
use serde_json::json;

use crate::scene;

/// Port's method, before or after, which time; and what the point is. One table for each stretch of
/// a message's road.
type Points = [(&'static str, &'static str)];

const RECEIVING: &Points = &[
    ("accept:before:1", "received, not stored"),
    ("accept:after:1", "stored, not yet told to Telegram"),
    ("claim:after:1", "the conversation is claimed"),
    ("open_turn:before:1", "before the turn is opened"),
    ("open_turn:after:1", "the turn is open"),
    ("ask:before:1", "before the model is asked"),
    ("ask:after:1", "the model's call is there, not committed"),
    ("commit_step:before:1", "before the call's commit"),
    ("commit_step:after:1", "the call is committed, not run"),
];

const REMEMBERING: &Points = &[
    ("lock:before:1", "before the file's lock"),
    ("intend:before:1", "before the intent"),
    ("intend:after:1", "between intent and the new file"),
    ("prepare:before:1", "before the new file is written"),
    ("prepare:after:1", "between the new file and the exchange"),
    ("place:before:1", "before the exchange"),
    ("place:after:1", "between exchange and settling"),
    ("settle_intent:before:1", "before the intent is settled"),
    ("settle_intent:after:1", "the intent is settled"),
];

const ANSWERING: &Points = &[
    ("commit_step:before:2", "between call and result: run, not stored"),
    ("commit_step:after:2", "the result is committed"),
    ("ask:before:2", "before the model is asked again"),
    ("ask:after:2", "the answer is there, not committed"),
    ("commit_step:before:3", "before the answer's commit"),
    ("commit_step:after:3", "the answer is committed, not sent"),
];

const SENDING: &Points = &[
    ("send:before:1", "claimed, not sent"),
    ("send:after:1", "between send and receipt"),
    ("part_sent:before:1", "before the receipt is stored"),
    ("part_sent:after:1", "between receipt and settling"),
    ("settle:before:1", "before the delivery is closed"),
    ("settle:after:1", "the delivery is closed"),
    ("send:before:2", "before the second delivery"),
    ("send:after:2", "the second delivery is sent"),
];

/// Seconds until the restart.
const AT_ONCE: u64 = 0;
const AN_HOUR: u64 = 3_600;

/// Where the owner writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    Telegram,
    Discord,
}

impl Ground {
    /// A scene in which the owner has written before: Discord tells nobody of a DM that was begun
    /// while its bot was down.
    fn scene(self) -> Harness {
        let mut scene = scene();
        scene.model.rule(Takes::All, rule);
        if self == Self::Discord {
            scene.use_discord();
            scene.start_connected();
            self.say(&scene, GREETING);
            self.until_answered(&mut scene, GREETED);
            scene.settled();
            assert!(scene.stop().success());
        }
        scene
    }

    fn say(self, scene: &Harness, text: &str) {
        match self {
            Self::Telegram => {
                scene.dm(text);
            }
            Self::Discord => {
                scene.discord.dm(&scene.discord_owner(), text);
            }
        }
    }

    /// What was sent to the owner, but for the answer to the greeting.
    fn texts(self, scene: &Harness) -> Vec<String> {
        let mut texts = match self {
            Self::Telegram => scene.telegram.texts(OWNER),
            Self::Discord => scene.discord.texts(scene.discord.dm_of(&scene.discord_owner())),
        };
        texts.retain(|text| text != GREETED);
        texts
    }

    fn until_answered(self, scene: &mut Harness, answer: &str) {
        match self {
            Self::Telegram => {
                scene.answered(answer);
            }
            Self::Discord => {
                let dm = scene.discord.dm_of(&scene.discord_owner());
                scene.discord_said(dm, answer);
            }
        }
    }

    /// Starts and, where this takes a while, waits for the connection.
    fn start(self, scene: &mut Harness, variables: &[(&str, &str)]) {
        scene.start_with(variables);
        if self == Self::Discord && scene.gateway().ended().is_none() {
            scene.until("a connection, or death", |scene| {
                let gateway = scene.gateway();
                (gateway.logged("connected to Discord") || gateway.ended().is_some()).then_some(())
            });
        }
    }
}

const ANSWER: &str = "I will remember Pixel.";
const MARK: char = '♻';

const GREETING: &str = "good morning";
const GREETED: &str = "Good morning.";

fn rule(request: &Request) -> Reply {
    if request.last("user").contains(GREETING) {
        return say(GREETED);
    }
    if request.last_role() == "tool" {
        return say(ANSWER);
    }
    if request.last("user").contains("what is my cat called?") {
        return say("Pixel, as you said.");
    }
    let add = json!({"action": "add", "content": "The cat is called Pixel."});
    call("memory", &json!({"target": "user", "operations": [add]}))
}

/// The facts that hold after any crash and restart.
fn nothing_lost_and_nothing_twice(scene: &mut Harness, point: &str, ground: Ground) {
    scene.until(&format!("the answer in spite of {point}"), |scene| {
        ground.texts(scene).iter().any(|text| text.contains(ANSWER)).then_some(())
    });
    scene.settled();
    let texts = ground.texts(scene);
    let repeats = texts.iter().filter(|text| text.contains(MARK)).count();
    let answers = texts.iter().filter(|text| text.contains(ANSWER)).count();
    assert!(repeats <= 1, "{point}: more than one marked repeat: {texts:?}");
    assert!(answers == 1 || answers == 2 && repeats == 1, "{point}: {texts:?}");
    let quiet = texts.iter().filter(|text| !text.contains(ANSWER)).count();
    assert!(quiet == 1 || quiet == 2 && repeats == 1, "{point}: one line on memory: {texts:?}");
    let once = ground == Ground::Telegram || texts.len() == 2;
    assert!(once, "{point}: twice where it need not be: {texts:?}");
    let profile = scene.home.read("memory/USER.md");
    assert_eq!(profile, "The cat is called Pixel.\n", "{point}");
    assert_eq!(scene.home.files_with("memory", "tmp"), [""; 0], "{point}: temporary files");

    ground.say(scene, "what is my cat called?");
    ground.until_answered(scene, "Pixel, as you said.");
    scene.settled();
    let request = scene.model.last().expect("a request");
    let said = |what: &str| request.text().matches(what).count();
    assert_eq!(said("please remember that my cat"), 1, "{point}: the message stands there once");
    assert_eq!(said(ANSWER), 1, "{point}: the answer stands there once");
    let history = "SELECT json_array(path, after) FROM memory_history";
    assert_eq!(scene.home.rows(history).len(), 1, "{point}: one write in the history");
}

/// One row: dies at the point, and goes on so many seconds later.
fn dies_at(point: &str, later: u64, ground: Ground) {
    let mut scene = ground.scene();
    ground.start(&mut scene, &[(KILL, point)]);
    ground.say(&scene, "please remember that my cat is called Pixel");
    scene.crashed(point);
    scene.discord.turn_clock(Duration::from_secs(later));
    ground.start(&mut scene, &[(LATER, &later.to_string())]);
    nothing_lost_and_nothing_twice(&mut scene, point, ground);
}

/// Runs every row, and tells of all that fail.
fn table(rows: &Points, later: u64, ground: Ground) {
    let fails =
        |point: &str| catch_unwind(AssertUnwindSafe(|| dies_at(point, later, ground))).is_err();
    let failed: Vec<_> = rows.iter().filter(|(point, _)| fails(point)).collect();
    assert!(failed.is_empty(), "{} of {} points failed: {failed:#?}", failed.len(), rows.len());
}

#[test]
fn killed_while_receiving_and_restarted_at_once() {
    table(RECEIVING, AT_ONCE, Ground::Telegram);
}

#[test]
fn killed_while_receiving_and_restarted_after_an_hour() {
    table(RECEIVING, AN_HOUR, Ground::Telegram);
}

#[test]
fn killed_while_remembering_and_restarted_at_once() {
    table(REMEMBERING, AT_ONCE, Ground::Telegram);
}

#[test]
fn killed_while_remembering_and_restarted_after_an_hour() {
    table(REMEMBERING, AN_HOUR, Ground::Telegram);
}

#[test]
fn killed_while_answering_and_restarted_at_once() {
    table(ANSWERING, AT_ONCE, Ground::Telegram);
}

#[test]
fn killed_while_answering_and_restarted_after_an_hour() {
    table(ANSWERING, AN_HOUR, Ground::Telegram);
}

#[test]
fn killed_while_sending_and_restarted_at_once() {
    table(SENDING, AT_ONCE, Ground::Telegram);
}

#[test]
fn killed_while_sending_and_restarted_after_an_hour() {
    table(SENDING, AN_HOUR, Ground::Telegram);
}

#[test]
fn killed_on_discord_while_receiving_and_restarted_at_once() {
    table(RECEIVING, AT_ONCE, Ground::Discord);
}

#[test]
fn killed_on_discord_while_receiving_and_restarted_after_an_hour() {
    table(RECEIVING, AN_HOUR, Ground::Discord);
}

#[test]
fn killed_on_discord_while_remembering_and_restarted_at_once() {
    table(REMEMBERING, AT_ONCE, Ground::Discord);
}

#[test]
fn killed_on_discord_while_remembering_and_restarted_after_an_hour() {
    table(REMEMBERING, AN_HOUR, Ground::Discord);
}

#[test]
fn killed_on_discord_while_answering_and_restarted_at_once() {
    table(ANSWERING, AT_ONCE, Ground::Discord);
}

#[test]
fn killed_on_discord_while_answering_and_restarted_after_an_hour() {
    table(ANSWERING, AN_HOUR, Ground::Discord);
}

#[test]
fn killed_on_discord_while_sending_and_restarted_at_once() {
    table(SENDING, AT_ONCE, Ground::Discord);
}

#[test]
fn killed_on_discord_while_sending_and_restarted_after_an_hour() {
    table(SENDING, AN_HOUR, Ground::Discord);
}

#[test]
fn killed_at_every_point_of_one_turn_it_is_still_done_once() {
    let mut scene = scene();
    scene.model.rule(Takes::All, rule);
    let deaths = ["accept:after:1", "commit_step:after:1", "place:after:1", "commit_step:after:1"];
    for (nth, point) in deaths.iter().enumerate() {
        scene.start_with(&[(KILL, point)]);
        if nth == 0 {
            scene.dm("please remember that my cat is called Pixel");
        }
        scene.crashed(point);
    }
    scene.start();
    nothing_lost_and_nothing_twice(&mut scene, "several in a row", Ground::Telegram);
}

#[test]
fn killed_while_the_model_answers() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("half of an ans").held(&gate), say("a whole answer")]);
    scene.start();
    scene.dm("hello");
    scene.until("the answer is under way", |_| gate.reached().then_some(()));
    scene.kill();
    gate.open();
    scene.start();
    scene.answered("a whole answer");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["a whole answer"]);
}

#[test]
fn killed_in_shutdown_while_a_step_is_in_progress() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("too late").after(&gate), say("in time")]);
    scene.start();
    scene.dm("hello");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.gateway().terminate();
    scene.until("it is ending", |scene| scene.gateway().logged("Atlas is ending").then_some(()));
    scene.kill();
    gate.open();
    scene.start();
    scene.answered("in time");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["in time"]);
}

#[test]
fn killed_in_shutdown_around_giving_claims_back() {
    for point in ["release:before:1", "release:after:1"] {
        let mut scene = scene();
        let gate = scene.model.gate();
        scene.model.rule(Takes::All, {
            let gate = gate.clone();
            move |request| rule(request).after(&gate)
        });
        scene.start_with(&[(KILL, point)]);
        scene.dm("please remember that my cat is called Pixel");
        scene.until("the call hangs", |_| gate.reached().then_some(()));
        scene.gateway().terminate();
        gate.open();
        scene.crashed(point);
        scene.start();
        nothing_lost_and_nothing_twice(&mut scene, point, Ground::Telegram);
    }
}

#[test]
fn a_clean_stop_finishes_the_step_and_the_next_start_goes_on() {
    let mut scene = scene();
    let gate = scene.model.gate();
    let opens = gate.clone();
    scene.model.rule(Takes::All, move |request| rule(request).after(&gate));
    scene.start();
    scene.dm("please remember that my cat is called Pixel");
    scene.until("the call hangs", |_| opens.reached().then_some(()));
    scene.gateway().terminate();
    scene.until("it is ending", |scene| scene.gateway().logged("Atlas is ending").then_some(()));
    opens.open();
    assert!(scene.end().success());
    scene.start();
    nothing_lost_and_nothing_twice(&mut scene, "a clean stop", Ground::Telegram);
}

#[test]
fn six_messages_that_came_while_it_was_down_are_handled_in_order() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("All read."));
    scene.start();
    scene.stop();
    for number in 1..=6 {
        scene.dm(&format!("message {number}"));
    }
    scene.start();
    scene.until("an answer", |scene| scene.telegram.texts(OWNER).pop());
    scene.settled();
    let text = scene.model.last().expect("a request").text();
    let places: Vec<_> = (1..=6).map(|n| text.find(&format!("message {n}"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
}

#[test]
fn a_long_life_of_sudden_deaths_loses_and_doubles_nothing() {
    rounds(1).for_each(long_life);
}

/// Where the process dies in each life: in another order in each round.
fn deaths(round: usize) -> [&'static str; 16] {
    let mut deaths = [
        "commit_step:after:2",
        "accept:after:1",
        "place:after:1",
        "part_sent:before:1",
        "settle_intent:before:1",
        "open_turn:before:1",
        "commit_step:before:3",
        "send:after:1",
        "ask:after:2",
        "intend:after:1",
        "settle:before:1",
        "commit_step:after:3",
        "prepare:after:1",
        "claim:after:1",
        "send:before:2",
        "accept:before:1",
    ];
    deaths.rotate_left(round * 5 % 16);
    deaths[..round].reverse();
    deaths
}

fn long_life(round: usize) {
    let mut scene = scene();
    scene.model.rule(Takes::All, |request| {
        if request.last_role() == "tool" {
            return say("Noted.");
        }
        let text = request.last("user");
        let facts = text.split("fact ").skip(1).filter_map(|rest| rest.split('!').next());
        let operations: Vec<_> = facts
            .map(|fact| json!({"action": "add", "content": format!("Fact {fact} holds.")}))
            .collect();
        if operations.is_empty() {
            return say("Read.");
        }
        call("memory", &json!({"target": "memory", "operations": operations}))
    });
    let deaths = deaths(round);
    let mut died = 0;
    for (life, death) in deaths.iter().enumerate() {
        let later = (life * 900).to_string();
        scene.start_with(&[(KILL, death), (LATER, &later)]);
        scene.dm(&format!("fact {life:02}a! is new"));
        scene.dm(&format!("only words {life:02}b."));
        scene.dm(&format!("fact {life:02}c! is new"));
        // The points come early or late, or not at all in a short life.
        let at_its_point = scene.bell.clone().wait(std::time::Duration::from_secs(3), || {
            let dead = scene.gateway().ended().is_some();
            let idle = scene.telegram.unconfirmed() == 0 && scene.home.left_over().is_empty();
            (dead || idle).then_some(dead)
        });
        if at_its_point == Some(true) {
            died += 1;
            scene.crashed(death);
        } else {
            scene.kill();
        }
    }
    assert!(died >= 10, "only {died} of {} died at their points", deaths.len());
    scene.start_with(&[(LATER, "15000")]);
    scene.settled();
    scene.dm("the last words");
    scene.until("the last words are read", |scene| {
        scene.model.last()?.text().contains("the last words").then_some(())
    });
    scene.settled();
    let (notes, text) =
        (scene.home.read("memory/MEMORY.md"), scene.model.last().expect("a request").text());
    for life in 0..deaths.len() {
        for part in ["a", "c"] {
            let fact = format!("Fact {life:02}{part} holds.");
            assert_eq!(notes.matches(&fact).count(), 1, "{fact} in {notes}");
        }
        for said in
            [format!("fact {life:02}a!"), format!("words {life:02}b."), format!("fact {life:02}c!")]
        {
            assert_eq!(text.matches(&said).count(), 1, "{said}");
        }
    }
    let texts = scene.telegram.texts(OWNER);
    let unmarked =
        texts.iter().filter(|text| !text.contains(MARK) && text.contains("Noted")).count();
    let turns = "SELECT json_array(id) FROM turns WHERE ended = 'done'";
    assert!(unmarked <= scene.home.rows(turns).len(), "more answers than turns: {texts:?}");
    let failed = "SELECT json_array(id) FROM turns WHERE ended <> 'done'";
    assert_eq!(scene.home.rows(failed), [""; 0]);
}
