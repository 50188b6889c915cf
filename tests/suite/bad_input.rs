//! Bad input from everywhere: a clear sentence, nothing lost, and the process lives.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

use atlas_tests::bell::CEILING;
use atlas_tests::faults::{FAIL, PANIC};
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, call, calls, raw_sse, say, status, truncated};
use atlas_tests::process::Process;
use atlas_tests::telegram::{Chat, Draft, utf16};
use serde_json::json;

use crate::scene;

/// The gateway lives, and answers what comes next.
fn still_answers(scene: &mut Harness) {
    let before = scene.telegram.sent().len();
    scene.dm("are you still there?");
    scene.until("an answer after it", |scene| {
        let after = scene.telegram.sent().into_iter().skip(before);
        after.map(|sent| sent.text).find(|text| text == "Still here.")
    });
    scene.settled();
}

/// Waits for the end of a process that cannot start, and what it said.
fn refused(scene: &mut Harness, mut process: Process) -> (ExitStatus, String) {
    let status = scene.bell.clone().wait(CEILING, || process.ended());
    let Some(status) = status else { panic!("it runs\n{}", process.describe()) };
    let said = format!("{}{}", process.err(), process.out());
    scene.finish(process);
    (status, said)
}

#[test]
fn updates_that_cannot_be_read_are_kept_and_the_next_one_is_answered() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Still here."));
    scene.start();
    let owner = scene.owner();
    let chat = Chat::dm(&owner);
    scene.telegram.update("message", json!({"message_id": "not a number", "chat": 5}));
    scene.telegram.update("message", json!("only text"));
    scene.telegram.update("message", json!(null));
    scene.telegram.update("a_kind_of_next_year", json!({"id": 1}));
    scene.telegram.update("poll_answer", json!({"poll_id": "1"}));
    scene.telegram.update("my_chat_member", json!({}));
    scene.telegram.write(Draft::content(&chat, &owner, &json!({"something_new": {"a": 1}})));
    still_answers(&mut scene);
    assert!(scene.home.rows("SELECT json_array(raw) FROM inbox").len() >= 3, "they are kept");
}

#[test]
fn stickers_photos_and_files_reach_the_model_as_readable_words() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Still here."));
    scene.start();
    let owner = scene.owner();
    let sticker = json!({"sticker": {
        "file_id": "f", "file_unique_id": "u", "type": "regular", "width": 512, "height": 512,
        "is_animated": false, "is_video": false, "emoji": "🎉", "file_size": 1000,
    }});
    scene.telegram.write(Draft::content(&Chat::dm(&owner), &owner, &sticker));
    scene.until("an answer to the sticker", |scene| scene.telegram.texts(OWNER).pop());
    let seen = scene.model.last().expect("a request").last("user");
    assert!(seen.contains("🎉") || seen.to_lowercase().contains("sticker"), "{seen}");
    still_answers(&mut scene);
}

#[test]
fn a_message_of_ten_megabytes_is_no_end() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Still here."));
    scene.start();
    scene.dm(&"ten megabytes ".repeat(750_000));
    scene.until("an answer, or why there is none", |scene| scene.telegram.texts(OWNER).pop());
    scene.settled();
    // What was too long for the model is cut out of its sight, not out of the conversation.
    scene.model.announce_break();
    still_answers(&mut scene);
}

#[test]
fn an_emoji_storm_is_taken_and_sent_whole() {
    let mut scene = scene();
    let family = "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇩🇪é";
    let storm = family.repeat(900);
    let answer = storm.clone();
    scene.model.rule(Takes::All, move |request| {
        say(if request.last("user").contains("still there") { "Still here." } else { &answer })
    });
    scene.start();
    scene.dm(&family.repeat(200));
    let units = utf16(&storm);
    scene.until("all of the storm", |scene| {
        let sent: usize = scene.telegram.texts(OWNER).iter().map(|text| utf16(text)).sum();
        (sent >= units).then_some(())
    });
    let texts = scene.telegram.texts(OWNER);
    assert_eq!(texts.concat(), storm);
    assert!(
        texts
            .iter()
            .all(|text| text.starts_with('👩') || text.starts_with(['🏳', '👍', '🇩', 'é', 'e']))
    );
    still_answers(&mut scene);
}

#[test]
fn a_call_that_cannot_be_read_gets_an_answer_that_the_model_can_read() {
    for (arguments, word) in [
        ("{\"target\": \"user\", \"operations\": [", "JSON"),
        ("not json at all", "JSON"),
        ("{\"target\": \"nobody\", \"operations\": []}", "target"),
        ("{\"operations\": \"add\"}", "operations"),
        ("[]", "object"),
        ("{\"target\": \"user\", \"operations\": [{\"action\": \"fly\"}]}", "action"),
    ] {
        let mut scene = scene();
        scene.model.script(
            Takes::All,
            [calls([("memory", arguments)]), say("Sorry."), say("Still here.")],
        );
        scene.start();
        scene.dm("do something");
        scene.answered("Sorry.");
        let result = scene.model.last().expect("a request").last("tool");
        assert!(result.to_lowercase().contains(&word.to_lowercase()), "{arguments}: {result}");
        still_answers(&mut scene);
        assert_eq!(scene.home.read("memory/USER.md"), "");
    }
}

#[test]
fn a_tool_that_does_not_exist_is_named_as_such() {
    let mut scene = scene();
    scene
        .model
        .script(Takes::All, [call("launch_rocket", &json!({})), say("No."), say("Still here.")]);
    scene.start();
    scene.dm("launch");
    scene.answered("No.");
    assert!(scene.model.last().expect("a request").last("tool").contains("launch_rocket"));
    still_answers(&mut scene);
}

#[test]
fn whatever_the_models_server_sends_the_person_gets_an_answer_or_a_reason() {
    for (name, first) in [
        ("truncated", truncated("half an ans")),
        ("no event stream", raw_sse("<html>busy</html>")),
        ("broken JSON", raw_sse("data: {\"choices\": [\n\n")),
        (
            "an error inside the stream",
            raw_sse("data: {\"error\": {\"message\": \"overloaded\"}}\n\n"),
        ),
        ("500", status(500, "internal error")),
        ("429", status(429, "slow down").retry_after(1)),
        ("a status without JSON", atlas_tests::model::reply::status_raw(503, "upstream down")),
    ] {
        let mut scene = scene();
        scene.model.script(Takes::All, [first, say("after all"), say("Still here.")]);
        scene.start();
        scene.dm("hello");
        scene.until(&format!("an answer after {name}"), |scene| {
            scene.telegram.texts(OWNER).contains(&"after all".to_owned()).then_some(())
        });
        still_answers(&mut scene);
        let texts = scene.telegram.texts(OWNER);
        assert!(!texts.iter().any(|text| text.contains("half an ans")), "{name}: {texts:?}");
    }
}

#[test]
fn a_refused_key_and_an_empty_account_are_told_with_the_providers_reason() {
    for (code, reason) in
        [(401, "the key was revoked"), (402, "no credit is left"), (400, "no such model")]
    {
        let mut scene = scene();
        scene.announce_error("refuse");
        scene.announce_error("credit");
        scene.model.script(Takes::All, [status(code, reason), say("Still here.")]);
        scene.start();
        scene.dm("hello");
        scene.until(&format!("the reason of the {code}"), |scene| {
            scene.telegram.texts(OWNER).iter().any(|text| text.contains(reason)).then_some(())
        });
        scene.settled();
        still_answers(&mut scene);
    }
}

#[test]
fn an_answer_cut_at_its_length_or_filtered_says_so() {
    for end in ["length", "content_filter"] {
        let mut scene = scene();
        scene.model.script(Takes::All, [say("a part of").ending(end), say("Still here.")]);
        scene.start();
        scene.dm("hello");
        let text = scene.until("what came of it", |scene| scene.telegram.texts(OWNER).pop());
        scene.settled();
        let all = scene.telegram.texts(OWNER).join("\n");
        assert!(all.trim() != "a part of", "{end} is not told: {text}");
        still_answers(&mut scene);
    }
}

#[test]
fn a_disk_that_is_full_while_a_turn_begins_loses_nothing() {
    full_disk(&[
        "accept:3",
        "claim:2",
        "load:1",
        "pending:1",
        "open_turn:2",
        "commit_step:2",
        "intend:1",
    ]);
}

#[test]
fn a_disk_that_is_full_while_a_turn_ends_loses_nothing() {
    full_disk(&[
        "prepare:1",
        "place:1",
        "settle_intent:1",
        "claim_deliveries:2",
        "part_sent:2",
        "settle:2",
        "release:1",
    ]);
}

/// Runs a turn that writes memory, once for each of these use cases failing so many times.
fn full_disk(all: &[&str]) {
    for &fails in all {
        let mut scene = scene();
        for word in ["space", "database", "written", "disk"] {
            scene.announce_error(word);
        }
        let add =
            json!({"target": "user", "operations": [{"action": "add", "content": "Likes tea."}]});
        scene.model.rule(Takes::All, move |request| match request.last_role() {
            "tool" => say("Noted."),
            _ if request.last("user").contains("still there") => say("Still here."),
            _ => call("memory", &add),
        });
        scene.start_with(&[(FAIL, fails)]);
        scene.dm("I like tea");
        scene.until(&format!("an answer in spite of {fails}"), |scene| {
            scene.telegram.texts(OWNER).iter().any(|text| text.contains("Noted.")).then_some(())
        });
        assert!(scene.gateway().ended().is_none(), "{fails}");
        if fails == "settle_intent:1" {
            // What became of the write is found out at the next start, or the next write.
            scene.stop();
            scene.start();
        }
        scene.settled();
        still_answers(&mut scene);
        assert!(scene.gateway().ended().is_none(), "{fails}");
    }
}

#[test]
fn a_disk_that_is_really_full_ends_with_a_sentence_and_goes_on_with_room() {
    let mut scene = scene();
    scene.allow_left_over();
    scene.model.rule(Takes::All, |_| say("Still here."));
    scene.start();
    scene.dm("before");
    scene.until("an answer", |scene| scene.telegram.texts(OWNER).pop());
    scene.settled();
    scene.stop();
    // Files may grow to 64 KiB more or less; the signal is ignored, so that writes fail.
    let inner = scene.command(&["run"], &[]);
    let mut limited = Command::new("sh");
    limited.arg("-c").arg("trap '' XFSZ; ulimit -f 64; exec \"$0\" run").arg(inner.get_program());
    limited.env_clear();
    for (key, value) in inner.get_envs() {
        if let Some(value) = value {
            limited.env(key, value);
        }
    }
    let mut process = Process::start("a gateway on a full disk", &mut limited, &scene.bell);
    scene.dm(&"a message that does not fit any more ".repeat(4_000));
    let bell = scene.bell.clone();
    let told = bell.wait(CEILING, || {
        (process.ended().is_some()
            || process.logged("cannot be written")
            || process.err().contains("cannot be"))
        .then_some(())
    });
    assert!(told.is_some(), "no sentence about the disk\n{}", process.describe());
    assert!(!process.everything().contains("panicked"), "{}", process.describe());
    process.kill();
    scene.announce_error("written");
    scene.start();
    scene.until("the message was not lost", |scene| {
        (scene.telegram.texts(OWNER).len() >= 2).then_some(())
    });
    scene.settled();
}

#[test]
fn a_panic_in_one_conversation_ends_its_turn_and_nothing_else() {
    let mut scene = scene();
    scene.announce_error("bug");
    scene.announce_error("broke off");
    scene.model.rule(Takes::All, |_| say("Still here."));
    scene.start_with(&[(PANIC, "ask")]);
    scene.dm("hello");
    scene.until("something is said", |scene| scene.telegram.texts(OWNER).pop());
    scene.settled();
    still_answers(&mut scene);
}

#[test]
fn a_missing_bot_and_a_broken_one_are_named() {
    let mut scene = scene();
    scene.config = scene.config.replace("[accounts.tg]\n", "[accounts.tg]\nbot = \"seoo\"\n");
    scene.home.write("bots/seo/BOT.md", "---\nname: SEO\n---\nYou look after rankings.\n");
    scene.home.write("atlas.toml", &scene.config);
    let process = scene.spawn("missing bot", &["run"], &[]);
    let (status, said) = refused(&mut scene, process);
    assert_eq!(status.code(), Some(78), "{said}");
    assert!(said.contains("seoo") && said.contains("seo"), "{said}");
}

#[test]
fn a_broken_bot_file_is_named_with_its_line() {
    let mut scene = scene();
    scene.home.write("bots/seo/BOT.md", "---\nname: [broken\nmodle: x\n---\nA mission.\n");
    scene.home.write("atlas.toml", &scene.config);
    let process = scene.spawn("broken bot", &["run"], &[]);
    let (status, said) = refused(&mut scene, process);
    assert_eq!(status.code(), Some(78), "{said}");
    assert!(said.contains("BOT.md"), "{said}");
}

#[test]
fn a_home_that_is_a_file_is_said_to_be_one() {
    let scene = &mut scene();
    scene.home.write("not-a-folder", "text");
    let path = scene.home.file("not-a-folder");
    let path = path.to_str().expect("a path").to_owned();
    for arguments in [vec!["run"], vec!["chat", "-m", "hello"], vec!["check"]] {
        let process = scene.spawn("home is a file", &arguments, &[("ATLAS_HOME", &path)]);
        let (status, said) = refused(scene, process);
        assert!(!status.success(), "{arguments:?}");
        assert!(said.contains("not-a-folder"), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_home_of_somebody_else_is_said_to_be_one() {
    let mut scene = scene();
    let home = scene.home.file("theirs");
    fs::create_dir(&home).expect("a folder");
    let path = home.to_str().expect("a path").to_owned();
    let mut command = scene.command(&["run"], &[("ATLAS_HOME", &path)]);
    // Who may read everything becomes somebody who may not.
    let all_powerful = fs::metadata("/proc/self").expect("this process").uid() == 0;
    let mode = if all_powerful { 0o700 } else { 0o000 };
    fs::set_permissions(&home, fs::Permissions::from_mode(mode)).expect("permissions");
    if all_powerful {
        fs::set_permissions(scene.home.path(), fs::Permissions::from_mode(0o755))
            .expect("a way in");
        command.uid(65534);
    }
    let process = Process::start("somebody else", &mut command, &scene.bell);
    let (status, said) = refused(&mut scene, process);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("permissions");
    assert!(!status.success(), "{said}");
    assert!(said.contains("theirs") && !said.contains("panicked"), "{said}");
}

#[test]
fn a_database_that_is_none_is_left_alone_and_named() {
    let mut scene = scene();
    let text = "this was a diary, not a database\n".repeat(100);
    scene.home.write("atlas.db", &text);
    scene.allow_left_over();
    scene.home.write("atlas.toml", &scene.config);
    let process = scene.spawn("broken database", &["run"], &[]);
    let (status, said) = refused(&mut scene, process);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("atlas.db"), "{said}");
    assert_eq!(scene.home.read("atlas.db"), text);
}

#[test]
fn a_second_gateway_on_one_home_is_refused_and_the_first_goes_on() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Still here."));
    scene.start();
    let second = scene.spawn("second gateway", &["run"], &[]);
    let (status, said) = refused(&mut scene, second);
    assert_eq!(status.code(), Some(1));
    assert!(said.to_lowercase().contains("another gateway"), "{said}");
    still_answers(&mut scene);
}

#[test]
fn a_memory_file_that_cannot_be_read_is_never_written() {
    let mut scene = scene();
    let add = json!({"target": "user", "operations": [{"action": "add", "content": "Likes tea."}]});
    scene
        .model
        .script(Takes::All, [call("memory", &add), say("It cannot be read."), say("Still here.")]);
    fs::create_dir_all(scene.home.file("memory")).expect("a folder");
    let bytes = b"caf\xe9 au lait\n";
    fs::write(scene.home.file("memory/USER.md"), bytes).expect("a file");
    scene.start();
    scene.dm("I like tea");
    scene.answered("It cannot be read.");
    let result = scene.model.last().expect("a request").last("tool");
    assert!(result.contains("cannot be read"), "{result}");
    still_answers(&mut scene);
    assert_eq!(fs::read(scene.home.file("memory/USER.md")).expect("the file"), bytes);
}
