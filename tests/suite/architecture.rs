//! The rules of the house that no compiler holds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Every Rust file below a folder of the workspace: its path from there, and its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the workspace").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("a path inside").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found.sort();
    found
}

/// A source without its tests: those are a module of its own file, or files called `tests`.
fn without_tests(name: &str, text: &str) -> String {
    if name.ends_with("tests.rs") || name.contains("/tests/") && !name.starts_with("tests/") {
        return String::new();
    }
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].to_owned()
}

/// The lines of a source that are code: without tests and comments.
fn code<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    let length = without_tests(name, text).len();
    text[..length].lines().filter(|line| !line.trim_start().starts_with("//")).collect()
}

/// What a member depends on, dependencies of its tests apart.
fn dependencies(member: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).expect("a manifest");
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some((name, _)) = line.split_once(['.', '=', ' '])
        {
            found.insert(name.trim().to_owned());
        }
    }
    assert!(!found.is_empty(), "{member} has no dependencies");
    found
}

#[test]
fn core_depends_on_no_member_and_on_nothing_of_the_outside() {
    let dependencies = dependencies("core");
    for outside in
        ["reqwest", "sqlx", "tantivy", "serenity", "teloxide", "axum", "rusqlite", "rustix"]
    {
        assert!(!dependencies.contains(outside), "core depends on {outside}");
    }
    let members: Vec<_> = dependencies.iter().filter(|name| name.starts_with("atlas-")).collect();
    assert!(members.is_empty(), "core depends on {members:?}");
}

#[test]
fn dependencies_point_one_way() {
    let members = |member: &str| -> Vec<String> {
        dependencies(member).into_iter().filter(|name| name.starts_with("atlas-")).collect()
    };
    assert_eq!(members("adapters"), ["atlas-core"]);
    assert_eq!(members("config"), ["atlas-core"]);
    assert_eq!(members("gateway"), ["atlas-adapters", "atlas-config", "atlas-core"]);
}

#[test]
fn core_names_no_platform_and_no_database() {
    for (name, text) in sources("core/src") {
        for line in code(&name, &text) {
            for word in
                ["teloxide", "serenity", "reqwest", "sqlx", "std::fs", "tokio::fs", "std::net"]
            {
                assert!(!line.contains(word), "{name} knows {word}: {line}");
            }
        }
    }
}

#[test]
fn no_adapter_imports_a_sibling() {
    let modules: BTreeSet<String> = sources("adapters/src")
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("adapters/src/"))
        .map(|name| name.split(['/', '.']).next().unwrap_or_default().to_owned())
        .filter(|name| name != "lib")
        .collect();
    for (name, text) in sources("adapters/src") {
        let own =
            name["adapters/src/".len()..].split(['/', '.']).next().unwrap_or_default().to_owned();
        // `http` makes the clients that all who speak HTTP share, `markdown` the parts of a long text.
        let shared = ["http", "markdown"];
        let siblings =
            modules.iter().filter(|name| **name != own && !shared.contains(&name.as_str()));
        for sibling in siblings {
            let used = code(&name, &text).iter().any(|line| {
                line.contains(&format!("crate::{sibling}::"))
                    || line.contains(&format!("crate::{sibling};"))
            });
            assert!(own == "lib" || !used, "{name} imports its sibling {sibling}");
        }
    }
}

#[test]
fn no_sql_stands_outside_the_stores_folder() {
    for folder in ["core/src", "adapters/src", "config/src", "gateway/src"] {
        for (name, text) in sources(folder) {
            if name.starts_with("adapters/src/store") {
                continue;
            }
            for line in code(&name, &text) {
                let sql = ["sqlx", "SELECT ", "INSERT INTO", "DELETE FROM", "CREATE TABLE"];
                let found = sql.iter().find(|word| line.contains(**word));
                assert!(found.is_none(), "{name} speaks SQL: {line}");
            }
        }
    }
}

#[test]
fn nothing_prints_but_commands() {
    for folder in ["core/src", "adapters/src", "config/src", "gateway/src"] {
        for (name, text) in sources(folder) {
            if name.starts_with("gateway/src/commands") {
                continue;
            }
            for line in code(&name, &text) {
                for printing in ["println!(", "print!(", "eprintln!(", "eprint!(", "dbg!("] {
                    assert!(!line.contains(printing), "{name} prints: {line}");
                }
            }
        }
    }
}

#[test]
fn nothing_writes_memory_but_its_writer() {
    for folder in ["core/src", "adapters/src", "gateway/src"] {
        for (name, text) in sources(folder) {
            let writer = name.starts_with("core/src/memory") || name.starts_with("core/src/ports/");
            let disk = name.starts_with("adapters/src/memory_fs");
            if writer || disk || name.starts_with("core/src/testing") {
                continue;
            }
            for line in code(&name, &text) {
                for call in ["files.prepare(", "files.place(", "files.discard(", ".settle_intent("]
                {
                    let store = name.starts_with("adapters/src/store");
                    assert!(store || !line.contains(call), "{name} writes memory: {line}");
                }
            }
        }
    }
}

#[test]
fn no_file_is_longer_than_five_hundred_lines() {
    for folder in
        ["core/src", "adapters/src", "config/src", "gateway/src", "tests/src", "tests/suite"]
    {
        for (name, text) in sources(folder) {
            let lines = without_tests(&name, &text).lines().count();
            assert!(lines <= 500, "{name} has {lines} lines without its tests");
        }
    }
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    for folder in
        ["core/src", "adapters/src", "config/src", "gateway/src", "tests/src", "tests/suite"]
    {
        for (name, text) in sources(folder) {
            let opens = text.starts_with("//!") || name.ends_with("tests.rs");
            assert!(opens, "{name} does not say what it is for");
        }
    }
}

#[test]
fn core_and_adapters_read_no_environment() {
    for (name, text) in sources("core/src").into_iter().chain(sources("adapters/src")) {
        for line in code(&name, &text) {
            assert!(!line.contains("std::env::"), "{name} reads the environment: {line}");
        }
    }
}

/// What the pages for newcomers quote of errors is what is said.
#[test]
fn what_the_pages_quote_stands_in_the_source() {
    let one_line =
        |text: &str| text.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let folders = ["adapters/src", "gateway/src", "config/src", "core/src"];
    let said: Vec<String> =
        folders.into_iter().flat_map(sources).map(|(_, text)| one_line(&text)).collect();
    for page in ["docs/discord.md", "docs/telegram.md"] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let table = text.split("| it says | cure |\n|---|---|\n").nth(1).expect("its errors");
        let cells = table.lines().map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
        assert!(cells.clone().count() > 5, "{page}");
        // In italics: seen, and not quoted.
        for quote in cells.filter(|cell| !cell.starts_with('*')) {
            for part in quote.split('…').map(str::trim).filter(|part| !part.is_empty()) {
                let found = said.iter().any(|text| text.contains(part));
                assert!(found, "{page} quotes {part:?}, which nothing says");
            }
        }
    }
}
