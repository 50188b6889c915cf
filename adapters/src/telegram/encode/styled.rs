//! A rendered text: plain characters, the styles over them, and where in the source each came from.

use std::ops::Range;

/// A style, as Telegram has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Bold,
    Italic,
    Strike,
    Code,
    /// A block of code, and its language if one was told.
    Pre(Option<String>),
    /// An address that Telegram opens.
    Link(String),
    Quote,
}

/// A style over a part of the text. Spans are nested and never overlap in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// In bytes of the rendered text.
    pub(super) range: Range<usize>,
    pub(super) style: Style,
}

/// The rendered text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Styled {
    pub(super) text: String,
    /// By their start, the outer before the inner.
    pub(super) spans: Vec<Span>,
    /// Rendered offset and source offset, both never falling.
    marks: Vec<(usize, usize)>,
    /// The source's length.
    source_len: usize,
}

impl Styled {
    /// For a source of `source_len` bytes.
    pub(super) fn of(source_len: usize) -> Self {
        Self { source_len, ..Self::default() }
    }

    /// Text that is what it looks like.
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::of(text.len()) }
    }

    /// The next character rendered comes from `source`.
    pub(super) fn mark(&mut self, source: usize) {
        let last = self.marks.last().map_or(0, |(_, source)| *source);
        self.marks.push((self.text.len(), source.max(last)));
    }

    /// Begins a style, and gives its number for [`close`](Self::close).
    pub(super) fn open(&mut self, style: Style) -> usize {
        self.spans.push(Span { range: self.text.len()..self.text.len(), style });
        self.spans.len() - 1
    }

    /// Ends it.
    pub(super) fn close(&mut self, span: usize) {
        if let Some(span) = self.spans.get_mut(span) {
            span.range.end = self.text.len();
        }
    }

    /// Where in the source the character at `at` comes from, roughly: between two marks the text is
    /// taken for verbatim. Never falls while `at` grows.
    pub(super) fn source_of(&self, at: usize) -> usize {
        let after = self.marks.partition_point(|(rendered, _)| *rendered <= at);
        let next = self.marks.get(after).map_or(self.source_len, |(_, source)| *source);
        match after.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some((rendered, source)) => (source + (at - rendered)).min(next),
            None => 0,
        }
    }

    /// The source's length in bytes.
    pub(super) fn source_len(&self) -> usize {
        self.source_len
    }
}
