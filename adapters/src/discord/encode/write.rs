//! A stretch of styled text in Discord's dialect, complete in itself.

use std::ops::Range;

use super::escape::{
    Around, Head, JOINT, address, bare_link, block, calls, inline_code, is_escaped, names_all,
};
use crate::markdown::is_blank;
use crate::markdown::styled::{Style, Styled};

/// Discord has no smaller headings.
const HEADINGS: u8 = 3;

/// `range` of the text. Styles that reach beyond it are closed at its end.
pub(super) fn write(styled: &Styled, range: Range<usize>) -> String {
    let mut writer = Writer::new(styled, range.clone());
    for span in styled.within(&range) {
        let span_range = span.range.start.max(range.start)..span.range.end.min(range.end);
        writer.close_until(span_range.start);
        // What was written with the style around it, or shows nothing.
        if span_range.start < writer.at || is_blank(&styled.text[span_range.clone()]) {
            continue;
        }
        writer.text_until(span_range.start);
        writer.open(&span.style, span_range);
    }
    writer.close_until(range.end);
    writer.text_until(range.end);
    writer.out
}

/// A style that is open.
struct Open {
    end: usize,
    kind: Kind,
}

/// What is to be done at its end, and how the text within is written.
enum Kind {
    /// Signs on both sides.
    Around(&'static str),
    Code,
    Pre,
    /// Where it leads.
    Link(String),
    /// A link whose text would hide that it leads elsewhere: both are shown.
    ShownLink(String),
    Quote,
    /// No sign ends it.
    Bare,
}

struct Writer<'a> {
    styled: &'a Styled,
    at: usize,
    out: String,
    open: Vec<Open>,
    head: Head,
    /// Nothing stands in the line yet, but for a quote's sign.
    line_start: bool,
    /// A line must end before anything else is written.
    line_over: bool,
}

impl<'a> Writer<'a> {
    fn new(styled: &'a Styled, range: Range<usize>) -> Self {
        Self {
            styled,
            at: range.start,
            out: String::new(),
            open: Vec::new(),
            head: Head::Start,
            line_start: true,
            line_over: false,
        }
    }

    fn open(&mut self, style: &Style, range: Range<usize>) {
        let shown = &self.styled.text[range.clone()];
        let kind = match style {
            Style::Bold => self.begin("**"),
            Style::Strike => self.begin("~~"),
            Style::Italic => {
                let sign = self.italic(range.end);
                self.begin(sign)
            }
            Style::Heading(level) if *level <= HEADINGS && self.line_start => {
                self.sign(&"#".repeat(usize::from(*level)));
                self.sign(" ");
                Kind::Bare
            }
            Style::Heading(_) => self.begin("**"),
            Style::Code => Kind::Code,
            Style::Pre(language) => {
                self.new_line();
                self.sign(&format!("```{}", language.as_deref().unwrap_or_default()));
                self.line_end();
                Kind::Pre
            }
            Style::Link(to) if shown.trim() == to && names_all(to) => Kind::Bare,
            Style::Link(to) if shown.trim() == to => {
                self.bare(to);
                self.at = range.end;
                Kind::Bare
            }
            Style::Link(to) if shown.contains("://") => Kind::ShownLink(address(to)),
            Style::Link(to) => {
                self.sign("[");
                Kind::Link(address(to))
            }
            Style::Quote => self.quote(),
        };
        self.open.push(Open { end: range.end, kind });
    }

    fn begin(&mut self, sign: &'static str) -> Kind {
        self.sign(sign);
        Kind::Around(sign)
    }

    /// Only at the start of a line is there a quote.
    fn quote(&mut self) -> Kind {
        self.end_line();
        if !self.line_start {
            return Kind::Bare;
        }
        self.out.push_str("> ");
        Kind::Quote
    }

    /// `_` where no word stands beside it, for it goes with `**`; else `*`.
    fn italic(&self, end: usize) -> &'static str {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = self.out.chars().next_back().is_some_and(is_word);
        let after = self.styled.text[end..].chars().next().is_some_and(is_word);
        if before || after || self.within_underscores() { "*" } else { "_" }
    }

    /// Closes the styles that end at or before `at`, the innermost first.
    fn close_until(&mut self, at: usize) {
        while let Some(last) = self.open.last()
            && last.end <= at
        {
            self.text_until(last.end);
            let Some(open) = self.open.pop() else { return };
            match open.kind {
                Kind::Around(sign) => self.sign(sign),
                Kind::Link(to) => self.sign(&format!("](<{to}>)")),
                Kind::ShownLink(to) => self.sign(&format!(" (<{to}>)")),
                Kind::Pre => {
                    self.line_end();
                    self.sign("```");
                    self.line_over = true;
                }
                Kind::Quote => self.line_over = true,
                Kind::Code | Kind::Bare => {}
            }
        }
    }

    fn text_until(&mut self, end: usize) {
        if end <= self.at {
            return;
        }
        let text = &self.styled.text[self.at..end];
        match self.open.last().map(|open| &open.kind) {
            Some(Kind::Pre) => self.lines(&block(text)),
            Some(Kind::Code) => self.sign(&inline_code(text)),
            _ => self.words(self.at, text),
        }
        self.at = end;
    }

    /// Text that means nothing but itself, which begins at `from`.
    fn words(&mut self, from: usize, text: &str) {
        let bullets = &self.styled.bullets;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let next = bullets.partition_point(|bullet| bullet.start < from + at);
            let bullet = bullets.get(next).filter(|bullet| bullet.start == from + at);
            if let Some(bullet) = bullet {
                let end = (bullet.end - from).min(text.len());
                self.sign(&text[at..end]);
                self.head = Head::Start;
                at = end;
                continue;
            }
            let link = bare_link(&text[at..]).filter(|_| self.may_link());
            if let Some(link) = link {
                self.bare(link);
                at += link.len();
                continue;
            }
            at += c.len_utf8();
            self.character(c, &text[at..]);
        }
    }

    fn character(&mut self, c: char, after: &str) {
        if c == '\n' {
            self.line_over = false;
            return self.line_end();
        }
        self.end_line();
        let around = Around {
            before: self.out.chars().next_back(),
            after,
            head: self.head,
            in_link: self.open.iter().any(|open| matches!(open.kind, Kind::Link(_))),
            in_underscores: self.within_underscores(),
        };
        if is_escaped(c, around) {
            self.out.push('\\');
        }
        self.out.push(c);
        if calls(c, around) {
            self.out.push(JOINT);
        }
        self.line_start = false;
        self.head = match (self.head, c) {
            (Head::Start, ' ') => Head::Start,
            (Head::Start | Head::Number, '0'..='9') => Head::Number,
            _ => Head::Past,
        };
    }

    /// Whether an address that stands here is a link by itself.
    fn may_link(&self) -> bool {
        let in_link = |open: &Open| matches!(open.kind, Kind::Link(_));
        !self.open.iter().any(in_link) && !self.out.ends_with(|c: char| c.is_ascii_alphanumeric())
    }

    /// An address without a preview.
    fn bare(&mut self, to: &str) {
        let to: String = to.chars().filter(|c| !matches!(c, '<' | '>')).collect();
        self.sign(&format!("<{to}>"));
    }

    fn within_underscores(&self) -> bool {
        self.open.iter().any(|open| matches!(open.kind, Kind::Around("_")))
    }

    /// Code, line by line.
    fn lines(&mut self, code: &str) {
        for (number, line) in code.split('\n').enumerate() {
            if number > 0 {
                self.line_end();
            }
            self.out.push_str(line);
            self.line_start = false;
        }
    }

    /// What Discord reads as a sign. Two of the same kind beside each other would be another one.
    fn sign(&mut self, sign: &str) {
        self.end_line();
        if let Some(first) = sign.chars().next()
            && matches!(first, '*' | '~')
            && self.out.ends_with(first)
        {
            self.out.push(JOINT);
        }
        self.out.push_str(sign);
        self.line_start = false;
        self.head = Head::Past;
    }

    /// Begins a line unless one has just begun.
    fn new_line(&mut self) {
        self.end_line();
        if self.line_start {
            return;
        }
        let filled = self.out.trim_end_matches(' ').len();
        if filled == 0 || self.out[..filled].ends_with('\n') {
            self.out.truncate(filled);
            self.line_start = true;
        } else {
            self.line_end();
        }
    }

    /// Ends a line that must end.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.line_over) {
            self.line_end();
        }
    }

    fn line_end(&mut self) {
        self.out.push('\n');
        if self.open.iter().any(|open| matches!(open.kind, Kind::Quote)) {
            self.out.push_str("> ");
        }
        self.line_start = true;
        self.head = Head::Start;
    }
}
