//! `atlas init`: from a token to the first answer, and what goes wrong on the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use atlas_tests::discord;
use atlas_tests::harness::{Harness, OWNER};
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram;

use crate::scene;

const WELCOME: &str = "You are the owner of this home now.";

/// What a person has in their file: comments, a model, no account.
fn newcomer() -> Harness {
    let mut scene = scene();
    let model = scene.config.split("[models.main]").nth(1).expect("a model");
    let model = model.split("[accounts.tg]").next().expect("a section").to_owned();
    scene.config = format!("# mine, above\n[models.main]{model}\n#[accounts.tg]  # mine, below");
    scene.home.write("atlas.toml", &scene.config);
    scene
}

/// Runs it: whether it succeeded, what it printed, and what it said beside that.
fn init(scene: &mut Harness, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let arguments: Vec<&str> = ["init"].iter().chain(arguments).copied().collect();
    let mut process = scene.spawn("init", &arguments, &[]);
    if !input.is_empty() {
        process.type_line(input);
    }
    process.end_input();
    let (status, out, err) = scene.finish(process);
    (status.code(), out, err)
}

fn on_telegram(scene: &mut Harness, more: &[&str]) -> (Option<i32>, String, String) {
    let base = scene.telegram.api_base();
    let mut arguments = vec!["--platform", "telegram", "--api-base", &base];
    arguments.extend(["--token-from", "env:STAND_IN_TOKEN"]);
    arguments.extend(more);
    init(scene, &arguments, "")
}

/// The code among what was printed.
fn code(out: &str) -> String {
    let code = |line: &&str| line.len() == 8 && !line.contains(' ');
    out.lines().map(str::trim).find(code).expect("a code").to_owned()
}

/// Nothing was written but what every command makes.
fn nothing_written(scene: &Harness) {
    assert_eq!(scene.home.read("atlas.toml"), scene.config);
    assert_eq!(scene.home.files_with("vault", ""), [""; 0]);
}

#[test]
fn from_a_token_to_the_first_answer_on_telegram() {
    let mut scene = newcomer();
    scene.model.script(Takes::All, [say("Hello, Ana.")]);
    let (status, out, err) = on_telegram(&mut scene, &["--pair"]);
    assert_eq!(status, Some(0), "{err}");
    for told in
        ["@atlas_test_bot on Telegram works.", "[accounts.tg]", "atlas run", "https://t.me/"]
    {
        assert!(out.contains(told), "{told:?} in {out}");
    }
    let written = scene.home.read("atlas.toml");
    assert!(written.starts_with(&scene.config) && !written.contains("AAE-"), "{written}");
    assert_eq!(scene.home.read("vault/telegram").trim(), telegram::TOKEN);
    let mode = fs::metadata(scene.home.file("vault/telegram")).expect("a secret").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    scene.config = written;
    scene.start();
    scene.dm(&code(&out));
    scene.until("a welcome", |scene| {
        scene.telegram.texts(OWNER).iter().any(|text| text.starts_with(WELCOME)).then_some(())
    });
    scene.dm("hello");
    scene.answered("Hello, Ana.");
    scene.settled();
}

#[test]
fn from_a_token_to_the_first_answer_on_discord() {
    let mut scene = newcomer();
    scene.model.script(Takes::All, [say("Hello, Ana.")]);
    scene.discord.allow_content(false);
    let base = scene.discord.api_base();
    let arguments = ["--platform", "discord", "--api-base", &base, "--token-from", "-", "--pair"];
    let (status, out, err) = init(&mut scene, &arguments, discord::TOKEN);
    assert_eq!(status, Some(0), "{err}");
    let application = discord::APPLICATION_ID;
    let permissions = (1_u64 << 10) + (1 << 11) + (1 << 15) + (1 << 16) + (1 << 38);
    let invite = format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands\
         &permissions={permissions}"
    );
    let portal = format!("https://discord.com/developers/applications/{application}/bot");
    for told in ["@atlas_test on Discord works.", &invite, "Message Content Intent is off", &portal]
    {
        assert!(out.contains(told), "{told:?} in {out}");
    }
    assert_eq!(scene.home.read("vault/discord").trim(), discord::TOKEN);
    assert!(scene.discord.identifies().is_empty(), "it begins no session");
    scene.discord.allow_content(true);
    scene.config = scene.home.read("atlas.toml");
    scene.start_connected();
    let owner = scene.discord_owner();
    scene.discord.dm(&owner, &code(&out));
    let dm = scene.discord.dm_of(&owner);
    scene.until("a welcome", |scene| {
        scene.discord.texts(dm).iter().any(|text| text.starts_with(WELCOME)).then_some(())
    });
    scene.discord.dm(&owner, "hello");
    scene.discord_said(dm, "Hello, Ana.");
    scene.settled();
}

#[test]
fn what_fails_says_how_to_mend_it_and_leaves_nothing_behind() {
    let mut scene = newcomer();
    let (telegram, discord) = (scene.telegram.api_base(), scene.discord.api_base());
    let on = |platform: &'static str, base: &str| {
        ["--platform", platform, "--api-base", base, "--token-from", "-"].map(str::to_owned)
    };
    let wrong = telegram::TOKEN.replace("0001", "0002");
    for (arguments, input, code, says) in [
        (on("telegram", &telegram), wrong.as_str(), 1, "Telegram refuses the token."),
        (on("telegram", &telegram), discord::TOKEN, 1, "This is not a Telegram bot token."),
        (on("telegram", &telegram), "two words", 1, "more than one secret"),
        (on("telegram", &telegram), "", 1, "Standard input is empty."),
        (on("discord", &discord), "a.b.c-wrong", 1, "Discord refuses the token."),
        (on("discord", &discord), telegram::TOKEN, 1, "This is not a Discord bot token."),
        (on("discord", "http://127.0.0.1:1"), discord::TOKEN, 1, "Discord cannot be reached"),
        (on("telegram", "http://127.0.0.1:1"), telegram::TOKEN, 1, "Telegram cannot be reached"),
        (on("telegram", "nowhere"), telegram::TOKEN, 1, "is not an http(s) address"),
        (on("matrix", "x"), "", 2, "it is telegram or discord"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (status, out, err) = init(&mut scene, &arguments, input);
        assert_eq!(status, Some(code), "{err}");
        assert!(err.contains(says) && out.is_empty(), "{says:?} in {err}{out}");
        assert!(input.is_empty() || !err.contains(input), "{err}");
        nothing_written(&scene);
    }
}

#[test]
fn a_token_on_the_command_line_is_refused_and_not_shown() {
    let mut scene = newcomer();
    let token = telegram::TOKEN;
    let flag = format!("--token-from={token}");
    let env = format!("--token-from=env:{token}");
    for argument in [token, &flag, &env] {
        let (status, out, err) = init(&mut scene, &["--platform", "telegram", argument], "");
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains("--token-from env:NAME") && out.is_empty(), "{err}");
    }
    let (status, _, err) = init(&mut scene, &["--token-from", "env:STAND_IN_TOKEN"], "");
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("--platform telegram"), "{err}");
    let (status, _, err) = init(&mut scene, &["--platform", "telegram"], "");
    assert_eq!(status, Some(2), "{err}");
    let (status, _, err) =
        init(&mut scene, &["--platform", "telegram", "--token-from", "env:NOT_SET"], "");
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("The variable NOT_SET is not set."), "{err}");
    nothing_written(&scene);
}

#[test]
fn twice_the_same_token_changes_nothing_and_another_one_only_on_demand() {
    let mut scene = newcomer();
    let (status, out, err) = on_telegram(&mut scene, &[]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("`atlas pair` prints a code"), "{out}");
    let once = scene.home.read("atlas.toml");
    let (status, out, err) = on_telegram(&mut scene, &["--name", "second"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("the account `tg` already; nothing was changed"), "{out}");
    assert_eq!(scene.home.read("atlas.toml"), once);

    // The token was reset at the platform meanwhile.
    let old = telegram::TOKEN.replace("0001", "0000");
    fs::write(scene.home.file("vault/telegram"), &old).expect("a secret");
    let (status, _, err) = on_telegram(&mut scene, &[]);
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("`tg` already, with another token") && err.contains("--replace"), "{err}");
    assert_eq!(scene.home.read("vault/telegram"), old);
    let (status, _, err) = on_telegram(&mut scene, &["--replace"]);
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(scene.home.read("vault/telegram").trim(), telegram::TOKEN);
    assert_eq!(scene.home.read("atlas.toml"), once);

    let base = scene.discord.api_base();
    let arguments = ["--platform", "discord", "--api-base", &base, "--name", "tg"];
    let arguments: Vec<&str> = arguments.into_iter().chain(["--token-from", "-"]).collect();
    let (status, _, err) = init(&mut scene, &arguments, discord::TOKEN);
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("The account `tg` is on Telegram."), "{err}");
    assert_eq!(scene.home.read("atlas.toml"), once);
}

#[test]
fn a_home_that_cannot_be_used_and_a_broken_configuration_end_it_before_it_asks() {
    let mut scene = newcomer();
    let path = scene.home.file("a-file");
    fs::write(&path, "").expect("a file");
    let home = path.display().to_string();
    let (status, _, err) = on_telegram(&mut scene, &["--home", &home]);
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("is a file; Atlas needs a folder there"), "{err}");
    scene.config = "[accounts.tg\n".to_owned();
    scene.home.write("atlas.toml", &scene.config);
    let (status, _, err) = on_telegram(&mut scene, &[]);
    assert_eq!(status, Some(78), "{err}");
    assert!(err.contains("atlas.toml:1") && err.contains("not TOML"), "{err}");
    nothing_written(&scene);
}

#[test]
fn a_running_gateway_is_to_be_restarted_for_a_new_account() {
    let mut scene = newcomer();
    scene.start();
    let (status, out, err) = on_telegram(&mut scene, &[]);
    assert_eq!(status, Some(0), "{err}");
    let pid = scene.gateway().id();
    assert!(out.contains(&format!("Restart the gateway that runs (process {pid})")), "{out}");
}
