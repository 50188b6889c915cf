//! Discord's way in, on the wire: what people do there, and what becomes of it.

use atlas_tests::discord::{Channel, Draft, Guild, User};
use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, say};

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
    scene.discord.dm(&stranger, "let me in");
    scene.discord.write(Draft::to_bot(channel.id, &stranger, "let me in"));
    scene.discord.write(Draft::to_bot(channel.id, &User::bot(56, "robot"), "beep"));
    scene.discord.write(Draft::to_bot(channel.id, &owner, "I am Ana").by_webhook());
    scene.discord.write(Draft::to_bot(channel.id, &owner, "it is me"));
    scene.discord_said(channel.id, "yes");
    scene.settled();
    assert_eq!(scene.discord.sent().len(), 1);
}
