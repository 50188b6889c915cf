//! What Telegram kept while nobody listened: what is too old is kept and not answered, and each chat is
//! told so in one line, whatever is repeated.

use atlas_tests::faults::{KILL, LATER};
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram::{BOT_NAME, Chat, Draft};
use serde_json::json;

use crate::scene;

/// The one line for messages that were too old.
const SKIPPED: &str = "I was away. What was written here before that is not answered any more if it is \
older than 6 h; write again what still matters.";

/// Now, by Telegram's clock.
fn now() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "Telegram has a clock of its own")]
    chrono::Utc::now().timestamp()
}

/// Something that was written so many hours ago.
fn hours_ago(hours: i64, draft: Draft) -> Draft {
    draft.with("date", json!(now() - hours * 3600))
}

/// The owner's messages in private of so many hours ago.
fn write_old(scene: &Harness, hours: i64, count: usize) {
    let (dm, owner) = (Chat::dm(&scene.owner()), scene.owner());
    for n in 0..count {
        scene.telegram.write(hours_ago(hours, Draft::text(&dm, &owner, &format!("old {n}"))));
    }
}

/// How often a chat was told that something was skipped.
fn skipped(scene: &Harness, chat: i64) -> usize {
    scene.telegram.texts(chat).iter().filter(|text| *text == SKIPPED).count()
}

#[test]
fn what_is_too_old_is_kept_and_told_once_a_chat_and_the_rest_is_answered() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("hello again"), say("yes")]);
    let (group, owner) = (scene.group(), scene.owner());
    write_old(&scene, 7, 3);
    let dm = Chat::dm(&owner);
    scene.telegram.write(hours_ago(7, Draft::text(&dm, &owner, "/status")));
    let asks = format!("{BOT_NAME} an old question");
    let asks = Draft::text(&group, &owner, &asks).mentioning(BOT_NAME);
    scene.telegram.write(hours_ago(8, asks));
    scene.telegram.write(hours_ago(8, Draft::text(&group, &owner, "nobody was meant")));
    scene.telegram.write(hours_ago(5, Draft::text(&dm, &owner, "not too old")));
    scene.start();
    scene.answered("hello again");
    scene.settled();
    assert_eq!((skipped(&scene, OWNER), skipped(&scene, group.id)), (1, 1));
    assert_eq!(scene.telegram.texts(OWNER).len(), 2, "the old command is not answered");
    // They are there, as what was said and not answered.
    let text = scene.model.last().expect("a request").text();
    assert!(text.contains("old 0") && text.contains("old 2") && text.contains("not too old"));
    scene.dm("are you there?");
    scene.answered("yes");
    scene.settled();
    assert_eq!(skipped(&scene, OWNER), 1);
}

#[test]
fn a_reading_of_many_polls_tells_once_also_when_the_process_dies_between_them() {
    for point in ["accept:before:2", "accept:after:1", "accept:after:2", "read_up_to:before:1"] {
        let mut scene = scene();
        scene.model.rule(Takes::All, |_| say("yes"));
        write_old(&scene, 7, 130);
        scene.spawn_gateway(&[(KILL, point)]);
        scene.crashed(point);
        scene.start();
        scene.dm("are you there?");
        scene.answered("yes");
        scene.settled();
        // Where it died while the line was sent, a second copy is marked as one.
        assert!(skipped(&scene, OWNER) <= 1, "{point}");
        let told = scene.home.rows("SELECT text FROM outbox");
        let told = told.iter().filter(|text| text.contains(SKIPPED)).count();
        assert_eq!(told, 1, "{point}");
        assert_eq!(scene.home.rows("SELECT json_array(id) FROM inbox").len(), 131, "{point}");
        assert_eq!(scene.answers(), ["yes"], "{point}");
    }
}

#[test]
fn the_next_outage_is_told_of_again() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("yes"));
    for outage in 1..=2 {
        write_old(&scene, 7, 2);
        scene.start();
        scene.dm("are you there?");
        scene.until("an answer", |scene| (scene.answers().len() == outage).then_some(()));
        scene.settled();
        assert_eq!(skipped(&scene, OWNER), outage);
        assert!(scene.stop().success());
    }
}

#[test]
fn the_next_outage_is_told_of_again_also_when_the_clock_was_set_back() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("yes"));
    scene.start_with(&[(LATER, "900000")]);
    scene.until("what waited is through", |scene| (scene.telegram.polls().len() > 1).then_some(()));
    assert!(scene.stop().success());
    for outage in 1..=2 {
        write_old(&scene, 7, 2);
        scene.start();
        scene.dm("are you there?");
        scene.until("an answer", |scene| (scene.answers().len() == outage).then_some(()));
        scene.settled();
        assert_eq!(skipped(&scene, OWNER), outage);
        assert!(scene.stop().success());
    }
}

#[test]
fn what_comes_in_passing_is_new_whatever_the_clocks_say() {
    let mut scene = scene();
    scene.model.script(Takes::All, [say("yes")]);
    scene.start_with(&[(LATER, "90000")]);
    scene.until("what waited is through", |scene| (scene.telegram.polls().len() > 1).then_some(()));
    scene.dm("are you there?");
    scene.answered("yes");
    scene.settled();
    assert_eq!(skipped(&scene, OWNER), 0);
}

#[test]
fn a_shorter_backlog_is_an_accounts_own() {
    let mut scene = scene();
    let platform = "platform = \"telegram\"";
    scene.config = scene.config.replace(platform, &format!("{platform}\nbacklog = \"90m\""));
    write_old(&scene, 2, 1);
    scene.start();
    let line = SKIPPED.replace("6 h", "90 min");
    scene.answered(&line);
    scene.settled();
    assert!(scene.model.requests().is_empty());
}
