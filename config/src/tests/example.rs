//! The example and the page for operators are held to the table of keys.

use super::Home;
use super::secrets::{vault, vault_of};
use crate::EXAMPLE;
use crate::schema::{self, Key, Kind};

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// The example with its settings taken out of their comments: `#key = …`, and not `# prose`.
fn spoken() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with([' ', '#']) => setting.to_owned(),
        _ => line.to_owned(),
    };
    EXAMPLE.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn the_example_says_nothing_until_its_comments_are_opened() {
    let config = Home::new(EXAMPLE).config();
    let default = Home::new("").config();
    let shown = |config: &crate::Config| {
        format!("{config:?}").replace(&config.home.display().to_string(), "~")
    };
    assert_eq!(shown(&config), shown(&default));
}

#[test]
fn every_line_of_the_example_is_accepted() {
    let home = Home::new(&spoken()).set("OPENAI_API_KEY", "sk-1").set("ANTHROPIC_API_KEY", "sk-2");
    vault(&home, "1:a", 0o600);
    vault_of(&home, "discord", "a.b.c", 0o600);
    let config = home.config();
    assert_eq!((config.models.len(), config.accounts.len(), config.routes.len()), (3, 2, 1));
    assert_eq!(config.warnings, Vec::<String>::new());
}

fn keys(keys: &[Key]) -> impl Iterator<Item = &Key> {
    keys.iter().filter(|key| !matches!(key.kind, Kind::Later))
}

#[test]
fn the_example_and_the_page_name_every_key() {
    let example = spoken();
    for section in keys(schema::ROOT) {
        for key in keys(section.kind.keys()) {
            assert!(example.contains(&format!("\n{} = ", key.name)), "{} in the example", key.name);
            assert!(PAGE.contains(&format!("| `{}` |", key.name)), "{} in the page", key.name);
        }
        assert!(
            PAGE.contains(&format!(
                "`{}`",
                schema::header(section).replace("[timezone]", "timezone")
            )),
            "{}",
            section.name
        );
    }
    for key in keys(schema::BOT) {
        assert!(PAGE.contains(&format!("| `{}` |", key.name)), "{} in the page", key.name);
    }
}

#[test]
fn the_page_names_every_key_that_comes_later() {
    let later = |keys: &'static [Key]| keys.iter().filter(|key| matches!(key.kind, Kind::Later));
    for key in schema::ROOT
        .iter()
        .flat_map(|section| later(section.kind.keys()))
        .chain(later(schema::ROOT))
    {
        assert!(PAGE.contains(&format!("`{}`", key.name)), "{}", key.name);
    }
}

#[test]
fn the_examples_in_the_page_are_accepted() {
    let blocks = PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut count = 0;
    for block in blocks {
        count += 1;
        let home =
            Home::new(block).set("OPENAI_API_KEY", "sk-1").with("bots/seo/BOT.md", "Search.");
        vault(&home, "1:a", 0o600);
        home.config();
    }
    assert!(count > 0);
}
