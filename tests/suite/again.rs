//! Start, stop, start: what the program writes, it accepts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Reply, Request, Takes, call, say};
use atlas_tests::process::Process;
use atlas_tests::telegram::{self, User};
use atlas_tests::{discord, model};
use serde_json::json;

use crate::access::code;
use crate::discord::on_discord;
use crate::guest::mention;

const STRANGER: i64 = 99;

/// A model that keeps what it is told, and knows what it was shown.
fn answer(request: &Request) -> Reply {
    let said = request.last("user");
    let add = |target: &str, content: &str| {
        let add = json!({"action": "add", "content": content});
        call("memory", &json!({"target": target, "operations": [add]}))
    };
    if request.last_role() == "tool" {
        say("Noted.")
    } else if said.contains("what do I drink?") {
        say(if request.text().contains("Likes tea.") { "Tea." } else { "I do not know." })
    } else if said.contains("how long are titles?") {
        say(if request.text().contains("Titles are short.") { "Short." } else { "I do not know." })
    } else if said.contains("tea is what I like") {
        add("user", "Likes tea.")
    } else if said.contains("keep titles short") {
        add("memory", "Titles are short.")
    } else {
        say("Hello.")
    }
}

/// `atlas check`, in a home whose configuration is as it stands.
fn clean(scene: &mut Harness) {
    let check = Process::start("check", &mut scene.command(&["check"], &[]), &scene.bell);
    let (status, out, err) = scene.finish(check);
    assert!(status.success() && !out.contains('✗') && !out.contains("restart"), "{out}{err}");
    assert!(!out.is_empty() && err.is_empty(), "{out}{err}");
}

/// Every file of the home but the database and what processes hold, by its path, with what it says.
fn files(home: &Path, folder: &Path, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(home).expect("a path below the home").display().to_string();
        if path.is_dir() {
            files(home, &path, into);
        } else if !name.starts_with("run/") && !name.starts_with("atlas.db") {
            into.insert(name, fs::read_to_string(&path).expect("a file of text"));
        }
    }
}

fn kept(scene: &Harness) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    files(scene.home.path(), scene.home.path(), &mut kept);
    kept
}

/// Everybody asks what was asked before; the answers, in order.
fn asked(scene: &mut Harness, channel: u64) -> Vec<String> {
    let (group, owner) = (scene.group(), scene.owner());
    let mut answers = Vec::new();
    let places = [OWNER, group.id, STRANGER];
    let before = places.map(|chat| scene.telegram.texts(chat).len());
    scene.dm("what do I drink?");
    mention(scene, &group, &owner, "how long are titles?");
    scene.telegram.dm(&User::new(STRANGER, "Eve"), "are you there?");
    for (chat, before) in places.into_iter().zip(before) {
        scene.until("an answer on Telegram", |scene| {
            (scene.telegram.texts(chat).len() > before).then_some(())
        });
    }
    let before = scene.discord.texts(channel).len();
    let there = discord::Draft::to_bot(channel, &scene.discord_owner(), "are you there?");
    scene.discord.write(there);
    scene.until("an answer on Discord", |scene| {
        (scene.discord.texts(channel).len() > before).then_some(())
    });
    scene.settled();
    answers.extend(places.map(|chat| scene.telegram.texts(chat).pop().expect("an answer")));
    answers.extend(scene.discord.texts(channel).pop());
    let terminal = scene.chat(&["what do I drink?"]);
    let (status, out, err) = scene.finish(terminal);
    assert!(status.success(), "{err}");
    answers.push(out.trim().to_owned());
    answers
}

/// The end of a gateway that had nothing to complain about.
fn stopped(scene: &mut Harness) {
    let complaints: Vec<String> = {
        let log = scene.gateway().log().into_iter();
        log.filter(|line| ["WARN", "ERROR"].iter().any(|level| is(line, level))).collect()
    };
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(scene.stop().success());
}

fn is(line: &str, level: &str) -> bool {
    line.contains(&format!("\"level\":\"{level}\""))
}

/// A home that the program made, with its example as the configuration to which accounts, a second
/// bot and secrets were added.
fn furnished(scene: &mut Harness) {
    clean(scene);
    clean(scene);
    let example = scene.home.read("atlas.toml");
    assert!(example.contains("#[accounts.tg]"), "{example}");
    let secrets = [
        ("STAND_IN_TOKEN", "telegram", telegram::TOKEN),
        ("STAND_IN_DISCORD_TOKEN", "discord", discord::TOKEN),
        ("STAND_IN_KEY", "model", model::KEY),
    ];
    for (variable, name, secret) in secrets {
        let (variable, name) = (format!("\"env:{variable}\""), name.to_owned());
        assert!(scene.config.contains(&variable), "{variable}");
        scene.config = scene.config.replace(&variable, &format!("\"secret:{name}\""));
        scene.home.keep_secret(&name, secret);
    }
    let group = scene.group().id;
    scene.home.write("bots/seo/BOT.md", "You look after titles.\n");
    scene.configure(&format!(
        "[[routes]]\naccount = \"tg\"\nchat = \"{group}\"\nbot = \"seo\"\nmemory = \"notes\""
    ));
    scene.config = format!("{example}\n{}", scene.config);
}

/// Everything that a home can be made to write.
fn used(scene: &mut Harness) {
    let (group, owner) = (scene.group(), scene.owner());
    scene.dm("tea is what I like");
    scene.answered("Noted.");
    mention(scene, &group, &owner, "keep titles short");
    scene.sent_to(group.id, "Noted.");
    scene.telegram.dm(&User::new(STRANGER, "Eve"), "may I?");
    let code = code(scene, STRANGER);
    scene.dm(&format!("/allow {code}"));
    scene.sent_to(STRANGER, "You may talk with me now. What is it?");
    let pair = scene.spawn("pair", &["pair", "--yes"], &[]);
    let (status, _, err) = scene.finish(pair);
    assert!(status.success(), "{err}");
    scene.settled();
    // A note of what needs a restart, which the next start takes up.
    // The example has such a line too, commented out.
    let token = "\ntoken = \"secret:discord\"";
    scene.config = scene.config.replace(token, &format!("{token}\nbacklog = \"5h\""));
    let config = scene.config.clone();
    scene.home.write("atlas.toml", &config);
    scene.until("it is told", |scene| {
        let texts = scene.telegram.texts(OWNER);
        texts.iter().any(|text| text.starts_with("Restart Atlas to take up")).then_some(())
    });
    scene.settled();
    assert!(scene.home.read("run/restart").contains("account dc"));
}

#[test]
fn case_87_what_the_program_writes_it_accepts() {
    let (mut scene, _, channel) = on_discord();
    scene.model.rule(Takes::All, answer);
    furnished(&mut scene);
    scene.start_connected();
    used(&mut scene);
    let first = asked(&mut scene, channel.id);
    assert_eq!(first, ["Tea.", "Short.", "Hello.", "Hello.", "Tea."]);
    assert!(scene.stop().success());
    let written = kept(&scene);
    for path in ["SOUL.md", "atlas.toml", "memory/USER.md", "bots/seo/MEMORY.md", "vault/model"] {
        assert!(written.contains_key(path), "{path} of {:?}", written.keys());
    }
    let held = scene.home.files_with("run", "");
    for _ in 0..2 {
        clean(&mut scene);
        scene.start_connected();
        clean(&mut scene);
        assert_eq!(asked(&mut scene, channel.id), first);
        stopped(&mut scene);
        assert_eq!(kept(&scene), written);
        assert!(scene.home.files_with("run", "").len() <= held.len(), "nothing piles up");
    }
    clean(&mut scene);
}
