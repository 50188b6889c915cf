//! What stands in the way of one conversation or one message stays there: a bot that is gone, a bug.

use atlas_tests::faults::PANIC;
use atlas_tests::harness::OWNER;
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram::{BOT_NAME, Draft};

use crate::scene;

#[test]
fn what_waits_for_a_bot_that_is_gone_is_told_once_and_goes_on_when_it_is_back() {
    let mut scene = scene();
    let (group, gate) = (scene.group(), scene.model.gate());
    let without = scene.config.clone();
    scene.configure(&format!(
        "[[routes]]\naccount = \"tg\"\nchat = \"{}\"\nbot = \"seo\"\n",
        group.id
    ));
    let with = scene.config.clone();
    scene.home.write("bots/seo/BOT.md", "---\nname: Seo\n---\nYou write headlines.\n");
    scene.model.script(Takes::Containing("headlines"), [say("never heard").after(&gate)]);
    scene.start();
    let text = format!("{BOT_NAME} a headline, please");
    scene.telegram.write(Draft::text(&group, &scene.owner(), &text).mentioning(BOT_NAME));
    scene.until("its call hangs", |_| gate.reached().then_some(()));
    scene.kill();
    gate.open();

    scene.config = without;
    std::fs::rename(scene.home.file("bots/seo"), scene.home.file("seo")).expect("a folder moved");
    scene.announce_error("a bot that is gone");
    let answers = ["one", "two", "three"];
    scene.model.script(Takes::All, answers.map(say));
    scene.start();
    for text in answers {
        scene.dm("hello");
        scene.answered(text);
    }
    let log = scene.gateway().log();
    let told = log.iter().filter(|line| line.contains("a bot that is gone")).count();
    assert_eq!(told, 1);
    scene.stop();

    scene.config = with;
    std::fs::rename(scene.home.file("seo"), scene.home.file("bots/seo")).expect("a folder moved");
    scene.model.script(Takes::Containing("headlines"), [say("Cats!")]);
    scene.start();
    scene.sent_to(group.id, "Cats!");
    scene.settled();
}

#[test]
fn a_bug_in_the_sending_of_one_message_is_got_over() {
    let mut scene = scene();
    scene.announce_error("broke off");
    scene.model.script(Takes::All, [say("the first"), say("the second")]);
    scene.start_with(&[(PANIC, "send")]);
    scene.dm("hello");
    scene.until("the first answer, marked", |scene| {
        let texts = scene.telegram.texts(OWNER);
        texts.iter().any(|text| text.ends_with("the first")).then_some(())
    });
    scene.dm("and?");
    scene.answered("the second");
    scene.settled();
}
