//! Slash commands: registered when they changed, acknowledged in time, answered.

use std::time::Duration;

use atlas_tests::discord::{SendFault, User};
use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, say};

use crate::discord::on_discord;

/// The code that the last line to this person holds.
pub(crate) fn code(scene: &mut Harness, person: &User) -> String {
    let dm = scene.discord.dm_of(person);
    scene.until("a line with a code", |scene| {
        let text = scene.discord.texts(dm).pop()?;
        let (_, rest) = text.split_once("/allow ")?;
        Some(rest.chars().take_while(char::is_ascii_alphanumeric).collect())
    })
}

#[test]
fn case_8_a_command_is_acknowledged_at_once_however_long_its_answer_takes() {
    let (mut scene, _, channel) = on_discord();
    scene.start_connected();
    let gate = atlas_tests::bell::Gate::new(&scene.bell);
    scene.discord.plan_sends([SendFault::Hold(gate.clone())]);
    let owner = scene.discord_owner();
    let status = scene.discord.command(channel.id, &owner, "status", "");
    scene.until("the answer is on its way", |_| gate.reached().then_some(()));
    let within = scene.until("it is acknowledged", |scene| scene.discord.acknowledged(status));
    assert!(within < Duration::from_secs(3), "{within:?}");
    gate.open();
    let answer = scene.until("an answer", |scene| scene.discord.texts(channel.id).pop());
    assert!(answer.contains("stand-in"), "{answer}");

    scene.discord.dm(&owner, "/help");
    let dm = scene.discord.dm_of(&owner);
    scene.until("help in private", |scene| scene.discord.texts(dm).pop());
    let help = scene.discord.command(dm, &owner, "help", "");
    scene.until("it is acknowledged too", |scene| scene.discord.acknowledged(help));
    scene.until("help twice", |scene| (scene.discord.texts(dm).len() == 2).then_some(()));
    scene.settled();
    assert!(scene.model.requests().is_empty());
}

#[test]
fn a_command_whose_event_cannot_be_stored_is_acknowledged_all_the_same() {
    use atlas_tests::faults::FAIL;
    let (mut scene, _, channel) = on_discord();
    scene.announce_error("cannot be stored");
    scene.start_with(&[(FAIL, "accept:4")]);
    scene.connected();
    let owner = scene.discord_owner();
    let status = scene.discord.command(channel.id, &owner, "status", "");
    let within = scene.until("it is acknowledged", |scene| scene.discord.acknowledged(status));
    assert!(within < Duration::from_secs(3), "{within:?}");
    scene.until("an answer, once it is stored", |scene| scene.discord.texts(channel.id).pop());
    scene.settled();
}

#[test]
fn a_strangers_command_is_refused_where_nobody_else_sees_it() {
    let (mut scene, _, channel) = on_discord();
    scene.start_connected();
    let command = scene.discord.command(channel.id, &User::new(55, "bo"), "stop", "");
    scene.until("it is acknowledged", |scene| scene.discord.acknowledged(command));
    scene.settled();
    let sent = scene.discord.sent();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].ephemeral && sent[0].text.contains("not for you"), "{sent:?}");
}

#[test]
fn case_9_the_whole_set_is_put_in_place_at_once_and_only_when_it_changed() {
    let (mut scene, _, _) = on_discord();
    scene.discord.register((0..100).map(|n| format!("old{n}")));
    scene.start_connected();
    let names = scene.until("the new set", |scene| {
        let (names, written) = scene.discord.commands();
        (written > 0).then_some(names)
    });
    assert_eq!(names, ["allow", "help", "status", "stop"]);
    assert!(scene.stop().success());
    let asked = |scene: &Harness| {
        scene.discord.calls().iter().filter(|call| call.contains("GET /applications")).count()
    };
    let before = asked(&scene);
    scene.start_connected();
    scene.until("the list is looked at", |scene| (asked(scene) > before).then_some(()));
    scene.settled();
    assert!(scene.stop().success());
    assert_eq!(scene.discord.commands().1, 1, "written once");
}

#[test]
fn a_stranger_is_let_in_by_the_code_that_they_were_told() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("welcome")]);
    scene.start_connected();
    let stranger = User::new(55, "bo");
    scene.discord.dm(&stranger, "may I?");
    let (dm, code) = (scene.discord.dm_of(&stranger), code(&mut scene, &stranger));
    let allow = scene.discord.command(channel.id, &scene.discord_owner(), "allow", &code);
    scene.until("it is acknowledged", |scene| scene.discord.acknowledged(allow));
    scene.settled();
    scene.discord.dm(&stranger, "thank you");
    scene.discord_said(dm, "welcome");
    scene.settled();
}

#[test]
fn a_command_over_a_limit_is_answered_where_nobody_else_sees_it() {
    let (mut scene, _, channel) = on_discord();
    let token = "token = \"env:STAND_IN_DISCORD_TOKEN\"";
    scene.config = scene.config.replace(token, &format!("{token}\nallow = [\"77\"]"));
    scene.configure("[limits]\nguest = \"1/h\"");
    scene.start_connected();
    for _ in 0..3 {
        let status = scene.discord.command(channel.id, &User::new(77, "ben"), "status", "");
        scene.until("it is acknowledged", |scene| scene.discord.acknowledged(status));
        scene.settled();
    }
    let sent = scene.discord.sent();
    let aside: Vec<bool> = sent.iter().map(|sent| sent.ephemeral).collect();
    assert_eq!(aside, [false, true, true], "{sent:?}");
    assert!(sent[1].text.starts_with("I answer you 1"), "once it is said why: {sent:?}");
    assert!(sent[2].text.contains("or not now"), "{sent:?}");
}
