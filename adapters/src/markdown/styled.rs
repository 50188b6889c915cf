//! A rendered text: plain characters, the styles over them, and where in the source each came from.

use std::ops::Range;

/// A style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A heading of level 1 to 6: one line.
    Heading(u8),
    Bold,
    Italic,
    Strike,
    Code,
    /// A block of code, and its language if one was told.
    Pre(Option<String>),
    /// An address that the platform opens.
    Link(String),
    Quote,
}

/// A style over a part of the text. Spans are nested and never overlap in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// In bytes of the rendered text.
    pub(crate) range: Range<usize>,
    pub(crate) style: Style,
}

/// The rendered text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Styled {
    pub(crate) text: String,
    /// By their start, the outer before the inner.
    pub(crate) spans: Vec<Span>,
    /// What stands before the items of lists, in order: not the model's own words.
    pub(crate) bullets: Vec<Range<usize>>,
    /// Rendered offset and source offset, both never falling.
    marks: Vec<(usize, usize)>,
    /// The source's length.
    source_len: usize,
}

impl Styled {
    /// For a source of `source_len` bytes.
    pub(crate) fn of(source_len: usize) -> Self {
        Self { source_len, ..Self::default() }
    }

    /// Text that is what it looks like.
    pub(crate) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::of(text.len()) }
    }

    /// The next character rendered comes from `source`.
    pub(crate) fn mark(&mut self, source: usize) {
        let last = self.marks.last().map_or(0, |(_, source)| *source);
        self.marks.push((self.text.len(), source.max(last)));
    }

    /// The spans that show in `range`; of an empty one, those that are open where it stands.
    pub(crate) fn within(&self, range: &Range<usize>) -> impl Iterator<Item = &Span> {
        let before = self.spans.partition_point(|span| span.range.start < range.end);
        let start = range.start;
        self.spans[..before].iter().filter(move |span| span.range.end > start)
    }

    /// Begins a style, and gives its number for [`close`](Self::close).
    pub(crate) fn open(&mut self, style: Style) -> usize {
        self.spans.push(Span { range: self.text.len()..self.text.len(), style });
        self.spans.len() - 1
    }

    /// Ends it.
    pub(crate) fn close(&mut self, span: usize) {
        if let Some(span) = self.spans.get_mut(span) {
            span.range.end = self.text.len();
        }
    }

    /// Where in the source the character at `at` comes from, roughly: between two marks the text is
    /// taken for verbatim. Never falls while `at` grows.
    pub(crate) fn source_of(&self, at: usize) -> usize {
        let after = self.marks.partition_point(|(rendered, _)| *rendered <= at);
        let next = self.marks.get(after).map_or(self.source_len, |(_, source)| *source);
        match after.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some((rendered, source)) => (source + (at - rendered)).min(next),
            None => 0,
        }
    }

    /// The source's length in bytes.
    pub(crate) fn source_len(&self) -> usize {
        self.source_len
    }
}
