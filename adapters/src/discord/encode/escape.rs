//! The signs of Discord's dialect: which characters mean something where they stand, and how they are
//! written so that they do not.
//!
//! A backslash takes the meaning of what follows, unless that is a letter, a digit or white space:
//! there it is shown. So nothing is escaped that means nothing.

/// No width and no meaning: parts what would otherwise be one sign.
pub(super) const JOINT: char = '\u{200b}';

/// Stands where what is next begins a line, but for spaces and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Nothing but spaces so far.
    Start,
    /// A number, which with a point would be a list's.
    Number,
    /// Something.
    Past,
}

/// What stands around a character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    /// The last character written.
    pub(super) before: Option<char>,
    /// The text behind it, up to the next change of style.
    pub(super) after: &'a str,
    pub(super) head: Head,
    /// Within the text of a link.
    pub(super) in_link: bool,
    /// Within `_`.
    pub(super) in_underscores: bool,
}

/// Whether `c` may take two characters.
pub(super) fn is_sign(c: char) -> bool {
    matches!(c, '\\' | '*' | '_' | '~' | '`' | '[' | ']' | '(' | '@' | '/')
}

/// Whether a backslash must stand before `c`.
pub(super) fn is_escaped(c: char, around: Around<'_>) -> bool {
    let next = around.after.chars().next();
    let beside = |sign: char| around.before == Some(sign) || next == Some(sign);
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    match c {
        '*' | '`' => true,
        '_' => around.in_underscores || !is_word(around.before) || !is_word(next),
        '~' => beside('~'),
        // `C:\dir` needs none.
        '\\' => !next.is_some_and(|c| c.is_ascii_alphanumeric() || c.is_whitespace()),
        '[' | ']' => around.in_link,
        '(' => around.before == Some(']'),
        _ => begins_a_block(c, around),
    }
}

/// Whether `c` would make a heading, a list, a quote or small print of its line.
fn begins_a_block(c: char, around: Around<'_>) -> bool {
    let after = around.after;
    let stands_alone = after.starts_with(char::is_whitespace);
    match (around.head, c) {
        (Head::Start, '#') => {
            let rest = after.trim_start_matches('#');
            after.len() - rest.len() < 3 && rest.starts_with(char::is_whitespace)
        }
        (Head::Start, '-') => stands_alone || after.starts_with('#'),
        (Head::Start, '+') => stands_alone,
        (Head::Start, '>') => stands_alone || after.starts_with('>'),
        (Head::Number, '.') => stands_alone,
        _ => false,
    }
}

/// Whether a joint must follow `c`: it would call somebody. Discord is told to call nobody anyway; so
/// nobody even seems to be called.
pub(super) fn calls(c: char, around: Around<'_>) -> bool {
    if c != '@' {
        return false;
    }
    let after = around.after;
    let id = after.trim_start_matches(['!', '&']);
    calls_all(after) || (around.before == Some('<') && id.starts_with(|c: char| c.is_ascii_digit()))
}

fn calls_all(after: &str) -> bool {
    after.starts_with("everyone") || after.starts_with("here")
}

/// Whether an address names everybody: then it is text, which seems to call nobody, and no link.
pub(super) fn names_all(to: &str) -> bool {
    to.match_indices('@').any(|(at, _)| calls_all(&to[at + 1..]))
}

/// The address at the start of `text`, as Discord would make a link of it.
pub(super) fn bare_link(text: &str) -> Option<&str> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '<' | '>' | '"' | '`' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}')
    };
    let whole = text.split(ends).next().unwrap_or_default();
    let trailing =
        |c: char| matches!(c, '.' | ',' | ':' | ';' | '!' | '?' | '\'' | '*' | '_' | '|');
    let unpaired = |link: &str, open: char, close: char| {
        link.ends_with(close) && link.matches(open).count() < link.matches(close).count()
    };
    let mut link = whole.trim_end_matches(trailing);
    while unpaired(link, '(', ')') || unpaired(link, '[', ']') {
        link = link.get(..link.len() - 1).unwrap_or_default().trim_end_matches(trailing);
    }
    (link.len() > scheme.len() && !names_all(link)).then_some(link)
}

/// An address as it stands within `<` and `>`, in a link with a text too.
pub(super) fn address(to: &str) -> String {
    let mut written = String::with_capacity(to.len());
    for c in to.chars() {
        match c {
            '<' => written.push_str("%3C"),
            '>' => written.push_str("%3E"),
            '(' => written.push_str("%28"),
            ')' => written.push_str("%29"),
            '\\' => written.push_str("%5C"),
            c if c.is_whitespace() || c.is_control() => written.push_str("%20"),
            c => written.push(c),
        }
    }
    written
}

/// The language and the text of a block of code: no three backticks stand together in it.
pub(super) fn block(code: &str) -> String {
    parted(code, 3)
}

/// Code within a line, with its signs.
pub(super) fn inline_code(code: &str) -> String {
    if !code.contains('`') {
        return format!("`{code}`");
    }
    let code = parted(code, 2);
    let pad = |at_end: bool| if at_end { " " } else { "" };
    format!("``{}{code}{}``", pad(code.starts_with('`')), pad(code.ends_with('`')))
}

/// Without `run` backticks together.
fn parted(code: &str, run: usize) -> String {
    let mut written = String::with_capacity(code.len());
    let mut together = 0;
    for c in code.chars() {
        together = if c == '`' { together + 1 } else { 0 };
        if together == run {
            written.push(JOINT);
            together = 1;
        }
        written.push(c);
    }
    written
}
