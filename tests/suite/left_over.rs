//! The harness itself: whatever is left over fails a test.

use std::process::Command;

use atlas_tests::harness::OWNER;
use atlas_tests::model::{KEY, Takes, say};
use atlas_tests::process::Process;
use atlas_tests::telegram::{SendFault, TOKEN};

use crate::scene;

#[test]
#[should_panic(expected = "1 answers never asked for")]
fn an_answer_that_nobody_asked_for() {
    let scene = scene();
    scene.model.script(Takes::All, [say("never")]);
}

#[test]
#[should_panic(expected = "planned and never met")]
fn a_fault_that_never_came() {
    let scene = scene();
    scene.telegram.plan_sends([SendFault::Status(500)]);
}

#[test]
#[should_panic(expected = "a message not delivered")]
fn a_message_that_was_not_delivered() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one")]);
    scene.start_with(&[(atlas_tests::faults::KILL, "send:before:1")]);
    scene.dm("hello");
    scene.crashed("send:before:1");
    assert_eq!(scene.telegram.texts(OWNER), [""; 0]);
}

#[test]
#[should_panic(expected = "one call too many")]
fn a_question_that_no_script_foresaw() {
    let mut scene = scene();
    scene.start();
    scene.dm("hello");
    scene.answered("nobody says this");
}

fn wrote(line: &str) {
    let mut scene = scene();
    let mut command = Command::new("sh");
    command.args(["-c", "echo \"$0\" >&2", line]);
    let process = Process::start("a careless process", &mut command, &scene.bell);
    scene.finish(process);
}

#[test]
#[should_panic(expected = "a token was logged")]
fn a_token_in_the_log() {
    wrote(&format!("{{\"level\":\"TRACE\",\"url\":\"http://x/bot{TOKEN}/getMe\"}}"));
}

#[test]
#[should_panic(expected = "a token was logged")]
fn a_key_in_the_log() {
    wrote(&format!("Authorization: Bearer {KEY}"));
}

#[test]
#[should_panic(expected = "logged:")]
fn an_error_that_nobody_announced() {
    wrote("{\"level\":\"ERROR\",\"message\":\"this should not happen\"}");
}

#[test]
fn the_log_that_is_searched_is_a_trace_of_everything() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("one")]);
    scene.start();
    scene.dm("hello");
    scene.answered("one");
    scene.settled();
    for part in ["\"level\":\"TRACE\"", "hyper", "atlas"] {
        assert!(scene.gateway().logged(part), "{part} is not traced");
    }
}
