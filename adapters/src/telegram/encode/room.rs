//! What Telegram takes in one message.

use super::utf16;
use crate::markdown::split::Load;
use crate::markdown::styled::{Span, Style, Styled};

/// The most entities that Telegram keeps in a message.
const ENTITIES: usize = 100;
/// The most bytes of a message's HTML; Telegram refuses more than 32,768.
const BYTES: usize = 30_000;

/// How much of a message is used up.
pub(super) struct Room<'a> {
    /// In UTF-16, entities apart.
    most: usize,
    units: usize,
    bytes: usize,
    entities: usize,
    /// Styles that begin further on.
    coming: &'a [Span],
}

impl<'a> Room<'a> {
    /// For at most `most` UTF-16 units, from `start` on: the styles that are open there are opened again.
    pub(super) fn new(styled: &'a Styled, most: usize, start: usize) -> Self {
        let begun = styled.spans.partition_point(|span| span.range.start < start);
        let coming = &styled.spans[begun..];
        let mut room = Self { most, units: 0, bytes: 0, entities: 0, coming };
        for span in styled.within(&(start..start)) {
            room.open(span);
        }
        room
    }

    fn open(&mut self, span: &Span) {
        let (entities, bytes) = match &span.style {
            // Two tags, and perhaps counted as two.
            Style::Pre(language) => (2, 50 + language.as_ref().map_or(0, String::len)),
            Style::Link(address) => (1, 16 + 6 * address.len()),
            _ => (1, 25),
        };
        self.entities += entities;
        self.bytes += bytes;
    }
}

impl Load for Room<'_> {
    fn takes(&mut self, cluster: &str, at: usize) -> bool {
        while let Some((span, coming)) = self.coming.split_first()
            && span.range.start < at + cluster.len()
        {
            self.open(span);
            self.coming = coming;
        }
        self.units += utf16(cluster);
        // The longest name of a character is `&quot;`.
        self.bytes +=
            cluster.bytes().map(|b| if b"&<>\"".contains(&b) { 6 } else { 1 }).sum::<usize>();
        self.units <= self.most && self.bytes <= BYTES && self.entities <= ENTITIES
    }
}
