//! Documents that come with messages: what is known of one before it is fetched, and whether it may be
//! text. Fetching is the platform's, reading them a turn's.

use serde::{Deserialize, Serialize};

/// A document that came with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Its name. Outside text, and empty where there is none.
    pub name: String,
    /// In bytes, where the platform says so.
    pub size: Option<u64>,
    /// What it is, as the platform or the sender says (`text/plain`).
    pub media_type: Option<String>,
    /// By what its platform finds it. Opaque.
    pub handle: String,
}

impl Attached {
    /// Whether it is worth to be fetched as text, by its name's ending or by its media type. A name
    /// counts for more: a platform takes TypeScript for a film.
    #[must_use]
    pub fn may_be_text(&self) -> bool {
        let name = self.name.trim().to_lowercase();
        let by_name = match name.rsplit_once('.') {
            Some((_, ending)) if ENDINGS.split(' ').any(|one| one == ending) => true,
            _ => NAMES.contains(&name.as_str()),
        };
        by_name || self.media_type.as_deref().is_some_and(is_text)
    }
}

/// Endings of names of text files, in lower case. Left out is what is text to nobody (`svg`, `rtf`).
const ENDINGS: &str = "\
    adoc asc asm astro awk bash bat bib bzl c cc cfg cjs clj cljs cmake cmd conf config cpp cs \
    cshtml css csv cts cue cxx d dart def desktop diff dockerfile dot edn eml env erl ex exs f90 \
    fish fs fsx gd gemspec geojson gitignore glsl go gql gradle graphql groovy h hbs hcl hh hpp \
    hs htm html ics ini ipynb java jl js json json5 jsonc jsonl jsx kt kts less lisp log lua m \
    m3u markdown md mdx mjs ml mli mts ndjson nim nix org pas patch php pl plist po properties \
    proto ps1 py pyi r rb rego rs rst sass scala scm scss service sh sol sql srt svelte swift tcl \
    tex text tf toml ts tsv tsx txt vb vtt vue xml yaml yml zig zsh";

/// Whole names of text files without an ending, in lower case.
const NAMES: [&str; 11] = [
    "authors",
    "changelog",
    "dockerfile",
    "gemfile",
    "justfile",
    "license",
    "makefile",
    "notice",
    "procfile",
    "rakefile",
    "readme",
];

/// Media types that are text without saying so at their beginning.
const TYPES: [&str; 16] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/jsonl",
    "application/sql",
    "application/toml",
    "application/typescript",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-tex",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

fn is_text(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let structured = essence.ends_with("+json") || essence.ends_with("+yaml");
    (essence.starts_with("text/") && !matches!(essence.as_str(), "text/rtf" | "text/x-rtf"))
        || structured
        || TYPES.contains(&essence.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, media_type: Option<&str>) -> Attached {
        let media_type = media_type.map(str::to_owned);
        Attached { name: name.to_owned(), size: None, media_type, handle: "1".to_owned() }
    }

    #[test]
    fn what_may_be_text_is_told_by_the_name_or_by_the_type() {
        for (name, media_type, expected) in [
            ("notes.txt", None, true),
            ("Notes.MD ", Some("application/octet-stream"), true),
            ("main.ts", Some("video/mp2t"), true),
            ("Cargo.toml", None, true),
            ("Dockerfile", None, true),
            (".gitignore", None, true),
            ("x", Some("text/plain; charset=utf-8"), true),
            ("x", Some("Application/JSON"), true),
            ("x", Some("application/ld+json"), true),
            ("report.pdf", Some("application/pdf"), false),
            ("photo.png", Some("image/png"), false),
            ("setup.exe", Some("application/octet-stream"), false),
            ("letter.rtf", Some("text/rtf"), false),
            ("picture.svg", Some("image/svg+xml"), false),
            ("txt", None, false),
            ("", None, false),
        ] {
            assert_eq!(file(name, media_type).may_be_text(), expected, "{name} {media_type:?}");
        }
    }

    #[test]
    fn the_lists_are_in_lower_case_and_in_order() {
        let endings: Vec<&str> = ENDINGS.split_whitespace().collect();
        for list in [&endings[..], &NAMES, &TYPES] {
            assert!(list.is_sorted() && list.iter().all(|one| *one == one.to_lowercase()));
        }
    }
}
