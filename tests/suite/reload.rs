//! A configuration that changes while the gateway runs.

use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram::{Draft, User};

use crate::guest::{GUEST, guest, with_guest};
use crate::scene;

const IN_FORCE: &str = "The configuration was read anew and is in force";
const BROKEN: &str = "The configuration was changed and is broken";

/// How often the gateway's log says this.
fn logged(scene: &mut Harness, text: &str) -> usize {
    scene.gateway().log().iter().filter(|line| line.contains(text)).count()
}

/// Writes the configuration, and waits until the gateway has seen that by itself.
fn write(scene: &mut Harness, config: &str, then: &str) {
    let before = logged(scene, then);
    scene.home.write("atlas.toml", config);
    scene.until(then, |scene| (logged(scene, then) > before).then_some(()));
}

/// Asks for a look, and waits until it is done.
fn hang_up(scene: &mut Harness, then: &str) {
    let before = logged(scene, then);
    scene.gateway().hang_up();
    scene.until(then, |scene| (logged(scene, then) > before).then_some(()));
}

#[test]
fn case_85_while_running_a_broken_configuration_changes_nothing_and_is_told_once() {
    let mut scene = with_guest();
    scene.model.rule(Takes::All, |_| say("Yes."));
    scene.start();
    scene.dm("hello");
    scene.answered("Yes.");
    let good = scene.config.clone();
    let broken = good.replace("allow = [", "groupAllowFrm = [");
    write(&mut scene, &broken, BROKEN);
    let told = scene.until("the owner is told", |scene| {
        let sent = scene.telegram.sent().pop()?;
        (sent.chat == OWNER && sent.silent).then_some(sent.text)
    });
    for part in ["broken", "groupAllowFrm", "allow", "atlas.toml:", "atlas check"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    write(&mut scene, &format!("{broken}\n[nonsense]\n"), BROKEN);
    scene.telegram.dm(&guest(), "am I still let in?");
    scene.sent_to(GUEST, "Yes.");
    write(&mut scene, &good, IN_FORCE);
    scene.answered("The configuration is right again, and in force.");
    scene.settled();
    assert_eq!(scene.telegram.texts(OWNER).len(), 3, "once broken, once good");
}

#[test]
fn a_file_that_is_taken_away_changes_nothing() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Yes."));
    scene.start();
    std::fs::remove_file(scene.home.file("atlas.toml")).expect("a file to remove");
    scene.until("it is seen", |scene| (logged(scene, BROKEN) == 1).then_some(()));
    scene.dm("do you know me?");
    scene.answered("Yes.");
    let config = scene.config.clone();
    write(&mut scene, &config, IN_FORCE);
}

#[test]
fn case_25_an_answer_under_way_arrives_though_the_configuration_changes() {
    let mut scene = scene();
    let gate = scene.model.gate();
    scene.model.script(Takes::All, [say("At last.").after(&gate), say("With the other model.")]);
    scene.start();
    scene.dm("think long");
    scene.until("the call hangs", |_| gate.reached().then_some(()));
    let config = scene.config.replace("model = \"stand-in\"", "model = \"other\"");
    assert_ne!(config, scene.config);
    scene.home.write("atlas.toml", &config);
    hang_up(&mut scene, IN_FORCE);
    gate.open();
    scene.answered("At last.");
    scene.dm("and now?");
    scene.answered("With the other model.");
    let models: Vec<String> = scene
        .model
        .requests()
        .iter()
        .map(|request| request.body["model"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(models, ["stand-in", "other"]);
}

#[test]
fn routes_bots_and_lists_are_taken_up_without_a_restart() {
    let mut scene = scene();
    let group = scene.group();
    scene.model.script(Takes::Containing("You look after rankings."), [say("SEO speaking")]);
    scene.model.rule(Takes::All, |_| say("Atlas speaking"));
    scene.start();
    let stranger = User::new(31, "Cy");
    scene.telegram.write(Draft::text(&group, &stranger, "nobody listens yet"));
    scene.settled();
    scene.home.write("bots/seo/BOT.md", "You look after rankings.\n");
    scene.configure(&format!(
        "[[routes]]\naccount = \"tg\"\nchat = \"{}\"\nbot = \"seo\"\nanswer = \"all\"\nallow = [\"31\"]",
        group.id
    ));
    let config = scene.config.clone();
    write(&mut scene, &config, IN_FORCE);
    scene.telegram.write(Draft::text(&group, &stranger, "and now?"));
    scene.sent_to(group.id, "SEO speaking");
    let config = config.replace("allow = [\"31\"]", "allow = []");
    write(&mut scene, &config, IN_FORCE);
    scene.telegram.write(Draft::text(&group, &stranger, "and now?"));
    scene.dm("hello");
    scene.answered("Atlas speaking");
    scene.settled();
    assert_eq!(scene.telegram.texts(group.id).len(), 1);
}

#[test]
fn what_needs_a_restart_is_said() {
    let mut scene = scene();
    scene.model.rule(Takes::All, |_| say("Yes."));
    scene.start();
    scene.dm("hello");
    scene.answered("Yes.");
    let config = scene.config.clone();
    scene.home.keep_secret("other", "7:other");
    let account = format!(
        "[accounts.second]\nplatform = \"telegram\"\ntoken = \"secret:other\"\napi_base = \"{}\"\n",
        scene.telegram.api_base()
    );
    write(&mut scene, &format!("{config}\n{account}"), IN_FORCE);
    scene.answered("Restart Atlas to take up: account second (new).");
    let process = scene.spawn("check", &["check"], &[]);
    let (_, out, _) = scene.finish(process);
    assert!(out.contains("restart it for: account second (new)"), "{out}");
    // Taken back, there is nothing left to do.
    write(&mut scene, &config, IN_FORCE);
    let process = scene.spawn("check", &["check"], &[]);
    let (_, out, _) = scene.finish(process);
    assert!(!out.contains("restart"), "{out}");
}

#[test]
fn how_far_back_an_account_reads_needs_a_restart_too() {
    let mut scene = scene();
    scene.use_discord();
    scene.model.rule(Takes::All, |_| say("Yes."));
    scene.start_connected();
    scene.dm("hello");
    scene.answered("Yes.");
    let (config, token) = (scene.config.clone(), "token = \"env:STAND_IN_DISCORD_TOKEN\"");
    let other = config.replace(token, &format!("{token}\nbacklog = \"90m\""));
    assert_ne!(other, config);
    write(&mut scene, &other, IN_FORCE);
    scene.answered("Restart Atlas to take up: account dc (changed).");
    // What it was anyway is no change.
    let same = config.replace(token, &format!("{token}\nbacklog = \"6h\""));
    write(&mut scene, &same, IN_FORCE);
    let process = scene.spawn("check", &["check"], &[]);
    let (_, out, _) = scene.finish(process);
    assert!(!out.contains("restart"), "{out}");
}
