//! A bot as the engine sees it: who answers, with which model, from which folder.

use crate::ids::{BotId, BotName, ModelName};

/// The handle of the main agent. It always exists, its mission is `SOUL.md`, and its notes are
/// `memory/MEMORY.md`.
pub const MAIN: &str = "atlas";

/// A bot of the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bot {
    /// Its identity in the database.
    pub id: BotId,
    /// Its folder below `bots/`.
    pub name: BotName,
    /// How it is called in front of people.
    pub shown: String,
    /// The model that answers, a key of `[models]`.
    pub model: ModelName,
}

impl Bot {
    /// Whether this is the main agent.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.name.as_str() == MAIN
    }
}

/// Takes a file such as `BOT.md` apart: the front matter between two lines of `---`, without them,
/// and the body behind it. A text without front matter, or with one that never ends, is all body.
#[must_use]
pub fn split_front_matter(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else { return (None, text) };
    let mut at = first.len();
    for line in lines {
        if is_fence(line) {
            return (Some(&text[first.len()..at]), &text[at + line.len()..]);
        }
        at += line.len();
    }
    (None, text)
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests {
    use super::split_front_matter;

    #[test]
    fn front_matter_stands_between_two_fences() {
        assert_eq!(
            split_front_matter("---\nname: a\n---\nBe kind.\n"),
            (Some("name: a\n"), "Be kind.\n")
        );
        assert_eq!(split_front_matter("---\n---\n"), (Some(""), ""));
        assert_eq!(split_front_matter("\u{feff}---\r\na: b\r\n--- \r\nx"), (Some("a: b\r\n"), "x"));
    }

    #[test]
    fn a_text_without_it_is_all_body() {
        assert_eq!(split_front_matter("Be kind.\n---\nx"), (None, "Be kind.\n---\nx"));
        assert_eq!(split_front_matter("---\nname: a\n"), (None, "---\nname: a\n"));
        assert_eq!(split_front_matter(""), (None, ""));
    }
}
