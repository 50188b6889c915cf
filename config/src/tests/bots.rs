//! The bots' folders and their front matter.

use std::fs;

use super::Home;

fn bot(text: &str) -> Home {
    Home::new("[models.main]\nprovider = \"offline\"\n[models.fast]\nprovider = \"offline\"\n")
        .with("bots/seo/BOT.md", text)
}

#[test]
fn the_main_agent_always_exists_and_comes_first() {
    let config = bot(
        "---\nname: \"Search: all of it\"   # shown to people\nmodel: fast\n---\nYou search.\n",
    )
    .with("bots/ada/BOT.md", "No front matter, all mission.")
    .config();
    let bots: Vec<(&str, &str, &str)> = config
        .bots
        .iter()
        .map(|bot| (bot.name.as_str(), bot.shown.as_str(), bot.model.as_str()))
        .collect();
    assert_eq!(
        bots,
        [("atlas", "atlas", "main"), ("ada", "ada", "main"), ("seo", "Search: all of it", "fast")]
    );
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn the_main_agent_may_have_front_matter_but_no_text() {
    let home = bot("x").with("bots/atlas/BOT.md", "---\nname: Atlas\nmodel: fast\n---\n\n");
    assert_eq!(home.config().bots[0].shown, "Atlas");
    assert_eq!(home.config().bots[0].model, "fast".into());
    home.write("bots/atlas/BOT.md", "---\nname: Atlas\n---\n\nYou are Atlas.\n");
    assert_eq!(
        home.errors(),
        [
            "bots/atlas/BOT.md:5:1: the main agent's BOT.md holds front matter only\n  Move this text to \
          SOUL.md, which says who the main agent is."
        ]
    );
}

#[test]
fn notes_in_the_main_agents_folder_are_warned_of() {
    let home = bot("x").with("bots/atlas/MEMORY.md", "").with("bots/atlas/topics/a.md", "");
    assert_eq!(
        home.config().warnings,
        [
            "bots/atlas/MEMORY.md is not read: the main agent's notes are memory/MEMORY.md. Move what you \
          need there."
        ]
    );
}

#[test]
fn a_folder_without_a_mission_is_named() {
    let home = bot("x").with("bots/old/topics/a.md", "").with("bots/old/routines/x/NOTES.md", "");
    assert_eq!(
        home.errors(),
        [
            "~/bots/old: the bot `old` has no BOT.md\n  Write bots/old/BOT.md: what the bot is for, in plain \
          words. If no bot is meant, move the folder out of bots/."
        ]
    );
    assert_eq!(
        bot("---\nname: Seo\n---\n").config().warnings,
        ["bots/seo/BOT.md has no text below its front matter: write there what the bot is for."]
    );
}

#[test]
fn a_folder_that_no_bot_can_be_called_is_named() {
    let long = "a".repeat(33);
    for name in ["Seo", "my bot", "seo_2", "-x", "münchen", long.as_str()] {
        let home = bot("x").with(&format!("bots/{name}/BOT.md"), "x");
        let error = format!(
            "~/bots/{name}: `{name}` cannot be a bot's name\n  Rename the folder: 1 to 32 lower-case \
             letters, digits and dashes, a letter or digit first."
        );
        assert_eq!(home.errors(), [error]);
    }
    // What is no bot's folder is left alone.
    let home = bot("x").with("bots/.git/config", "").with("bots/README.md", "");
    assert_eq!(home.config().bots.len(), 2);
}

#[test]
fn a_broken_front_matter_is_an_error_with_its_line() {
    for (text, error) in [
        (
            "---\nmodle: fast\n---\nx",
            "2:1: unknown key `modle`\n  The nearest is `model`. Known here: name, model.",
        ),
        (
            "---\ntools: search\n---\nx",
            "2:1: this version of Atlas does not know `tools` yet\n  Take it out, or put a # before it, \
             until a version that knows it.",
        ),
        (
            "---\nreview: off\n---\nx",
            "2:1: this version of Atlas does not know `review` yet\n  Take it out, or put a # before it, \
             until a version that knows it.",
        ),
        (
            "---\nname: Seo\nx",
            "1:1: this front matter is never closed\n  End it with a line of three dashes: ---",
        ),
        (
            "---\nname: Seo\n\nname: Seo\n---\nx",
            "4:1: `name` is written twice\n  Keep one of the two lines.",
        ),
        (
            "---\nname = \"Seo\"\n---\nx",
            "2:1: this is no line of a front matter\n  A line is `key: value`, from the first column; \
             the text for the bot stands below the closing ---.",
        ),
        (
            "---\r\nname: \"Seo\r\n---\r\nx",
            "2:7: `name` has a quote that is never closed\n  Write one value in the same line, in quotes \
             if it holds a # or a colon: `name: \"Seo\"`.",
        ),
        (
            "---\nname:\n---\nx",
            "2:6: `name` is empty\n  Write one value in the same line, in quotes if it holds a # or a \
             colon: `name: \"Seo\"`.",
        ),
        (
            "---\nname: [a, b]\n---\nx",
            "2:7: `name` takes one plain value\n  Write one value in the same line, in quotes if it holds \
             a # or a colon: `name: \"Seo\"`.",
        ),
        (
            "---\nmodel: fats\n---\nx",
            "2:8: there is no model `fats`\n  The nearest is \"fast\". There are: main, fast.",
        ),
    ] {
        assert_eq!(bot(text).errors(), [format!("bots/seo/BOT.md:{error}")], "{text}");
    }
    let long = format!("---\nname: {}\n---\nx", "a ".repeat(40));
    assert_eq!(
        bot(&long).errors(),
        [
            "bots/seo/BOT.md:2:7: `name` has more than 64 characters\n  Write a shorter one; what the bot is \
          for stands below the front matter."
        ]
    );
}

#[test]
fn plain_and_quoted_values_are_read_as_people_mean_them() {
    for (line, name) in [
        ("name: Seo", "Seo"),
        ("name:Seo", "Seo"),
        ("name:   Seo  ", "Seo"),
        ("name: Seo # the searcher", "Seo"),
        ("name: Seo #1", "Seo"),
        ("name: \"Seo #1\"", "Seo #1"),
        ("name: 'O\"Hara'", "O\"Hara"),
        ("name: C#", "C#"),
        ("# name: x\n\nname: Seo: the bot", "Seo: the bot"),
    ] {
        let config = bot(&format!("---\n{line}\n---\nx")).config();
        assert_eq!(config.bots[1].shown, name, "{line}");
    }
}

#[test]
fn a_bot_file_that_cannot_be_read_is_an_error() {
    let home = bot("x");
    home.write("bots/seo/BOT.md", b"\xff\xfe");
    assert_eq!(
        home.errors(),
        [
            "~/bots/seo/BOT.md: this file cannot be read: stream did not contain valid UTF-8\n  Save it as UTF-8 text."
        ]
    );
    fs::remove_file(home.path("bots/seo/BOT.md")).unwrap();
    fs::create_dir(home.path("bots/seo/BOT.md")).unwrap();
    assert!(
        home.errors()[0].ends_with("A file is meant: rename the folder that stands in its place.")
    );
}

#[test]
fn a_broken_bot_makes_no_error_where_it_is_named() {
    let home = bot("---\nmodle: x\n---\nx");
    home.write(
        "atlas.toml",
        "[accounts.tg]\nplatform = \"telegram\"\ntoken = \"env:T\"\nbot = \"seo\"\n",
    );
    let home = home.set("T", "1:a");
    assert_eq!(home.errors().len(), 1, "{:?}", home.errors());
}
