//! Where a text that is too long is cut: at a paragraph, else a line, a sentence, a word; never
//! inside a grapheme cluster, unless that cluster alone is too long for a message.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::is_blank;
use super::styled::{Style, Styled};

/// How much of a message is used up.
pub(crate) trait Load {
    /// Takes `cluster`, which stands at `at` of the rendered text. Whether the message still fits.
    fn takes(&mut self, cluster: &str, at: usize) -> bool;
}

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Of the rendered text, without white space at its ends. Never blank.
    pub(crate) text: Range<usize>,
    /// Of the source. Together the parts' sources are the whole, but for parts that are blank.
    pub(crate) source: Range<usize>,
}

/// The parts of `styled`, each of what a message takes: `load` is an empty one that begins at an offset
/// of the rendered text, where the styles that are open are opened again. No parts where nothing can be
/// seen.
pub(crate) fn split<L: Load>(styled: &Styled, load: impl Fn(usize) -> L) -> Vec<Cut> {
    let blocks = styled.spans.iter().filter(|span| matches!(span.style, Style::Pre(_)));
    let code = blocks.map(|span| span.range.clone()).collect();
    let splitter = Splitter { text: &styled.text, load, code };
    let mut cuts = Vec::new();
    let (mut start, mut source) = (splitter.skip(0), 0);
    while start < styled.text.len() {
        let end = splitter.end(start);
        let visible = start..splitter.visible_end(start..end);
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

struct Splitter<'a, F> {
    text: &'a str,
    load: F,
    /// The blocks of code, in order.
    code: Vec<Range<usize>>,
}

impl<L: Load, F: Fn(usize) -> L> Splitter<'_, F> {
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

    /// The end of `part` without the white space behind it, but for what belongs to a cluster.
    fn visible_end(&self, part: Range<usize>) -> usize {
        let trimmed = part.start + self.text[part.clone()].trim_end().len();
        let ends = |at: &usize| self.text.is_char_boundary(*at) && self.is_boundary(*at);
        (trimmed..part.end).find(ends).unwrap_or(part.end)
    }

    /// The furthest end of a part that begins at `start`.
    fn reach(&self, start: usize) -> usize {
        let mut load = (self.load)(start);
        let clusters = self.text[start..].grapheme_indices(true);
        for (at, cluster) in clusters {
            if !load.takes(cluster, start + at) {
                return if at > 0 { start + at } else { self.forced(start, cluster) };
            }
        }
        self.text.len()
    }

    /// As much of a cluster as fits, for one that is longer than a message.
    fn forced(&self, start: usize, cluster: &str) -> usize {
        let mut load = (self.load)(start);
        let mut fitting = 0;
        for c in cluster.chars() {
            if !load.takes(c.encode_utf8(&mut [0; 4]), start + fitting) {
                break;
            }
            fitting += c.len_utf8();
        }
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
