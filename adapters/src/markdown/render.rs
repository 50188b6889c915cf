//! From Markdown to text with styles. What there is no style for stays readable text: nothing of what
//! the model wrote is dropped.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::styled::{Style, Styled};
use super::table::Table;

/// Deeper lists are not moved further to the right.
const DEEPEST: usize = 8;
/// Longer addresses are shown as text.
const LONGEST_LINK: usize = 2_048;

/// What a platform shows in its own way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// Stands before an item of a list without numbers.
    pub(crate) bullet: &'static str,
    /// The widest table that is aligned, in columns.
    pub(crate) widest: usize,
    /// The schemes of the addresses that it makes links of. It drops others silently.
    pub(crate) schemes: &'static [&'static str],
}

/// The text of `markdown`, with its styles.
pub(crate) fn render(markdown: &str, dialect: &Dialect) -> Styled {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer::new(Styled::of(markdown.len()), dialect);
    let mut events = Parser::new_ext(markdown, options).into_offset_iter();
    for (event, range) in events.by_ref() {
        renderer.event(event, &range);
    }
    let definitions = events.reference_definitions().iter();
    renderer.unused(markdown, definitions.map(|(label, link)| (label, link.span.clone())));
    renderer.out.spans.retain(|span| !span.range.is_empty());
    renderer.out
}

struct Renderer<'a> {
    dialect: &'a Dialect,
    out: Styled,
    /// What each open inline tag began: a span by its number, or nothing.
    inline: Vec<Opened>,
    /// The number of the next item, or a bullet, for each open list.
    lists: Vec<Option<u64>>,
    quotes: Vec<Option<usize>>,
    pre: Option<usize>,
    table: Option<Table>,
    /// A bullet or quote has just begun: its first block needs no line of its own.
    fresh: bool,
    /// Labels of addresses that stand elsewhere in the text, in lower case.
    used: BTreeSet<String>,
    /// An HTML block's lines are written as they stand.
    html_block: bool,
    /// A heading is one line.
    heading: bool,
}

/// What an open inline tag has to close.
#[derive(Default)]
struct Opened {
    span: Option<usize>,
    /// Where a link leads.
    address: Option<String>,
    /// Where its text began.
    from: usize,
}

impl<'a> Renderer<'a> {
    fn new(out: Styled, dialect: &'a Dialect) -> Self {
        Self {
            dialect,
            out,
            inline: Vec::new(),
            lists: Vec::new(),
            quotes: Vec::new(),
            pre: None,
            table: None,
            fresh: false,
            used: BTreeSet::new(),
            html_block: false,
            heading: false,
        }
    }

    fn event(&mut self, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, range.start),
            Event::Code(code) => self.code(&code, range.start),
            Event::Html(html) => self.text(&html, range.start),
            Event::InlineHtml(html) => self.inline_html(&html, range.start),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.block(range.start);
                self.text("———", range.start);
            }
            Event::TaskListMarker(done) => self.task(done),
            // Switched off by the options; as text all the same.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text, range.start);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph => self.block(range.start),
            Tag::Heading { level, .. } => {
                self.block(range.start);
                self.style(Style::Heading(level as u8));
                self.heading = true;
            }
            Tag::BlockQuote(_) => self.quote(range.start),
            Tag::CodeBlock(kind) => self.code_block(&kind, range.start),
            Tag::HtmlBlock => {
                self.block(range.start);
                self.html_block = true;
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block(range.start);
                    self.fresh = true;
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(range.start),
            Tag::Table(_) => {
                self.block(range.start);
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.in_table(Table::row),
            Tag::TableCell => self.in_table(Table::cell),
            Tag::Emphasis => self.style(Style::Italic),
            Tag::Strong => self.style(Style::Bold),
            Tag::Strikethrough => self.style(Style::Strike),
            Tag::Link { dest_url, id, .. } | Tag::Image { dest_url, id, .. } => {
                self.used.insert(id.to_lowercase());
                self.link(&dest_url);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.heading = false;
                self.end_inline();
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image => self.end_inline(),
            TagEnd::BlockQuote(_) => {
                if let Some(span) = self.quotes.pop().flatten() {
                    self.out.close(span);
                }
                self.fresh = false;
            }
            TagEnd::CodeBlock => {
                self.name_empty_code();
                self.trim_line_end();
                if let Some(span) = self.pre.take() {
                    self.out.close(span);
                }
            }
            TagEnd::HtmlBlock => {
                self.trim_line_end();
                self.html_block = false;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.fresh = false;
            }
            TagEnd::Item => self.fresh = false,
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    /// Lines like `[TODO]: fix` define an address that nothing leads to: they were meant as text.
    fn unused<'b>(
        &mut self,
        markdown: &str,
        definitions: impl Iterator<Item = (&'b str, Range<usize>)>,
    ) {
        let mut unused: Vec<_> = definitions
            .filter(|(label, _)| !self.used.contains(&label.to_lowercase()))
            .map(|(_, span)| span)
            .collect();
        unused.sort_by_key(|span| span.start);
        for span in unused {
            self.block(span.start);
            self.text(markdown.get(span.clone()).unwrap_or_default().trim_end(), span.start);
        }
    }

    // Blocks.

    /// Begins a block on a line of its own, with an empty one before it outside lists.
    fn block(&mut self, source: usize) {
        self.out.mark(source);
        if std::mem::take(&mut self.fresh) || self.out.text.is_empty() {
            return;
        }
        if self.lists.is_empty() {
            self.out.text.push_str("\n\n");
        } else {
            self.line_break();
        }
    }

    fn quote(&mut self, source: usize) {
        self.block(source);
        // Quotes cannot be nested in chats.
        let nested = self.quotes.iter().any(Option::is_some);
        let span = (!nested).then(|| self.out.open(Style::Quote));
        self.quotes.push(span);
        self.fresh = true;
    }

    fn code_block(&mut self, kind: &CodeBlockKind<'_>, source: usize) {
        self.block(source);
        let CodeBlockKind::Fenced(info) = kind else {
            self.pre = Some(self.out.open(Style::Pre(None)));
            return;
        };
        let language = language(info);
        let is_text = language.is_none() && !info.trim().is_empty();
        self.pre = Some(self.out.open(Style::Pre(language)));
        if is_text {
            self.text(&format!("{}\n", info.trim()), source);
        }
    }

    /// A fence with nothing in it: the word behind it was meant as text, or is all there is to show.
    fn name_empty_code(&mut self) {
        let Some(span) = self.pre.and_then(|span| self.out.spans.get_mut(span)) else { return };
        if let Style::Pre(language) = &mut span.style
            && span.range.start == self.out.text.len()
            && let Some(word) = language.take()
        {
            self.out.text.push_str(&word);
        }
    }

    fn item(&mut self, source: usize) {
        self.out.mark(source);
        if !std::mem::take(&mut self.fresh) && !self.out.text.is_empty() {
            self.out.text.push('\n');
        }
        let depth = self.lists.len().saturating_sub(1).min(DEEPEST);
        self.out.text.push_str(&"   ".repeat(depth));
        let from = self.out.text.len();
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.text.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.out.text.push_str(self.dialect.bullet),
        }
        self.out.bullets.push(from..self.out.text.len());
        self.fresh = true;
    }

    /// A box takes the place of the bullet.
    fn task(&mut self, done: bool) {
        let behind = self.out.text.len();
        let bullet = self.out.bullets.pop_if(|bullet| bullet.end == behind);
        if let Some(bullet) = bullet {
            self.out.text.truncate(bullet.start);
        }
        self.out.text.push_str(if done { "☑ " } else { "☐ " });
        // What began behind the bullet begins behind the box.
        let begins = self.out.text.len();
        for span in self.out.spans.iter_mut().rev().take_while(|span| span.range.start == behind) {
            span.range = begins..begins;
        }
        self.fresh = true;
    }

    fn trim_line_end(&mut self) {
        if self.out.text.ends_with('\n') {
            self.out.text.pop();
        }
    }

    fn in_table(&mut self, begin: fn(&mut Table)) {
        if let Some(table) = &mut self.table {
            begin(table);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        match table.aligned(self.dialect.widest) {
            Some(lines) => {
                let span = self.out.open(Style::Pre(None));
                self.out.text.push_str(&lines);
                self.out.close(span);
            }
            None => self.out.text.push_str(&table.bullets()),
        }
    }

    // Inside blocks.

    fn text(&mut self, text: &str, source: usize) {
        if let Some(table) = &mut self.table {
            table.push(text);
            return;
        }
        self.fresh = false;
        self.out.mark(source);
        if self.pre.is_some() || self.html_block || self.lists.is_empty() {
            self.out.text.push_str(text);
        } else {
            let indent = format!("\n{}", self.indent());
            self.out.text.push_str(&text.replace('\n', &indent));
        }
    }

    fn code(&mut self, code: &str, source: usize) {
        let span = self.table.is_none().then(|| self.out.open(Style::Code));
        self.text(code, source);
        if let Some(span) = span {
            self.out.close(span);
        }
    }

    fn inline_html(&mut self, html: &str, source: usize) {
        if matches!(html.to_ascii_lowercase().as_str(), "<br>" | "<br/>" | "<br />") {
            self.line_break();
        } else {
            self.text(html, source);
        }
    }

    fn line_break(&mut self) {
        if let Some(table) = &mut self.table {
            table.push(" ");
            return;
        }
        if self.heading {
            self.out.text.push(' ');
            return;
        }
        let indent = self.indent();
        self.out.text.push('\n');
        self.out.text.push_str(&indent);
    }

    /// The indentation of what follows an item's first line.
    fn indent(&self) -> String {
        "   ".repeat(self.lists.len().min(DEEPEST))
    }

    fn is_openable(&self, address: &str) -> bool {
        let is = |scheme: &&str| {
            address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        address.len() <= LONGEST_LINK && self.dialect.schemes.iter().any(is)
    }

    fn style(&mut self, style: Style) {
        // A style within itself would be counted twice and shown once.
        let open = self.inline.iter().filter_map(|opened| opened.span);
        let shown = |open: &Style| {
            *open == style || (style == Style::Bold && matches!(open, Style::Heading(_)))
        };
        let twice = open.into_iter().any(|span| shown(&self.out.spans[span].style));
        let span = (!twice && self.table.is_none()).then(|| self.out.open(style));
        self.inline.push(Opened { span, ..Opened::default() });
    }

    fn link(&mut self, address: &str) {
        let from = self.out.text.len();
        let mut open = self.inline.iter().filter_map(|opened| opened.span);
        // A picture within a link: links cannot be nested.
        let nested = open.any(|span| matches!(self.out.spans[span].style, Style::Link(_)));
        let opens = self.is_openable(address) && !nested && self.table.is_none();
        let span = opens.then(|| self.out.open(Style::Link(address.to_owned())));
        self.inline.push(Opened { span, address: Some(address.to_owned()), from });
    }

    fn end_inline(&mut self) {
        let Some(opened) = self.inline.pop() else { return };
        if let Some(address) = &opened.address {
            self.end_link(&opened, address);
        }
        if let Some(span) = opened.span {
            self.out.close(span);
        }
    }

    /// A link without text shows its address; an address that cannot be a link stands behind its
    /// text, where it says anything else.
    fn end_link(&mut self, opened: &Opened, address: &str) {
        if let Some(table) = &mut self.table {
            table.push_address(address);
            return;
        }
        let shown = self.out.text[opened.from..].to_owned();
        let bare = address.strip_prefix("mailto:").unwrap_or(address);
        if shown.trim().is_empty() {
            self.out.text.push_str(bare);
        } else if opened.span.is_none() && !bare.is_empty() && shown != bare {
            self.out.text.push_str(&format!(" ({bare})"));
        }
    }
}

/// The language that a fence's info names: its first word, if nothing but attributes follows. None
/// where the info was meant as text.
fn language(info: &str) -> Option<String> {
    let mut words = info.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let word = words.next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    let attributes = info.contains(',') || words.all(|word| word.contains(['=', '{', '}']));
    (attributes && word.chars().all(plain)).then(|| word.to_owned())
}
