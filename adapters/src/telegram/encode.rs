//! Markdown as models write it, as Telegram messages: HTML with its entities, in parts that Telegram
//! takes. Pure: the same text gives the same parts, also after a restart.
//!
//! `markdown` renders the text and its styles, `split` cuts what is too long, `html` writes a part.
//! Styles are ranges over the rendered text, so that a cut never breaks a tag: a code block that is
//! cut is closed in one part and opened again, with its language, in the next.

use serde::{Deserialize, Serialize};

mod html;
mod markdown;
mod split;
mod styled;
mod table;

/// The most UTF-16 units of a message, after its entities are taken out.
pub(super) const LIMIT: usize = 4096;
/// Stands before a repeat of what may have arrived already.
pub(super) const REPEAT_MARK: &str = "♻︎ ";
/// What is said in place of nothing at all.
const EMPTY: &str = "(empty answer)";

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// With its format.
    pub(super) html: String,
    /// Without: the part as the model wrote it, for a server that refuses the format.
    pub(super) plain: String,
}

/// The parts of `markdown`: at least one, none blank, each short enough to be marked as a repeat.
pub(super) fn encode(markdown: &str) -> Vec<Part> {
    let room = LIMIT - utf16(REPEAT_MARK);
    let styled = markdown::render(markdown);
    let parts: Vec<Part> = split::split(&styled, room)
        .into_iter()
        .map(|cut| Part {
            plain: plain(
                markdown.get(cut.source).unwrap_or_default(),
                &styled.text[cut.text.clone()],
                room,
            ),
            html: html::write(&styled, cut.text),
        })
        .collect();
    if parts.is_empty() { unrendered(markdown, room) } else { parts }
}

/// What a part says without its format: the source, or where that is too long the rendered text.
fn plain(source: &str, rendered: &str, room: usize) -> String {
    let source = source.trim_matches('\n').trim_end();
    let fits = !is_blank(source) && utf16(source) <= room;
    if fits { source.to_owned() } else { rendered.to_owned() }
}

/// A text of which nothing can be seen once it is rendered is sent as it stands.
fn unrendered(markdown: &str, room: usize) -> Vec<Part> {
    let text = if is_blank(markdown) { EMPTY } else { markdown };
    let verbatim = styled::Styled::plain(text);
    let parts = split::split(&verbatim, room).into_iter().map(|cut| Part {
        plain: verbatim.text[cut.text.clone()].to_owned(),
        html: html::write(&verbatim, cut.text),
    });
    parts.collect()
}

/// A text's length in Telegram's units.
fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whether Telegram would find nothing to show in it ("message text is empty").
fn is_blank(text: &str) -> bool {
    text.chars().all(is_invisible)
}

fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests;
