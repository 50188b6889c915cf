//! `atlas check` for Discord: the token, what the bot may read, what it lacks where it is routed.

use atlas_tests::discord::{Channel, Guild};

use crate::discord::on_discord;
use crate::scene;

fn checked(scene: &mut atlas_tests::harness::Harness) -> (bool, String) {
    let check = scene.spawn("check", &["check"], &[]);
    let (status, out, _) = scene.finish(check);
    let line = out.lines().skip_while(|line| !line.contains("account dc"));
    (status.success(), line.take(2).collect::<Vec<_>>().join("\n"))
}

#[test]
fn check_names_the_bot_and_what_it_may_not_read() {
    let (mut scene, _, _) = on_discord();
    let (right, line) = checked(&mut scene);
    assert!(right && line.starts_with("✓ account dc: @atlas_test"), "{line}");
    assert!(!line.contains("Message Content"), "{line}");
    scene.discord.allow_content(false);
    let (right, line) = checked(&mut scene);
    assert!(right && line.contains("Message Content Intent"), "{line}");
    assert!(scene.discord.identifies().is_empty(), "a check begins no session");
}

#[test]
fn check_names_the_permissions_that_lack_in_routed_places() {
    let mut scene = scene();
    scene.use_discord();
    let mut guild = Guild::new(700_000_000_000_000_000, "Team");
    guild.permissions = (1 << 10) | (1 << 11) | (1 << 16);
    let channel = Channel::text(guild.id + 100, &guild, "general");
    scene.discord.join(&guild);
    scene.discord.open(&channel);
    let thread = scene.discord.open(&channel.thread("a thread"));
    for chat in [channel.id, thread.id, guild.id, 5] {
        scene.configure(&format!("[[routes]]\naccount = \"dc\"\nchat = \"{chat}\"\n"));
    }
    let (right, line) = checked(&mut scene);
    assert!(!right, "{line}");
    let lacks = "Send Messages in Threads, Attach Files";
    for place in [format!("#general: {lacks}"), format!("Team: {lacks}"), "5: it is not".to_owned()]
    {
        assert!(line.contains(&place), "{place:?} in {line}");
    }
    assert!(line.contains("Give its role"), "{line}");
}

#[test]
fn check_says_how_to_mend_a_token_that_is_refused() {
    let mut scene = scene();
    scene.use_discord();
    scene.config = scene.config.replace("env:STAND_IN_DISCORD_TOKEN", "file:other");
    scene.home.write("other", "a.b.c");
    let (right, line) = checked(&mut scene);
    assert!(!right && line.contains("Discord refuses the token"), "{line}");
    assert!(line.contains("Reset Token") && !line.contains("a.b.c"), "{line}");
}
