//! Discord's way in, on the wire: what people do there, and what becomes of it.

use std::time::Duration;

use atlas_tests::discord::{Channel, Draft, Guild, User};
use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, empty, say};
use serde_json::json;

use crate::scene;

/// A scene with a server that everybody on it may use.
pub(crate) fn on_discord() -> (Harness, Guild, Channel) {
    let mut scene = scene();
    scene.use_discord();
    let guild = Guild::new(700_000_000_000_000_000, "Team");
    let channel = Channel::text(700_000_000_000_000_100, &guild, "general");
    scene.discord.join(&guild);
    scene.discord.open(&channel);
    (scene, guild, channel)
}

#[test]
fn a_dm_a_mention_a_role_and_a_reply_are_answered_where_they_are_said() {
    let (mut scene, guild, channel) = on_discord();
    scene
        .model
        .script(Takes::All, [say("in private"), say("by name"), say("by role"), say("back")]);
    scene.start_connected();
    let owner = scene.discord_owner();
    scene.discord.dm(&owner, "hello");
    let dm = scene.discord.dm_of(&owner);
    scene.discord_said(dm, "in private");

    scene.discord.write(Draft::text(channel.id, &owner, "nobody is meant"));
    scene.discord.write(Draft::to_bot(channel.id, &owner, "are you there?"));
    let answer = scene.discord_said(channel.id, "by name");
    let role = format!("<@&{}> and you?", guild.role);
    scene.discord.write(Draft::text(channel.id, &owner, &role));
    scene.discord_said(channel.id, "by role");
    scene.discord.write(Draft::text(channel.id, &owner, "and again?").replying_to(answer.id));
    scene.discord_said(channel.id, "back");
    scene.settled();
    assert_eq!(scene.discord.texts(channel.id), ["by name", "by role", "back"]);
    let seen = scene.model.requests()[1].last("user");
    assert!(
        seen.contains("nobody is meant") && seen.contains("@atlas_test are you there?"),
        "{seen}"
    );
}

#[test]
fn strangers_bots_and_webhooks_are_not_answered() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("yes")]);
    scene.start_connected();
    let owner = scene.discord_owner();
    let stranger = User::new(55, "bo");
    scene.discord.write(Draft::to_bot(channel.id, &stranger, "let me in"));
    scene.discord.write(Draft::to_bot(channel.id, &User::bot(56, "robot"), "beep"));
    scene.discord.write(Draft::to_bot(channel.id, &owner, "I am Ana").by_webhook());
    scene.discord.write(Draft::to_bot(channel.id, &owner, "it is me"));
    scene.discord_said(channel.id, "yes");
    scene.settled();
    assert_eq!(scene.discord.sent().len(), 1);
}

#[test]
fn a_thread_and_a_forums_post_are_answered_where_they_are_and_routed_by_what_contains_them() {
    let (mut scene, guild, channel) = on_discord();
    let forum = Channel::forum(guild.id + 200, &guild, "ideas");
    scene.discord.open(&forum);
    scene.configure(&format!(
        "[[routes]]\naccount = \"dc\"\nchat = \"{}\"\nanswer = \"all\"\n",
        forum.id
    ));
    scene.model.script(Takes::All, [say("in the thread"), say("in the post")]);
    scene.start_connected();
    let owner = scene.discord_owner();
    let thread = scene.discord.open(&channel.thread("a thread"));
    scene.discord.write(Draft::to_bot(thread.id, &owner, "what about this?"));
    scene.discord_said(thread.id, "in the thread");
    let post = scene.discord.open(&forum.thread("an idea"));
    scene.discord.write(Draft::text(post.id, &owner, "nobody is named, and the forum answers all"));
    scene.discord_said(post.id, "in the post");
    scene.settled();
    let typed: Vec<u64> = scene.discord.typing().iter().map(|typing| typing.channel).collect();
    assert!(typed.iter().all(|place| [thread.id, post.id].contains(place)), "{typed:?}");
}

#[test]
fn a_links_preview_is_no_edit_and_an_edit_opens_no_turn() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("one"), say("two")]);
    scene.start_connected();
    let owner = scene.discord_owner();
    let first = Draft::to_bot(channel.id, &owner, "see https://example.org");
    let first = scene.discord.write(first);
    scene.discord_said(channel.id, "one");
    scene.discord.preview(channel.id, first);
    scene.discord.edit(channel.id, first, "see https://example.org and answer again");
    scene.discord.write(Draft::to_bot(channel.id, &owner, "thank you"));
    scene.discord_said(channel.id, "two");
    scene.settled();
    let kept = scene.home.rows("SELECT line FROM inbox WHERE kind = 'ignored'");
    assert_eq!(kept, ["an edited message"], "the preview is nothing at all");
}

#[test]
fn what_cannot_be_read_is_kept_and_ends_nothing() {
    let (mut scene, _, channel) = on_discord();
    scene.model.script(Takes::All, [say("still here")]);
    scene.start_connected();
    for frame in ["no JSON at all", "[]", r#"{"op":0,"d":{}}"#, r#"{"op":77,"d":1}"#] {
        scene.discord.say(frame);
    }
    scene.discord.tell("MESSAGE_CREATE", json!({"id": "5"}));
    let (id, channel_id) = ("6", channel.id.to_string());
    let without_author = json!({"id": id, "channel_id": channel_id, "content": "who am I?"});
    scene.discord.tell("MESSAGE_CREATE", without_author);
    scene.discord.tell("GUILD_CREATE", json!({"id": "odd"}));
    scene.discord.tell("SOMETHING_NEW", json!({"nobody": ["knows"]}));
    let odd = Draft::to_bot(channel.id, &scene.discord_owner(), "are you there?")
        .with("components", json!([{"type": 9_999}]))
        .with("flags", json!("odd"))
        .with("poll", json!(7))
        .with("message_snapshots", json!("odd"));
    scene.discord.write(odd);
    scene.discord_said(channel.id, "still here");
    scene.settled();
    let kept = scene.home.rows("SELECT raw FROM inbox WHERE kind = 'unreadable' ORDER BY id");
    assert_eq!(kept.len(), 7, "{kept:?}");
    assert_eq!(kept[0], "no JSON at all", "byte for byte");
    assert!(kept[5].contains("who am I?"));
    assert_eq!(scene.discord.identifies().len(), 1, "one session all along");
}

#[test]
fn without_the_content_intent_the_bot_hears_dms_and_mentions_and_says_where_to_switch_it_on() {
    let (mut scene, _, channel) = on_discord();
    scene.announce_error("Message Content Intent");
    scene.discord.allow_content(false);
    scene.model.script(Takes::All, [say("in private"), say("by name")]);
    scene.start_connected();
    let owner = scene.discord_owner();
    let dm = scene.discord.dm_of(&owner);
    scene.discord.dm(&owner, "hello");
    scene.discord_said(dm, "in private");
    scene.discord.write(Draft::text(channel.id, &owner, "a line that it cannot read"));
    scene.discord.write(Draft::to_bot(channel.id, &owner, "a mention"));
    scene.discord_said(channel.id, "by name");
    scene.settled();
    let intents: Vec<u64> = scene.discord.identifies().iter().map(|(_, asked)| *asked).collect();
    let [first, second] = intents[..] else { panic!("{intents:?}") };
    assert_eq!(first & !second, 1 << 15, "only the content is not asked for again");
}

#[test]
fn case_6_typing_is_shown_while_the_model_has_not_said_a_word() {
    let (mut scene, _, channel) = on_discord();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("at last").after(&gate)]);
    scene.start_connected();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "think"));
    let typing = scene.until("typing", |scene| scene.discord.typing().first().cloned());
    assert_eq!(typing.channel, channel.id);
    scene.until("the model is asked", |_| gate.reached().then_some(()));
    gate.open();
    scene.discord_said(channel.id, "at last");
    scene.settled();
}

#[test]
fn case_5_typing_ends_on_every_way_out_of_a_turn() {
    let (mut scene, _, channel) = on_discord();
    // Discord's heartbeats are the clock of this test: typing would come again every four seconds.
    scene.discord.beat_every(Duration::from_secs(1));
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [empty(), empty(), say("never said").after(&gate)]);
    scene.start_connected();
    let owner = scene.discord_owner();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "say nothing"));
    scene.until("a notice", |scene| scene.discord.texts(channel.id).pop());
    scene.settled();
    scene.discord.write(Draft::to_bot(channel.id, &owner, "think for long"));
    scene.until("the model is asked", |_| gate.reached().then_some(()));
    scene.discord.write(Draft::to_bot(channel.id, &owner, "/stop"));
    scene.discord_said(channel.id, "Stopped.");
    scene.settled();
    let (typed, beaten) = (scene.discord.typing().len(), scene.discord.heartbeats());
    assert!(typed >= 1);
    scene.until("six more heartbeats", |scene| {
        (scene.discord.heartbeats() >= beaten + 6).then_some(())
    });
    assert_eq!(scene.discord.typing().len(), typed, "nobody types any more");
    gate.open();
}
