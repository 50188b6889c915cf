//! Discord's way out, on the wire: what is sent arrives once, in Discord's dialect, calls nobody, and
//! what can never arrive is told.

use std::time::Duration;

use atlas_tests::discord::{Channel, Draft, SendFault};
use atlas_tests::faults::{KILL, LATER};
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, say};

use crate::discord::on_discord;

const HOUR: Duration = Duration::from_secs(3_600);
const MARK: char = '♻';

/// A scene with Discord, a running gateway that is connected to it, and a model that answers like this.
fn answering(answers: &[&str]) -> (Harness, Channel) {
    let (mut scene, _, channel) = on_discord();
    let answers: Vec<_> = answers.iter().map(|answer| say(answer)).collect();
    scene.model.script(Takes::All, answers);
    scene.start_connected();
    (scene, channel)
}

/// The owner asks in the channel; waits until nothing is left to be done.
fn asked(scene: &mut Harness, channel: &Channel) -> Vec<String> {
    let before = scene.model.requests().len();
    scene.discord.write(Draft::to_bot(channel.id, &scene.discord_owner(), "well?"));
    scene.until("the question is read", |scene| {
        (scene.model.requests().len() > before).then_some(())
    });
    scene.settled();
    scene.discord.texts(channel.id)
}

/// Dies at this point of sending to the owner's DM, and goes on so much later, on Discord too.
fn died_while_sending(point: &str, later: Duration, answer: &str) -> Vec<String> {
    let (mut scene, _, _) = on_discord();
    scene.model.script(Takes::All, [say("Hello."), say(answer)]);
    let owner = scene.discord_owner();
    let dm = scene.discord.dm_of(&owner);
    scene.start_connected();
    scene.discord.dm(&owner, "good morning");
    scene.discord_said(dm, "Hello.");
    scene.settled();
    assert!(scene.stop().success());
    scene.start_with(&[(KILL, point)]);
    scene.connected();
    scene.discord.dm(&owner, "well?");
    scene.crashed(point);
    scene.discord.turn_clock(later);
    scene.start_with(&[(LATER, &later.as_secs().to_string())]);
    scene.until("the rest is sent", |scene| scene.home.left_over().is_empty().then_some(()));
    scene.settled();
    let mut texts = scene.discord.texts(dm);
    assert_eq!(texts.remove(0), "Hello.");
    texts
}

#[test]
fn an_answer_is_in_discords_dialect_and_calls_nobody() {
    let answer =
        "**Yes**, @everyone and <@55>:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nhttps://e.org";
    let (mut scene, channel) = answering(&[answer]);
    let texts = asked(&mut scene, &channel);
    let table = "```\na | b\n--+--\n1 | 2\n```";
    let called = "**Yes**, @\u{200b}everyone and <@\u{200b}55>:";
    assert_eq!(texts, [format!("{called}\n\n{table}\n\n<https://e.org>")]);
    let sent = &scene.discord.sent()[0];
    assert_eq!(sent.body["allowed_mentions"], serde_json::json!({ "parse": [] }));
    assert!(!sent.silent, "an answer makes a sound");
}

#[test]
fn what_arrived_and_was_not_told_is_not_sent_twice() {
    let (mut scene, channel) = answering(&["Once."]);
    scene.discord.plan_sends([SendFault::LostAnswer, SendFault::Status(502)]);
    assert_eq!(asked(&mut scene, &channel), ["Once."]);
    assert_eq!(scene.discord.tries(), 3);
}

#[test]
fn killed_between_send_and_receipt_it_is_sent_once_whenever_it_goes_on() {
    for later in [Duration::ZERO, HOUR] {
        assert_eq!(
            died_while_sending("send:after:1", later, "_Once_, **at** most."),
            ["_Once_, **at** most."]
        );
    }
}

#[test]
fn killed_before_it_was_sent_it_is_sent_once_and_marked_where_nobody_can_know() {
    let point = "send:before:1";
    assert_eq!(died_while_sending(point, Duration::ZERO, "# Once"), ["# Once"]);
    assert_eq!(died_while_sending(point, HOUR, "# Once"), ["♻︎\n# Once"]);
}

#[test]
fn case_3_parts_in_chinese_and_emoji_arrive_each_once_over_a_crash() {
    let answer = "明天下午三点开会👩‍👩‍👧‍👦。".repeat(312);
    for later in [Duration::ZERO, HOUR] {
        let texts = died_while_sending("send:after:2", later, &answer);
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(texts.iter().all(|text| text.chars().count() <= 2_000 && text.ends_with('。')));
        assert_eq!(texts.concat(), answer);
    }
}

#[test]
fn a_wait_that_discord_asks_for_is_kept() {
    let (mut scene, channel) = answering(&["In time."]);
    scene.discord.plan_sends([SendFault::TooMany(0.7)]);
    let asked_at = std::time::Instant::now();
    assert_eq!(asked(&mut scene, &channel), ["In time."]);
    assert_eq!(scene.discord.tries(), 2);
    let waited = scene.discord.sent()[0].at.duration_since(asked_at);
    assert!(waited >= Duration::from_millis(700), "{waited:?}");
}

#[test]
fn a_request_that_breaks_off_and_a_server_in_trouble_lose_nothing() {
    let (mut scene, channel) = answering(&["Here."]);
    scene.discord.plan_sends([SendFault::LostRequest, SendFault::Status(500)]);
    assert_eq!(asked(&mut scene, &channel), ["Here."]);
}

#[test]
fn case_22_what_can_never_arrive_is_told_elsewhere_with_the_cure() {
    for (code, words, cure) in [
        (10_003, "Unknown Channel", "the channel is gone"),
        (50_013, "Missing Permissions", "give its role \"Send Messages\""),
    ] {
        let (mut scene, channel) = answering(&["Hello.", "For nobody.", "It was not delivered."]);
        scene.dm("good morning");
        scene.answered("Hello.");
        scene.discord.plan_sends([SendFault::Refuse(403, code, words)]);
        assert_eq!(asked(&mut scene, &channel), [""; 0]);
        let told = scene.until("a notice on Telegram", |scene| {
            scene
                .telegram
                .texts(OWNER)
                .into_iter()
                .find(|text| text.contains("could not be delivered"))
        });
        assert!(told.contains(cure), "{told}");
        asked(&mut scene, &channel);
        let seen = scene.model.last().expect("a request").text();
        assert!(seen.contains("A message of yours could not be delivered"), "{seen}");
    }
}

#[test]
fn a_person_who_takes_no_messages_costs_one_try() {
    let (mut scene, _) = answering(&["For nobody."]);
    let owner = scene.discord_owner();
    scene.discord.block(owner.id);
    scene.discord.dm(&owner, "well?");
    scene.until("the answer is given up", |scene| {
        let closed = "SELECT reason FROM outbox WHERE outcome = 'closed'";
        scene.home.rows(closed).pop().filter(|reason| reason.contains("no direct messages"))
    });
    scene.settled();
    assert_eq!(scene.discord.tries(), 1);
}

#[test]
fn a_very_long_answer_is_its_beginning_and_a_file() {
    let answer = "A line of **many**.\n\n".repeat(1_500);
    let (mut scene, channel) = answering(&[answer.trim()]);
    let texts = asked(&mut scene, &channel);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].ends_with("The whole text is in the attached file."), "{}", texts[0]);
    let sent = &scene.discord.sent()[0];
    assert_eq!(
        (&*sent.files, &*sent.contents),
        (&["answer.md".to_owned()][..], &[answer.trim().to_owned()][..])
    );
}

#[test]
fn case_8_a_slash_command_is_answered_in_its_place() {
    let (mut scene, channel) = answering(&[]);
    let given = scene.discord.command(channel.id, &scene.discord_owner(), "help", "");
    let sent = scene.until("the help", |scene| scene.discord.sent().pop());
    scene.settled();
    assert_eq!(sent.answers, Some(given));
    assert!(sent.text.contains("/status"), "{}", sent.text);
    assert_eq!(scene.discord.sent().len(), 1);
}

#[test]
fn case_8_a_slash_command_that_outlives_its_process_is_answered_by_a_message_once() {
    for point in ["settle_command:after:1", "send:after:1"] {
        let (mut scene, _, channel) = on_discord();
        scene.start_with(&[(KILL, point)]);
        scene.connected();
        let given = scene.discord.command(channel.id, &scene.discord_owner(), "help", "");
        scene.crashed(point);
        scene.start();
        scene.until("the answer is sent", |scene| {
            let sent = "SELECT outcome FROM outbox WHERE outcome = 'sent'";
            scene.home.rows(sent).pop()
        });
        scene.settled();
        let sent = scene.discord.sent();
        let [sent] = &sent[..] else { panic!("{point}: {sent:?}") };
        assert!(!sent.text.contains(MARK) && sent.channel == channel.id, "{point}: {sent:?}");
        let in_place = point == "send:after:1";
        assert_eq!(sent.answers, in_place.then_some(given), "{point}");
    }
}

#[test]
fn typing_is_shown_before_the_answer() {
    let (mut scene, channel) = answering(&["Here."]);
    asked(&mut scene, &channel);
    let (typing, sent) = (scene.discord.typing(), scene.discord.sent());
    let first = typing.first().expect("typing was shown");
    assert!(first.channel == channel.id && first.order < sent[0].order);
}
