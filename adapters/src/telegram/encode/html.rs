//! A stretch of styled text as Telegram's HTML, complete in itself.

use std::ops::Range;

use crate::markdown::styled::{Style, Styled};

/// The HTML of `range`. Styles that reach beyond it are closed at its end.
pub(super) fn write(styled: &Styled, range: Range<usize>) -> String {
    let mut writer = Writer { text: &styled.text, at: range.start, out: String::new() };
    let mut open: Vec<(usize, &Style)> = Vec::new();
    for span in styled.within(&range) {
        let (start, end) = (span.range.start.max(range.start), span.range.end.min(range.end));
        writer.close_until(&mut open, start);
        writer.text_until(start);
        writer.out.push_str(&start_tag(&span.style));
        open.push((end, &span.style));
    }
    writer.close_until(&mut open, range.end);
    writer.text_until(range.end);
    writer.out
}

struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: String,
}

impl Writer<'_> {
    /// Closes the styles that end at or before `at`, the innermost first.
    fn close_until(&mut self, open: &mut Vec<(usize, &Style)>, at: usize) {
        while let Some((end, style)) = open.pop_if(|(end, _)| *end <= at) {
            self.text_until(end);
            self.out.push_str(end_tag(style));
        }
    }

    fn text_until(&mut self, end: usize) {
        escape(&self.text[self.at..end], &mut self.out);
        self.at = end;
    }
}

fn start_tag(style: &Style) -> String {
    match style {
        Style::Heading(_) | Style::Bold => "<b>".to_owned(),
        Style::Italic => "<i>".to_owned(),
        Style::Strike => "<s>".to_owned(),
        Style::Code => "<code>".to_owned(),
        Style::Quote => "<blockquote>".to_owned(),
        Style::Pre(None) => "<pre>".to_owned(),
        Style::Pre(Some(language)) => format!("<pre><code class=\"language-{language}\">"),
        Style::Link(address) => {
            let mut tag = "<a href=\"".to_owned();
            escape(address, &mut tag);
            tag.push_str("\">");
            tag
        }
    }
}

fn end_tag(style: &Style) -> &'static str {
    match style {
        Style::Heading(_) | Style::Bold => "</b>",
        Style::Italic => "</i>",
        Style::Strike => "</s>",
        Style::Code => "</code>",
        Style::Quote => "</blockquote>",
        Style::Pre(None) => "</pre>",
        Style::Pre(Some(_)) => "</code></pre>",
        Style::Link(_) => "</a>",
    }
}

/// Telegram knows these four names of characters, and numbers.
pub(crate) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}
