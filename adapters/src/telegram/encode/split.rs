//! Where a text that is too long is cut: at a paragraph, else a line, a sentence, a word; never
//! inside a grapheme cluster, unless that cluster alone is too long for a message.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::html::within;
use super::is_blank;
use super::styled::{Span, Style, Styled};

/// The most entities that Telegram keeps in a message.
const ENTITIES: usize = 100;
/// The most bytes of a message's HTML; Telegram refuses more than 32,768.
const BYTES: usize = 30_000;

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Of the rendered text, without white space at its ends. Never blank.
    pub(super) text: Range<usize>,
    /// Of the source. Together the parts' sources are the whole, but for parts that are blank.
    pub(super) source: Range<usize>,
}

/// The parts of `styled`, each of at most `room` UTF-16 units. None where nothing of it can be seen.
pub(super) fn split(styled: &Styled, room: usize) -> Vec<Cut> {
    let blocks = styled.spans.iter().filter(|span| matches!(span.style, Style::Pre(_)));
    let code = blocks.map(|span| span.range.clone()).collect();
    let splitter = Splitter { styled, text: &styled.text, room, code };
    let mut cuts = Vec::new();
    let (mut start, mut source) = (splitter.skip(0), 0);
    while start < styled.text.len() {
        let end = splitter.end(start);
        let visible = start..start + styled.text[start..end].trim_end().len();
        let next = splitter.skip(end);
        let is_last = next >= styled.text.len();
        let source_end = if is_last { styled.source_len() } else { styled.source_of(visible.end) };
        if !is_blank(&styled.text[visible.clone()]) {
            cuts.push(Cut { text: visible, source: source..source_end });
        }
        (start, source) = (next, source_end);
    }
    cuts
}

struct Splitter<'a> {
    styled: &'a Styled,
    text: &'a str,
    room: usize,
    /// The blocks of code, in order.
    code: Vec<Range<usize>>,
}

impl Splitter<'_> {
    /// Where the part that begins at `start` ends: always behind `start`.
    fn end(&self, start: usize) -> usize {
        let reach = self.reach(start);
        if reach == self.text.len() {
            return reach;
        }
        let window = start..reach;
        let half = start + (reach - start) / 2;
        let ways = [Self::paragraph, Self::line, Self::code_line, Self::sentence, Self::word];
        // A part of less than half a message is worse than a cut in the next best place.
        let far = ways.iter().find_map(|way| way(self, &window).filter(|at| *at >= half));
        far.or_else(|| self.word(&window)).unwrap_or(reach)
    }

    /// The furthest end of a part that begins at `start`.
    fn reach(&self, start: usize) -> usize {
        let mut load = Load::new(self.styled, start);
        let clusters = self.text[start..].grapheme_indices(true);
        for (at, cluster) in clusters {
            if !load.takes(cluster, start + at, self.room) {
                return if at > 0 { start + at } else { self.forced(start, cluster) };
            }
        }
        self.text.len()
    }

    /// As much of a cluster as fits, for one that is longer than a message.
    fn forced(&self, start: usize, cluster: &str) -> usize {
        let mut units = 0;
        let fits = |c: &char| {
            units += c.len_utf16();
            units <= self.room
        };
        let fitting = cluster.chars().take_while(fits).map(char::len_utf8).sum::<usize>();
        start + fitting.max(cluster.chars().next().map_or(1, char::len_utf8))
    }

    /// Behind the white space that a cut makes needless. In code, only line ends are.
    fn skip(&self, from: usize) -> usize {
        let needless =
            |at: usize, c: char| c == '\n' || (c.is_whitespace() && !self.is_in_code(at));
        let mut end = from;
        for (at, c) in self.text[from..].char_indices() {
            let after = from + at + c.len_utf8();
            if !needless(from + at, c) {
                break;
            }
            if self.is_boundary(after) {
                end = after;
            }
        }
        end
    }

    fn is_in_code(&self, at: usize) -> bool {
        let before = self.code.partition_point(|range| range.start <= at);
        before.checked_sub(1).is_some_and(|last| at < self.code[last].end)
    }

    fn is_boundary(&self, at: usize) -> bool {
        GraphemeCursor::new(at, self.text.len(), true).is_boundary(self.text, 0).unwrap_or(false)
    }

    // The ways to cut: the last place of the window, its end included, that is one.

    fn paragraph(&self, window: &Range<usize>) -> Option<usize> {
        self.last(window, |at| self.text[at..].starts_with("\n\n") && !self.is_in_code(at))
    }

    fn line(&self, window: &Range<usize>) -> Option<usize> {
        self.last(window, |at| self.text[at..].starts_with('\n') && !self.is_in_code(at))
    }

    fn code_line(&self, window: &Range<usize>) -> Option<usize> {
        self.last(window, |at| self.text[at..].starts_with('\n'))
    }

    fn sentence(&self, window: &Range<usize>) -> Option<usize> {
        self.last(window, |at| {
            let before = self.text[..at].chars().next_back();
            let ends = before.is_some_and(|c| matches!(c, '.' | '!' | '?' | '…' | ':'));
            let ends_alone = before.is_some_and(|c| matches!(c, '。' | '！' | '？'));
            ends_alone || (ends && self.text[at..].starts_with(char::is_whitespace))
        })
    }

    fn word(&self, window: &Range<usize>) -> Option<usize> {
        self.last(window, |at| self.text[at..].starts_with(char::is_whitespace))
    }

    fn last(&self, window: &Range<usize>, is_place: impl Fn(usize) -> bool) -> Option<usize> {
        let places = (window.start + 1..=window.end).rev();
        places
            .filter(|at| self.text.is_char_boundary(*at))
            .find(|at| is_place(*at) && self.is_boundary(*at))
    }
}

/// How much of a message is used up.
struct Load<'a> {
    units: usize,
    bytes: usize,
    entities: usize,
    /// Styles that begin further on.
    coming: &'a [Span],
}

impl<'a> Load<'a> {
    /// At `start`: the styles that are open there are opened again.
    fn new(styled: &'a Styled, start: usize) -> Self {
        let begun = styled.spans.partition_point(|span| span.range.start < start);
        let mut load = Self { units: 0, bytes: 0, entities: 0, coming: &styled.spans[begun..] };
        for span in within(styled, &(start..start)) {
            load.open(span);
        }
        load
    }

    /// Whether `cluster`, at `at`, still fits.
    fn takes(&mut self, cluster: &str, at: usize, room: usize) -> bool {
        while let Some((span, coming)) = self.coming.split_first()
            && span.range.start < at + cluster.len()
        {
            self.open(span);
            self.coming = coming;
        }
        self.units += super::utf16(cluster);
        // The longest name of a character is `&quot;`.
        self.bytes +=
            cluster.bytes().map(|b| if b"&<>\"".contains(&b) { 6 } else { 1 }).sum::<usize>();
        self.units <= room && self.bytes <= BYTES && self.entities <= ENTITIES
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
