//! Sockets: resumed, begun anew, given up; and what that means for anybody else: nothing.

use std::time::Duration;

use atlas_tests::discord::{Draft, GatewayFault};
use atlas_tests::model::{Takes, say};

use crate::discord::on_discord;

#[test]
fn case_31_an_abnormal_close_in_mid_turn_touches_neither_the_turn_nor_the_other_platform() {
    let (mut scene, _, channel) = on_discord();
    let gate = scene.model.gate();
    let slow = say("at last").after(&gate);
    scene.model.script(Takes::Containing("a long question"), [slow]);
    scene.model.script(Takes::Containing("on Telegram"), [say("at once")]);
    scene.configure("[conversations]\njoin_direct = false\n");
    scene.start_connected();
    let owner = scene.discord_owner();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "a long question"));
    scene.until("the model is asked", |_| gate.reached().then_some(()));
    scene.discord.drop_sockets();
    scene.dm("on Telegram");
    scene.answered("at once");
    scene.until("the session is resumed", |scene| {
        (scene.discord.resumes().len() == 1 && scene.discord.sockets() == 1).then_some(())
    });
    gate.open();
    scene.discord_said(channel.id, "at last");
    scene.settled();
    assert_eq!(scene.model.requests().len(), 2);
    assert_eq!(scene.discord.identifies().len(), 1);
}

#[test]
fn what_is_written_while_the_socket_is_broken_comes_with_the_resume() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start_connected();
    let owner = scene.discord_owner();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "first"));
    scene.discord_said(channel.id, "one");
    scene.discord.drop_sockets();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "second"));
    scene.discord_said(channel.id, "two");
    scene.settled();
    assert_eq!(scene.discord.identifies().len(), 1);
    let history = format!("GET /channels/{}/messages", channel.id);
    assert!(!scene.discord.calls().contains(&history), "a resumed session has missed nothing");
}

#[test]
fn case_30_where_every_resume_is_refused_a_new_session_is_begun_after_a_few_tries() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("here")]);
    scene.start_connected();
    scene.discord.refuse_resumes(4_000);
    scene.discord.drop_sockets();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "are you there?"));
    scene.discord_said(channel.id, "here");
    scene.settled();
    assert_eq!(scene.discord.resumes().len(), 3);
    let identifies = scene.discord.identifies();
    assert_eq!(identifies.len(), 2);
    assert!(identifies[1].0 - identifies[0].0 >= Duration::from_secs(5), "Discord's own pace");
}

#[test]
fn a_session_that_is_over_is_begun_anew_and_what_was_missed_is_read() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("here")]);
    scene.start_connected();
    scene.discord.cut_off(true);
    scene.discord.forget_sessions();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "did you hear that?"));
    scene.discord.cut_off(false);
    scene.discord_said(channel.id, "here");
    scene.settled();
    assert_eq!(scene.discord.identifies().len(), 2);
}

#[test]
fn a_socket_that_has_gone_silent_is_noticed_by_its_heart() {
    let (mut scene, _, channel) = on_discord();
    scene.discord.beat_every(Duration::from_millis(300));
    scene.model.script(Takes::All, [say("here")]);
    scene.start_connected();
    scene.until("a heart beats", |scene| (scene.discord.heartbeats() > 1).then_some(()));
    scene.discord.go_silent();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "are you there?"));
    scene.discord_said(channel.id, "here");
    scene.settled();
    assert_eq!((scene.discord.resumes().len(), scene.discord.identifies().len()), (1, 1));
}

#[test]
fn a_resume_that_is_never_answered_is_tried_again() {
    let (mut scene, _, channel) = on_discord();
    scene.discord.beat_every(Duration::from_millis(500));
    scene.model.script(Takes::All, [say("here")]);
    scene.start_connected();
    scene.discord.plan_gateway([GatewayFault::Nothing]);
    scene.discord.drop_sockets();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "are you there?"));
    scene.discord_said(channel.id, "here");
    scene.settled();
    assert_eq!(scene.discord.identifies().len(), 1);
}

#[test]
fn what_only_a_person_can_mend_stops_that_account_and_says_why() {
    for (code, why) in [(4_004, "Discord refuses the token"), (4_011, "4010, 4011 or 4012")] {
        let (mut scene, _, _) = on_discord();
        scene.announce_error(why);
        scene.model.script(Takes::All, [say("here")]);
        scene.discord.plan_gateway([GatewayFault::Close(code)]);
        scene.start();
        scene.until("it says why", |scene| scene.gateway().logged(why).then_some(()));
        scene.dm("on Telegram");
        scene.answered("here");
        scene.settled();
        assert_eq!(scene.discord.identifies().len(), 1, "nobody tries again");
    }
}

#[test]
fn no_session_is_begun_beyond_what_discord_allows() {
    let (mut scene, _, _) = on_discord();
    scene.announce_error("allows this bot no more sessions");
    scene.discord.leave_identifies(0, Duration::from_secs(2));
    scene.start();
    scene.until("it waits", |scene| scene.gateway().logged("no more sessions").then_some(()));
    assert!(scene.discord.identifies().is_empty());
    scene.connected();
    assert_eq!(scene.discord.identifies().len(), 1);
    scene.settled();
}

#[test]
fn a_discord_that_cannot_be_reached_holds_up_nobody() {
    let (mut scene, _, channel) = on_discord();
    scene.model.rule(Takes::All, |_| say("here"));
    scene.discord.cut_off(true);
    scene.start();
    scene.dm("on Telegram");
    scene.answered("here");
    scene.discord.cut_off(false);
    scene.connected();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "and you?"));
    scene.discord_said(channel.id, "here");
    scene.settled();
}
