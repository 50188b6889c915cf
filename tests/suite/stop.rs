//! `/stop` at every moment: who may stop what, and what was said before it.

use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram::Draft;

use crate::guest::{guest, mention, with_guest};
use crate::scene;

#[test]
fn what_was_said_before_it_while_nobody_listened_is_not_answered() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("only this")]);
    scene.dm("think long");
    scene.dm("and longer");
    scene.dm("/stop");
    scene.start();
    scene.answered("Stopped.");
    scene.settled();
    assert!(scene.model.requests().is_empty());
    scene.dm("hello");
    scene.answered("only this");
    scene.settled();
    let text = scene.model.last().expect("a request").text();
    assert!(text.contains("and longer") && text.contains("(stopped by the user)"), "{text}");
}

#[test]
fn what_waits_behind_the_turn_is_stopped_with_it_and_what_comes_later_is_answered() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("never said").after(&gate), say("this one")]);
    scene.start();
    scene.dm("think long");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    scene.dm("and about this too");
    scene.dm("/stop");
    scene.answered("Stopped.");
    scene.settled();
    assert_eq!(scene.model.requests().len(), 1);
    scene.dm("now only this");
    scene.answered("this one");
    gate.open();
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER), ["Stopped.", "this one"]);
}

#[test]
fn a_guest_stops_a_guests_turn_and_never_the_owners() {
    let mut scene = with_guest();
    let (group, gate, later) = (scene.group(), scene.model.gate(), scene.model.gate());
    scene
        .model
        .script(Takes::All, [say("for the owner").after(&gate), say("never said").after(&later)]);
    scene.start();
    mention(&scene, &group, &scene.owner(), "think long");
    scene.until("the owner's call hangs", |_| gate.reached().then_some(()));
    scene.telegram.write(Draft::text(&group, &guest(), "/stop"));
    scene.sent_to(group.id, "Only the owner can stop this answer.");
    gate.open();
    scene.sent_to(group.id, "for the owner");
    mention(&scene, &group, &guest(), "think long too");
    scene.until("the guest's call hangs", |_| later.reached().then_some(()));
    scene.telegram.write(Draft::text(&group, &guest(), "/stop"));
    scene.sent_to(group.id, "Stopped.");
    scene.settled();
    later.open();
    assert!(!scene.telegram.texts(group.id).contains(&"never said".to_owned()));
}

#[test]
fn the_owner_stops_in_one_place_what_runs_in_another() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("never said").after(&gate)]);
    scene.start();
    let terminal = scene.chat(&["think long"]);
    scene.until("the terminal's call hangs", |_| gate.reached().then_some(()));
    scene.dm("/stop");
    scene.answered("Stopped.");
    let (status, out, err) = scene.finish(terminal);
    assert_eq!(out, "", "{status:?} {err}");
    gate.open();
    scene.settled();
}
