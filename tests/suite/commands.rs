//! The commands of the executable, beside a running gateway: pairing and checking.

use std::process::ExitStatus;

use atlas_tests::faults::KILL;
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{KEY, Takes, say};
use atlas_tests::telegram::{BOT_NAME, Draft, TOKEN, User};

use crate::scene;

fn run(scene: &mut Harness, arguments: &[&str]) -> (ExitStatus, String, String) {
    let process = scene.spawn(arguments[0], arguments, &[]);
    scene.finish(process)
}

/// A scene without an owner in its configuration, running.
fn without_owner() -> Harness {
    let mut scene = scene();
    scene.config = scene.config.replace(&format!("[owner]\ntelegram = [\"{OWNER}\"]\n"), "");
    assert!(!scene.config.contains("[owner]"));
    scene.start();
    scene
}

/// The code that `atlas pair` prints.
fn code(scene: &mut Harness) -> String {
    let (status, out, err) = run(scene, &["pair", "--yes"]);
    assert!(status.success(), "{err}");
    out.lines().next().expect("a code").trim().to_owned()
}

#[test]
fn whoever_sends_the_code_in_private_becomes_the_owner() {
    let mut scene = without_owner();
    scene.model.script(Takes::All, [say("Welcome.")]);
    scene.dm("hello?");
    let code = code(&mut scene);
    scene.dm(&code);
    scene.until("a word about it", |scene| {
        scene.telegram.texts(OWNER).pop().filter(|text| text.contains("owner of this home"))
    });
    scene.settled();
    scene.dm("hello!");
    scene.answered("Welcome.");
    scene.settled();
    let request = scene.model.last().expect("a request");
    assert!(!request.text().contains(&code), "a code is no conversation");
    // It holds over a restart, and works once.
    scene.stop();
    scene.start();
    scene.model.script(Takes::All, [say("Again.")]);
    scene.telegram.dm(&User::new(99, "Eve"), &code);
    scene.dm("still there?");
    scene.answered("Again.");
    scene.settled();
    let told = scene.telegram.texts(99);
    assert!(told.len() == 1 && told[0].starts_with("I do not know you yet."), "{told:?}");
}

#[test]
fn a_code_whose_process_died_before_it_could_say_so_is_answered_after_all() {
    let mut scene = without_owner();
    let code = code(&mut scene);
    scene.stop();
    scene.start_with(&[(KILL, "redeem_pairing:after:1")]);
    scene.dm(&code);
    scene.crashed("redeem_pairing:after");
    scene.start();
    let welcome = scene.until("a word about it", |scene| scene.telegram.texts(OWNER).pop());
    assert!(welcome.contains("owner"), "{welcome}");
    scene.settled();
    assert!(scene.model.requests().is_empty(), "a code is no conversation");
}

#[test]
fn a_code_in_a_group_or_a_wrong_one_makes_nobody_an_owner() {
    let mut scene = without_owner();
    let (group, eve) = (scene.group(), User::new(99, "Eve"));
    let code = code(&mut scene);
    for _ in 0..6 {
        scene.telegram.dm(&eve, "ABCD2345");
    }
    scene.telegram.dm(&eve, &code);
    let mention = format!("{BOT_NAME} {code}");
    scene.telegram.write(Draft::text(&group, &scene.owner(), &mention).mentioning(BOT_NAME));
    scene.telegram.dm(&eve, "am I the owner?");
    scene.settled();
    assert!(scene.model.requests().is_empty());
    assert_eq!(scene.home.rows("SELECT json_array(person) FROM owners"), [""; 0]);
}

#[test]
fn check_says_that_all_is_well_and_shows_no_secret() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("ok"));
    let (status, out, err) = run(&mut scene, &["check"]);
    assert!(status.success(), "{out}\n{err}");
    for part in ["tg", "main"] {
        assert!(out.contains(part), "{part} is not in it: {out}");
    }
    assert!(!out.contains(TOKEN) && !out.contains(KEY));
}

#[test]
fn check_names_a_refused_token_and_key() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("ok"));
    let wrong =
        [("STAND_IN_TOKEN", "1:wrong-token-of-a-test"), ("STAND_IN_KEY", "sk-wrong-key-of-a-test")];
    let process = scene.spawn("check", &["check"], &wrong);
    let (status, out, err) = scene.finish(process);
    assert_eq!(status.code(), Some(1), "{out}\n{err}");
    assert!(out.contains("tg") && out.contains("main"), "{out}");
    for (_, secret) in wrong {
        assert!(!out.contains(secret) && !err.contains(secret), "{out}{err}");
    }
}
