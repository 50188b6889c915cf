//! Markdown as models write it, as Telegram messages: HTML with its entities, in parts that Telegram
//! takes. Pure: the same text gives the same parts, also after a restart.
//!
//! `room` says what a message takes, `html` writes one.

use serde::{Deserialize, Serialize};

use crate::markdown::render::{Dialect, render};
use crate::markdown::split::{Cut, split};
use crate::markdown::styled::Styled;
use crate::markdown::{EMPTY, is_blank, plain};
use room::Room;

mod html;
mod room;

/// The most UTF-16 units of a message, after its entities are taken out.
pub(super) const LIMIT: usize = 4096;
/// Tables are aligned up to a phone's width.
const DIALECT: Dialect =
    Dialect { bullet: "• ", widest: 56, schemes: &["http://", "https://", "tg://"] };

/// A part has room for the mark of a repeat: three units.
const ROOM: usize = LIMIT - 3;

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
    let styled = render(markdown, &DIALECT);
    let parts: Vec<Part> = cuts(&styled, ROOM)
        .into_iter()
        .map(|cut| Part {
            plain: plain(
                markdown.get(cut.source).unwrap_or_default(),
                &styled.text[cut.text.clone()],
                |text| utf16(text) <= ROOM,
            ),
            html: html::write(&styled, cut.text),
        })
        .collect();
    if parts.is_empty() { unrendered(markdown) } else { parts }
}

/// A text of which nothing can be seen once it is rendered is sent as it stands.
fn unrendered(markdown: &str) -> Vec<Part> {
    let text = if is_blank(markdown) { EMPTY } else { markdown };
    let verbatim = Styled::plain(text);
    let parts = cuts(&verbatim, ROOM).into_iter().map(|cut| Part {
        plain: verbatim.text[cut.text.clone()].to_owned(),
        html: html::write(&verbatim, cut.text),
    });
    parts.collect()
}

fn cuts(styled: &Styled, most: usize) -> Vec<Cut> {
    split(styled, |start| Room::new(styled, most, start))
}

/// A text's length in Telegram's units.
fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

#[cfg(test)]
mod tests;
