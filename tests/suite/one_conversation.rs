//! The owner's DMs on both platforms and the terminal as one conversation: one transcript, each answer
//! where it belongs, and what is private where they last wrote.

use std::time::Duration;

use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, call, say, status};
use atlas_tests::telegram::{BOT_NAME, Draft};
use serde_json::json;

use crate::discord::on_discord;

/// The owner's DM on Discord.
fn discord_dm(scene: &Harness) -> u64 {
    scene.discord.dm_of(&scene.discord_owner())
}

#[test]
fn begun_on_telegram_gone_on_in_discord_and_ended_in_the_terminal_it_is_one_transcript() {
    let (mut scene, _, _) = on_discord();
    scene.model.script(
        Takes::All,
        [say("On Telegram."), say("On Discord."), say("Here."), say("Back on Telegram.")],
    );
    scene.start_connected();
    let dm = discord_dm(&scene);
    scene.dm("my cat is called Pixel");
    scene.answered("On Telegram.");
    scene.discord.dm(&scene.discord_owner(), "and my dog is called Dot");
    scene.discord_said(dm, "On Discord.");
    scene.settled();
    let terminal = scene.chat(&["who lives with me?"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    assert_eq!(out.trim(), "Here.");
    scene.dm("and where was that?");
    scene.answered("Back on Telegram.");
    scene.settled();

    // Each answer went to where the question was asked, and nowhere else.
    assert_eq!(scene.telegram.texts(OWNER), ["On Telegram.", "Back on Telegram."]);
    assert_eq!(scene.discord.texts(dm), ["On Discord."]);
    // Each request begins with the one before, as the stand-in holds of every conversation: here all
    // four are of one.
    let requests = scene.model.requests();
    assert!(requests.iter().all(|request| request.cache_key() == requests[0].cache_key()));
    let lengths: Vec<usize> = requests.iter().map(|request| request.messages().len()).collect();
    assert_eq!(lengths, [2, 4, 6, 8]);
    let last = requests[3].text();
    let order = [
        "my cat is called Pixel",
        "On Telegram.",
        "and my dog is called Dot",
        "On Discord.",
        "who lives with me?",
        "Here.",
        "and where was that?",
    ];
    let places: Vec<_> = order.iter().filter_map(|words| last.find(words)).collect();
    assert!(places.len() == order.len() && places.is_sorted(), "{last}");
    let rows = scene.home.rows("SELECT json_array(id) FROM conversations");
    assert_eq!(rows.len(), 1, "{rows:?}");
}

#[test]
fn every_place_with_a_message_in_the_turn_gets_the_answer() {
    let (mut scene, _, _) = on_discord();
    let gate = scene.model.gate();
    let add = json!({"target": "memory", "operations": [{"action": "add", "content": "A fact."}]});
    scene.model.script(Takes::All, [call("memory", &add).after(&gate), say("To both of you.")]);
    scene.start_connected();
    let dm = discord_dm(&scene);
    scene.dm("remember a fact");
    scene.until("the model is asked", |_| gate.reached().then_some(()));
    scene.discord.dm(&scene.discord_owner(), "and answer here too");
    scene.until("it is stored", |scene| {
        let rows = "SELECT json_array(id) FROM inbox WHERE account = 'dc' AND kind = 'turn'";
        (scene.home.rows(rows).len() == 1).then_some(())
    });
    gate.open();
    scene.answered("To both of you.");
    scene.discord_said(dm, "To both of you.");
    scene.settled();
    assert_eq!(scene.answers(), ["To both of you."]);
    assert_eq!(scene.discord.sent().iter().filter(|sent| !sent.silent).count(), 1);
    // It joined behind the tool's result, and nothing that was sent before was rewritten.
    let request = scene.model.last().expect("a request");
    let roles: Vec<_> = request.messages().iter().filter_map(|one| one["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    assert!(request.last("user").contains("and answer here too"));
    assert_eq!(scene.home.rows("SELECT json_array(id) FROM turns").len(), 1);
}

#[test]
fn what_is_private_goes_to_the_dm_in_which_the_owner_wrote_last() {
    let (mut scene, _, _) = on_discord();
    scene
        .model
        .script(Takes::Containing("a group's question"), [status(401, "no"), status(401, "no")]);
    scene.model.script(Takes::All, [say("one"), say("two"), say("three")]);
    scene.start_connected();
    let (dm, group, owner) = (discord_dm(&scene), scene.group(), scene.owner());
    scene.dm("hello");
    scene.answered("one");
    scene.discord.dm(&scene.discord_owner(), "hello");
    scene.discord_said(dm, "two");
    let ask = |scene: &Harness| {
        let asks = format!("{BOT_NAME} a group's question");
        scene.telegram.write(Draft::text(&group, &owner, &asks).mentioning(BOT_NAME));
    };
    let told = |texts: Vec<String>| {
        texts.into_iter().filter(|text| text.starts_with("In another chat:")).count()
    };
    ask(&scene);
    scene.until("a private notice on Discord", |scene| {
        (told(scene.discord.texts(dm)) == 1).then_some(())
    });
    scene.settled();
    assert_eq!(told(scene.telegram.texts(OWNER)), 0);
    // Telegram tells whole seconds alone: one later, whatever the moment.
    scene.telegram.turn_clock(Duration::from_secs(2));
    scene.dm("hello again");
    scene.answered("three");
    ask(&scene);
    scene.until("a private notice on Telegram", |scene| {
        (told(scene.telegram.texts(OWNER)) == 1).then_some(())
    });
    scene.settled();
    assert_eq!(told(scene.discord.texts(dm)), 1);
}
