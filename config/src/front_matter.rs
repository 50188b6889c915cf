//! The front matter of a `BOT.md`: lines of `key: value` between two lines of `---`. A small part
//! of YAML, read strictly: what it does not know, it refuses with the line.

use std::ops::Range;

use crate::error::Error;
use crate::mask;
use crate::nearest;
use crate::place::{Place, Text};
use crate::schema::{self, Key, Kind};

/// What stands in a `BOT.md`.
#[derive(Debug, Default)]
pub(crate) struct FrontMatter {
    /// `name`.
    pub(crate) name: Option<(String, Place)>,
    /// `model`.
    pub(crate) model: Option<(String, Place)>,
    /// Where the text below begins; None where there is none.
    pub(crate) body: Option<Place>,
}

/// Reads the front matter. A text without one is all body.
pub(crate) fn read(text: &Text<'_>, errors: &mut Vec<Error>) -> FrontMatter {
    let mut found = FrontMatter::default();
    let mut lines = Lines { text: text.text, at: 0 };
    let opens = lines.peek().is_some_and(|(_, line)| line.trim_end() == "---");
    if opens {
        let opening = lines.next();
        let mut seen = Vec::new();
        let mut wrong = Vec::new();
        loop {
            match lines.next() {
                None => {
                    errors.push(Error::new(
                        text.place(opening.map(|(range, _)| range)),
                        "this front matter is never closed",
                        "End it with a line of three dashes: ---",
                    ));
                    return found;
                }
                Some((_, line)) if line.trim_end() == "---" => break,
                Some((range, line)) => {
                    if let Err(error) = entry(text, range, line, &mut seen, &mut found) {
                        wrong.push(*error);
                    }
                }
            }
        }
        // Only of a front matter that ends: in one that does not, the mission would be wrong too.
        errors.append(&mut wrong);
    }
    found.body =
        lines.find(|(_, line)| !line.trim().is_empty()).map(|(range, _)| text.place(Some(range)));
    found
}

fn entry<'a>(
    text: &Text<'_>,
    range: Range<usize>,
    line: &'a str,
    seen: &mut Vec<&'a str>,
    found: &mut FrontMatter,
) -> Result<(), Box<Error>> {
    if line.trim().is_empty() || line.trim_start().starts_with('#') {
        return Ok(());
    }
    let whole = || text.place(Some(range.clone()));
    let fail = |place, what: String, mend: &str| Err(Box::new(Error::new(place, what, mend)));
    let Some((key, value)) =
        line.split_once(':').filter(|_| !line.starts_with(char::is_whitespace))
    else {
        return fail(
            whole(),
            "this is no line of a front matter".to_owned(),
            "A line is `key: value`, from the first column; the text for the bot stands below the closing ---.",
        );
    };
    let key = key.trim_end();
    let value_start = range.start + (line.len() - value.trim_start().len());
    let key_place = || text.place(Some(range.start..range.start + key.len()));
    let value_place = text.place(Some(value_start..value_start + value.trim().len()));
    match schema::find(schema::BOT, key) {
        None => return Err(Box::new(unknown(key_place(), key))),
        Some(Key { kind: Kind::Later, .. }) => {
            return fail(
                key_place(),
                format!("this version of Atlas does not know `{key}` yet"),
                "Take it out, or put a # before it, until a version that knows it.",
            );
        }
        Some(_) => {}
    }
    if seen.contains(&key) {
        return fail(
            key_place(),
            format!("`{key}` is written twice"),
            "Keep one of the two lines.",
        );
    }
    seen.push(key);
    let value = match scalar(value.trim()) {
        Ok(value) => value,
        Err(what) => {
            return fail(
                value_place,
                format!("`{key}` {what}"),
                "Write one value in the same line, in quotes if it holds a # or a colon: `name: \"Seo\"`.",
            );
        }
    };
    match key {
        "name" => found.name = Some((value, value_place)),
        _ => found.model = Some((value, value_place)),
    }
    Ok(())
}

fn unknown(place: Place, key: &str) -> Error {
    let near = nearest::nearest(key, schema::BOT.iter().map(|key| key.name))
        .map_or_else(|| "Take it out.".to_owned(), |near| format!("The nearest is `{near}`."));
    Error::new(
        place,
        format!("unknown key {}", mask::value(key)),
        format!("{near} Known here: {}.", schema::names(schema::BOT)),
    )
}

/// A plain or quoted value; what is wrong with it otherwise.
fn scalar(text: &str) -> Result<String, &'static str> {
    let value = match text.chars().next() {
        None | Some('#') => return Err("is empty"),
        Some(quote @ ('"' | '\'')) => {
            let inner = &text[1..];
            let (value, after) =
                inner.split_once(quote).ok_or("has a quote that is never closed")?;
            let after = after.trim_start();
            if !after.is_empty() && !after.starts_with('#') {
                return Err("has text after its closing quote");
            }
            if quote == '"' && value.contains('\\') {
                return Err("has a backslash, which means nothing here");
            }
            value
        }
        Some('[' | '{' | '|' | '>' | '&' | '*' | '!' | '%' | '@' | '`') => {
            return Err("takes one plain value");
        }
        Some(_) => text.split_once(" #").map_or(text, |(value, _)| value).trim_end(),
    };
    if value.trim().is_empty() {
        return Err("is empty");
    }
    if value.contains(char::is_control) {
        return Err("holds a character that cannot be shown");
    }
    Ok(value.trim().to_owned())
}

/// The lines of a text with their places, without their ends.
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<(Range<usize>, &'a str)> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = rest.split('\n').next().unwrap_or_default();
        Some((self.at..self.at + line.len(), line.strip_suffix('\r').unwrap_or(line)))
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (Range<usize>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (range, line) = self.peek()?;
        self.at = range.end + 1;
        Some((range, line))
    }
}
