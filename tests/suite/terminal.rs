//! One conversation in two places: the terminal beside the running gateway, both ways, and when
//! either process is killed.

use atlas_tests::faults::KILL;
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, say};
use atlas_tests::process;

use crate::scene;

/// The words of a request that a person said in this very conversation.
fn remembers(scene: &Harness, words: &str) -> bool {
    scene.model.last().is_some_and(|request| request.text().contains(words))
}

#[test]
fn two_messages_in_a_terminal_are_answered_on_standard_output_alone() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("The first answer."), say("The second answer.")]);
    let terminal = scene.chat(&["one", "two"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    assert_eq!(
        out.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        ["The first answer.", "The second answer."]
    );
    assert!(err.contains("main") || err.contains("stand-in"), "says which model it took: {err}");
}

#[test]
fn a_conversation_begun_on_telegram_goes_on_in_the_terminal_and_back() {
    let mut scene = scene();
    scene.model.script(
        Takes::All,
        [say("Hello from Telegram."), say("Hello in the terminal."), say("Back again.")],
    );
    scene.start();
    scene.dm("my cat is called Pixel");
    scene.answered("Hello from Telegram.");
    scene.settled();
    let terminal = scene.chat(&["what did I say?"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "Hello in the terminal.");
    assert!(
        remembers(&scene, "my cat is called Pixel") && remembers(&scene, "Hello from Telegram.")
    );
    scene.dm("and now?");
    scene.answered("Back again.");
    assert!(remembers(&scene, "what did I say?") && remembers(&scene, "Hello in the terminal."));
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["Hello from Telegram.", "Back again."]);
}

#[test]
fn an_interactive_terminal_answers_line_by_line() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("Typed answer one."), say("Typed answer two.")]);
    let mut terminal = scene.spawn("terminal", &["chat"], &[]);
    terminal.type_line("one");
    let bell = scene.bell.clone();
    process::until(&bell, "the first answer", &terminal, || {
        terminal.out().contains("Typed answer one.").then_some(())
    });
    terminal.type_line("two");
    process::until(&bell, "the second answer", &terminal, || {
        terminal.out().contains("Typed answer two.").then_some(())
    });
    terminal.end_input();
    assert!(scene.finish(terminal).0.success());
}

#[test]
fn a_killed_terminal_leaves_its_turn_to_the_gateway() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(
        Takes::All,
        [
            say("never heard").after(&gate),
            say("The answer after all."),
            say("Told on Telegram."),
            say("A new line."),
        ],
    );
    scene.start();
    let mut terminal = scene.chat(&["a question of a terminal that dies"]);
    scene.until("the terminal's call hangs", |_| gate.reached().then_some(()));
    terminal.kill();
    gate.open();
    scene
        .until("the gateway asks again", |scene| (scene.model.requests().len() == 2).then_some(()));
    scene.dm("did anybody answer?");
    scene.answered("Told on Telegram.");
    assert!(remembers(&scene, "The answer after all."));
    let terminal = scene.chat(&["hello again"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "A new line.");
    assert!(err.contains("The answer after all."), "what the dead terminal missed is told: {err}");
    scene.settled();
}

#[test]
fn a_killed_gateway_leaves_its_turn_to_be_finished_once() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(
        Takes::All,
        [say("never heard").after(&gate), say("The late answer."), say("In the terminal.")],
    );
    scene.start();
    scene.dm("a question that waits");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.kill();
    gate.open();
    let terminal = scene.chat(&["a question from the terminal"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "In the terminal.");
    scene.start();
    scene.answered("The late answer.");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["The late answer."]);
    let text = scene.model.last().expect("a request").text();
    assert_eq!(text.matches("a question that waits").count(), 1);
}

#[test]
fn each_of_two_terminals_gets_its_own_answer_and_no_other() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("For the first.").after(&gate), say("For the second.")]);
    let first = scene.chat(&["from the first"]);
    scene.until("the first call hangs", |_| gate.reached().then_some(()));
    let mut second = scene.spawn("second terminal", &["chat"], &[]);
    let bell = scene.bell.clone();
    process::until(&bell, "the second terminal is open", &second, || {
        second.err().contains("answers").then_some(())
    });
    gate.open();
    let (status, out, err) = scene.finish(first);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "For the first.");
    second.type_line("from the second");
    process::until(&bell, "the second answer", &second, || {
        second.out().contains("For the second.").then_some(())
    });
    second.end_input();
    let (status, out, err) = scene.finish(second);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "For the second.");
}

#[test]
fn a_terminal_killed_at_any_point_leaves_nothing_lost_and_nothing_twice() {
    for point in [
        "accept:after:1",
        "claim:after:1",
        "open_turn:after:1",
        "ask:after:1",
        "commit_step:before:1",
        "commit_step:after:1",
        "send:before:1",
        "send:after:1",
        "part_sent:after:1",
    ] {
        let mut scene = scene();
        scene.model.rule(Takes::All, |request| {
            say(if request.last("user").contains("second") { "Two." } else { "One." })
        });
        scene.start();
        let arguments = ["chat", "-m", "the first question"];
        let terminal = scene.spawn("dying terminal", &arguments, &[(KILL, point)]);
        let (status, out, _) = scene.finish(terminal);
        assert!(!status.success(), "never died at {point}");
        // Whatever it left is done by the gateway, except for its own printing.
        scene.until(&format!("the turn is done after {point}"), |scene| {
            let ended = "SELECT json_array(id) FROM turns WHERE ended = 'done'";
            (scene.home.rows(ended).len() == 1).then_some(())
        });
        let next = scene.chat(&["the second question"]);
        let (status, second, err) = scene.finish(next);
        assert!(status.success(), "{point}: {err}");
        assert_eq!(second.trim(), "Two.", "{point}");
        let printed = out.matches("One.").count();
        let told = err.matches("One.").count();
        let marked = err.contains('♻');
        assert!(printed + told >= 1, "{point}: the first answer is lost: {err}");
        assert!(told <= 1 && (printed == 0 || told == 0 || marked), "{point}: {out} {err}");
        scene.settled();
        let text = scene.model.last().expect("a request").text();
        assert_eq!(text.matches("the first question").count(), 1, "{point}");
        assert_eq!(scene.telegram.texts(OWNER), [""; 0], "{point}");
    }
}

#[test]
fn terminals_that_do_not_join_the_owners_chats_have_one_conversation_of_their_own() {
    let mut scene = scene();
    scene.configure("[conversations]\njoin_direct = false");
    scene.model.script(Takes::All, [say("Noted."), say("On Telegram."), say("Pixel.")]);
    scene.start();
    let terminal = scene.chat(&["my cat is called Pixel"]);
    let (status, _, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    scene.dm("hello");
    scene.answered("On Telegram.");
    assert!(!remembers(&scene, "Pixel"));
    scene.settled();
    let terminal = scene.chat(&["what is my cat called?"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "Pixel.");
    assert!(remembers(&scene, "my cat is called Pixel") && !remembers(&scene, "On Telegram."));
}
