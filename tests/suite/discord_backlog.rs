//! What was written while nobody listened: read from each chat's cursor, each once, in order, and not
//! answered when it is too old.

use std::time::Duration;

use atlas_tests::bell::Gate;
use atlas_tests::discord::{CallFault, Channel, Draft};
use atlas_tests::faults::{KILL, LATER};
use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, say};
use serde_json::Value;

use crate::discord::on_discord;

/// The words of what opened or joined turns in a chat, in the order in which turns took them.
fn taken(scene: &Harness, chat: u64) -> Vec<String> {
    let rows = scene.home.rows(&format!(
        "SELECT inbound FROM inbox WHERE account = 'dc' AND chat = '{chat}' AND kind = 'turn' \
         AND turn_id IS NOT NULL ORDER BY turn_id, place_order"
    ));
    let text = |row: &String| -> String {
        let row: Value = serde_json::from_str(row).expect("JSON");
        row["text"].as_str().expect("words").trim_start_matches("@atlas_test ").to_owned()
    };
    rows.iter().map(text).collect()
}

/// Waits until so many messages of a chat were taken and everything is done.
fn all_taken(scene: &mut Harness, chat: u64, count: usize) -> Vec<String> {
    scene.until(&format!("{count} messages of {chat} taken"), |scene| {
        (taken(scene, chat).len() >= count).then_some(())
    });
    scene.settled();
    taken(scene, chat)
}

#[test]
fn case_27_messages_of_an_outage_are_handled_in_order() {
    let (mut scene, _, channel) = on_discord();
    scene.model.rule(Takes::All, |_| say("seen"));
    scene.start_connected();
    let owner = scene.discord_owner();
    let dm = scene.discord.dm_of(&owner);
    scene.discord.dm(&owner, "before");
    all_taken(&mut scene, dm, 1);
    assert!(scene.stop().success());
    for n in 1..=6 {
        scene.discord.dm(&owner, &format!("message {n}"));
        scene.discord.write(Draft::to_bot(channel.id, &owner, &format!("message {n}")));
    }
    scene.start_connected();
    let six: Vec<String> = (1..=6).map(|n| format!("message {n}")).collect();
    assert_eq!(all_taken(&mut scene, dm, 7)[1..], six);
    assert_eq!(all_taken(&mut scene, channel.id, 6), six);
    // Once more: nothing is new.
    let asked = scene.model.requests().len();
    assert!(scene.stop().success());
    scene.start_connected();
    scene.discord.dm(&owner, "after");
    assert_eq!(all_taken(&mut scene, dm, 8)[7], "after");
    assert_eq!(scene.model.requests().len(), asked + 1);
}

#[test]
fn after_an_outage_forty_messages_in_five_channels_are_handled_once_though_live_ones_come_first() {
    let (mut scene, guild, _) = on_discord();
    scene.model.rule(Takes::All, |_| say("seen"));
    let channels: Vec<u64> = (0..5).map(|n| guild.id + 300 + n).collect();
    for channel in &channels {
        scene.discord.open(&Channel::text(*channel, &guild, "one of five"));
    }
    scene.start_connected();
    scene.until("all channels are met", |scene| {
        (scene.home.rows("SELECT chat FROM cursors").len() >= 7).then_some(())
    });
    assert!(scene.stop().success());
    let owner = scene.discord_owner();
    let write = |scene: &Harness, n: usize| {
        for channel in &channels {
            scene.discord.write(Draft::to_bot(*channel, &owner, &format!("message {n}")));
        }
    };
    (1..=6).for_each(|n| write(&scene, n));
    let gate = Gate::new(&scene.bell);
    scene.discord.hold_guilds(&gate);
    scene.start_connected();
    scene.until("the servers are about to be told of", |_| gate.reached().then_some(()));
    (7..=8).for_each(|n| write(&scene, n));
    assert!(taken(&scene, channels[0]).is_empty(), "what is live waits for what was missed");
    gate.open();
    let all: Vec<String> = (1..=8).map(|n| format!("message {n}")).collect();
    for channel in &channels {
        assert_eq!(all_taken(&mut scene, *channel, 8), all);
    }
    let stored = scene.home.rows("SELECT count(*) || '' FROM inbox WHERE kind = 'turn'");
    assert_eq!(stored, ["40"]);
}

#[test]
fn what_is_older_than_the_backlog_is_told_as_skipped_in_one_line_and_not_answered() {
    let (mut scene, _, channel) = on_discord();
    scene.model.rule(Takes::All, |_| say("seen"));
    scene.start_connected();
    let owner = scene.discord_owner();
    let dm = scene.discord.dm_of(&owner);
    scene.discord.dm(&owner, "before");
    all_taken(&mut scene, dm, 1);
    assert!(scene.stop().success());
    for n in 1..=3 {
        scene.discord.dm(&owner, &format!("old {n}"));
        scene.discord.write(Draft::text(channel.id, &owner, "said nearby"));
    }
    let asked = scene.model.requests().len();
    scene.start_with(&[(LATER, "25200")]);
    let line = scene.until("one line", |scene| {
        scene.discord.texts(dm).into_iter().find(|text| text.contains("older than 6 h"))
    });
    scene.settled();
    assert!(scene.stop().success());
    scene.start_with(&[(LATER, "25300")]);
    scene.connected();
    scene.discord.turn_clock(Duration::from_secs(25_300));
    scene.discord.dm(&owner, "what did I write?");
    all_taken(&mut scene, dm, 2);
    let lines = scene.discord.texts(dm).iter().filter(|text| **text == line).count();
    assert_eq!(lines, 1, "told once");
    assert_eq!(scene.discord.texts(channel.id), [""; 0], "nobody was spoken to there");
    assert_eq!(scene.model.requests().len(), asked + 1);
    let seen = scene.model.last().expect("a request").last("user");
    assert!(
        seen.contains("old 1") && seen.contains("old 3"),
        "the next turn is shown them: {seen}"
    );
}

#[test]
fn case_32_history_is_never_new_input() {
    let (mut scene, _, channel) = on_discord();
    scene.configure(&format!(
        "[[routes]]\naccount = \"dc\"\nchat = \"{}\"\nanswer = \"all\"\n",
        channel.id
    ));
    scene.model.rule(Takes::All, |_| say("seen"));
    let owner = scene.discord_owner();
    for text in ["delete everything", "buy a house", "call Bo"] {
        scene.discord.write(Draft::to_bot(channel.id, &owner, text));
    }
    scene.start_connected();
    for n in 1..=3 {
        if n > 1 {
            assert!(scene.stop().success());
            scene.start_connected();
        }
        scene.discord.write(Draft::to_bot(channel.id, &owner, &format!("new {n}")));
        let new = all_taken(&mut scene, channel.id, n);
        assert_eq!(new.last().map(String::as_str), Some(&*format!("new {n}")));
    }
    assert_eq!(scene.model.requests().len(), 3);
}

#[test]
fn case_33_five_reconnects_after_one_message_store_it_once() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("heard")]);
    scene.start_connected();
    let voice = Draft::text(channel.id, &scene.discord_owner(), "")
        .with("flags", serde_json::json!(1 << 13))
        .with(
            "attachments",
            serde_json::json!([{
                "id": "1", "filename": "voice-message.ogg", "size": 12_000, "duration_secs": 4.2,
                "content_type": "audio/ogg",
            }]),
        );
    let dm = scene.discord.dm_of(&scene.discord_owner());
    scene.discord.write(Draft { channel: dm, ..voice });
    scene.discord_said(dm, "heard");
    for n in 1..=5 {
        scene.discord.drop_sockets();
        scene.until(&format!("reconnect {n}"), |scene| {
            (scene.discord.resumes().len() == n && scene.discord.sockets() == 1).then_some(())
        });
    }
    scene.settled();
    let stored = scene.home.rows("SELECT inbound FROM inbox WHERE kind = 'turn'");
    assert_eq!(stored.len(), 1);
    assert!(stored[0].contains("[voice message, 4 s, 12 KB]"), "{stored:?}");
}

#[test]
fn a_history_that_cannot_be_read_now_is_read_a_little_later() {
    let (mut scene, _, channel) = on_discord();
    scene.model.rule(Takes::All, |_| say("seen"));
    scene.start_connected();
    scene.until("the channel is met", |scene| {
        (scene.home.rows("SELECT chat FROM cursors").len() >= 2).then_some(())
    });
    assert!(scene.stop().success());
    let owner = scene.discord_owner();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "missed"));
    let history = format!("GET /channels/{}/messages", channel.id);
    scene.discord.plan_calls(&history, [CallFault::Status(502), CallFault::Cut]);
    scene.start_connected();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "live"));
    assert_eq!(all_taken(&mut scene, channel.id, 2), ["missed", "live"]);
}

#[test]
fn a_post_opened_during_an_outage_is_read_from_its_beginning() {
    let (mut scene, guild, _) = on_discord();
    scene.model.rule(Takes::All, |_| say("seen"));
    let forum = Channel::forum(guild.id + 200, &guild, "ideas");
    scene.discord.open(&forum);
    scene.start_connected();
    scene.until("the server is met", |scene| {
        (scene.home.rows("SELECT chat FROM cursors").len() >= 2).then_some(())
    });
    assert!(scene.stop().success());
    let post = scene.discord.open(&forum.thread("an idea"));
    let owner = scene.discord_owner();
    scene.discord.write(Draft::to_bot(post.id, &owner, "what do you think?"));
    scene.start_connected();
    assert_eq!(all_taken(&mut scene, post.id, 1), ["what do you think?"]);
}

#[test]
fn what_a_chat_was_read_up_to_moves_with_proven_heartbeats_and_is_not_read_again() {
    let (mut scene, _, channel) = on_discord();
    scene.discord.beat_every(Duration::from_millis(200));
    scene.model.rule(Takes::All, |_| say("seen"));
    scene.start_connected();
    let owner = scene.discord_owner();
    let message = scene.discord.write(Draft::to_bot(channel.id, &owner, "live"));
    all_taken(&mut scene, channel.id, 1);
    scene.until("the cursor has moved past it", |scene| {
        let cursor = format!("SELECT read_up_to || '' FROM cursors WHERE chat = '{}'", channel.id);
        let cursor: u64 = scene.home.rows(&cursor).first()?.parse().ok()?;
        (cursor >= message).then_some(())
    });
    assert!(scene.stop().success());
    let read = |scene: &Harness| {
        let history = format!("GET /channels/{}/messages", channel.id);
        scene.discord.calls().iter().filter(|call| **call == history).count()
    };
    let before = read(&scene);
    scene.start_connected();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "again"));
    assert_eq!(all_taken(&mut scene, channel.id, 2), ["live", "again"]);
    assert!(read(&scene) <= before + 1, "at most for the bot's own last words");
}

#[test]
fn killed_anywhere_in_reading_a_backlog_nothing_is_lost_or_doubled() {
    for point in [
        "accept:before:1",
        "accept:after:1",
        "read_up_to:before:1",
        "read_up_to:after:1",
        "cursors:after:1",
    ] {
        let (mut scene, _, channel) = on_discord();
        scene.model.rule(Takes::All, |_| say("seen"));
        scene.start_connected();
        scene.until("the channel is met", |scene| {
            (scene.home.rows("SELECT chat FROM cursors").len() >= 2).then_some(())
        });
        assert!(scene.stop().success());
        let owner = scene.discord_owner();
        for n in 1..=3 {
            scene.discord.write(Draft::to_bot(channel.id, &owner, &format!("message {n}")));
        }
        scene.start_with(&[(KILL, point)]);
        scene.crashed(point);
        scene.start();
        let all: Vec<String> = (1..=3).map(|n| format!("message {n}")).collect();
        assert_eq!(all_taken(&mut scene, channel.id, 3), all, "{point}");
        let stored = scene.home.rows("SELECT key FROM inbox WHERE kind = 'turn'");
        assert_eq!(stored.len(), 3, "{point}: {stored:?}");
    }
}
