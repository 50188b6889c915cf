//! What Discord takes in one message: never less than what `write` makes of it.

use super::escape::{address, is_sign};
use super::units;
use crate::markdown::split::Load;
use crate::markdown::styled::{Span, Style, Styled};

/// How much of a message is used up, at most.
pub(super) struct Room<'a> {
    most: usize,
    units: usize,
    /// Styles that begin further on.
    coming: &'a [Span],
    /// Where the quote ends that is open: each of its lines has a sign of its own.
    quote_until: usize,
    /// Where the code ends that is open: hardly anything in it is a sign.
    code_until: usize,
}

impl<'a> Room<'a> {
    /// For at most `most` characters, from `start` on: the styles that are open there are opened again.
    pub(super) fn new(styled: &'a Styled, most: usize, start: usize) -> Self {
        let begun = styled.spans.partition_point(|span| span.range.start < start);
        // The first line may begin with an escape, like every other.
        let mut room =
            Self { most, units: 1, coming: &styled.spans[begun..], quote_until: 0, code_until: 0 };
        for span in styled.within(&(start..start)) {
            room.open(span);
        }
        room
    }

    /// What the style's signs take, both of them, and what parts them from those beside them.
    fn open(&mut self, span: &Span) {
        let end = span.range.end;
        self.units += match &span.style {
            Style::Bold | Style::Strike | Style::Italic | Style::Heading(_) => 6,
            Style::Code => {
                self.code_until = end;
                6
            }
            Style::Pre(language) => {
                self.code_until = end;
                let lines = if span.range.start < self.quote_until { 18 } else { 10 };
                lines + language.as_ref().map_or(0, String::len)
            }
            Style::Link(to) => 7 + units(&address(to)),
            Style::Quote => {
                self.quote_until = end;
                4
            }
        };
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
        let in_code = at < self.code_until;
        for c in cluster.chars() {
            self.units += match c {
                '\n' if at < self.quote_until => 4,
                '\n' => 2,
                '`' => 2,
                c if !in_code && is_sign(c) => 2,
                _ => 1,
            };
        }
        self.units <= self.most
    }
}
