//! Markdown as models write it, as Discord messages in Discord's own dialect of it, in parts that
//! Discord takes. Pure: the same text gives the same parts, also after a restart.
//!
//! The dialect looks like Markdown and is not: every sign that would mean something there is escaped
//! where the model meant it as text. `room` says what a message takes, `write` writes one, `escape`
//! knows the signs.

use serde::{Deserialize, Serialize};

use crate::markdown::render::{Dialect, render};
use crate::markdown::split::{Cut, split};
use crate::markdown::styled::Styled;
use crate::markdown::{EMPTY, REPEAT_MARK, is_blank, plain};
use room::Room;

mod escape;
mod room;
mod write;

/// The most characters of a message. Discord counts code points, its signs and escapes included
/// (discord-api-docs, issue 1315).
pub(super) const LIMIT: usize = 2000;
/// A part has room for the mark of a repeat: three characters.
const ROOM: usize = LIMIT - 3;
/// More parts than these are one message with a file.
const PARTS: usize = 8;
/// Stands below the first part where the whole is in a file.
const NOTE: &str = "\n-# The whole text is in the attached file.";
/// Tables are aligned up to the width of a window.
const DIALECT: Dialect = Dialect { bullet: "- ", widest: 80, schemes: &["http://", "https://"] };

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// In Discord's dialect.
    pub(super) text: String,
    /// As the model wrote it, for a server that refuses the other.
    pub(super) plain: String,
    /// The whole text goes along as a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) whole: bool,
}

impl Part {
    /// Of a text that was encoded by nobody.
    pub(super) fn verbatim(text: &str) -> Self {
        Self { text: text.to_owned(), plain: text.to_owned(), whole: false }
    }
}

/// The parts of `markdown`: at least one, none blank, each short enough to be marked as a repeat. A
/// text of more than [`PARTS`] is its first part and a file.
pub(super) fn encode(markdown: &str) -> Vec<Part> {
    let styled = render(markdown, &DIALECT);
    let parts = limited(&styled, markdown);
    if !parts.is_empty() {
        return parts;
    }
    // A text of which nothing can be seen once it is rendered is sent as it stands.
    let text = if is_blank(markdown) { EMPTY } else { markdown };
    limited(&Styled::plain(text), text)
}

/// `text` as the repeat of what may have arrived. What has to begin a line still does.
pub(super) fn marked(text: &str) -> String {
    let begins_a_line = text.starts_with(['#', '-', '>', '`', '+', '*']) || begins_a_number(text);
    if begins_a_line {
        format!("{}\n{text}", REPEAT_MARK.trim_end())
    } else {
        format!("{REPEAT_MARK}{text}")
    }
}

fn begins_a_number(text: &str) -> bool {
    text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ")
}

/// A text's length as Discord counts it.
fn units(text: &str) -> usize {
    text.chars().count()
}

fn limited(styled: &Styled, source: &str) -> Vec<Part> {
    let mut parts = parts(styled, source, ROOM);
    if parts.len() <= PARTS {
        return parts;
    }
    parts = self::parts(styled, source, ROOM - units(NOTE));
    parts.truncate(1);
    for part in &mut parts {
        part.text.push_str(NOTE);
        part.plain.push_str(NOTE);
        part.whole = true;
    }
    parts
}

fn parts(styled: &Styled, source: &str, most: usize) -> Vec<Part> {
    let part = |cut: Cut| {
        let source = source.get(cut.source).unwrap_or_default();
        let rendered = &styled.text[cut.text.clone()];
        Part {
            plain: plain(source, rendered, |text| units(text) <= most),
            text: write::write(styled, cut.text),
            whole: false,
        }
    };
    cuts(styled, most).into_iter().map(part).collect()
}

fn cuts(styled: &Styled, most: usize) -> Vec<Cut> {
    split(styled, |start| Room::new(styled, most, start))
}

#[cfg(test)]
mod tests;
