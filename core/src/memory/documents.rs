//! Memory as the model is shown it: one document a file, appended when it is first seen or has
//! changed, and never rewritten, so that what was sent stays a prefix of what is sent next.
//!
//! [`documents`] reads; [`render`] is pure. What a conversation loads is decided by
//! [`levels`].

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sha2::{Digest, Sha256};

use crate::audience::{Audience, SharedMemory};
use crate::bot::Bot;
use crate::change::Target;
use crate::memory::entries::{Entries, fill, thousands};
use crate::memory::levels::{self, Level, Shape};
use crate::memory::screen;
use crate::message::{Body, Part};
use crate::ports::{FileError, FileState, MemoryFiles, mend_unreadable};

/// The bar above and below a heading, as the Atlas page prints it.
const BAR: &str = "══════════════════════════════════════════════";

/// Lines of a free file that are loaded.
const FREE_LINES: usize = 200;
/// Bytes of a free file that are loaded.
const FREE_BYTES: usize = 8_192;

/// What a transcript shows of each document: the last copy counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown(BTreeMap<String, Copy>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Copy {
    hash: Option<String>,
    text: String,
}

impl Shown {
    /// Reads the open episode's messages, the oldest first.
    #[must_use]
    pub fn of<'a>(transcript: impl IntoIterator<Item = &'a Body>) -> Self {
        let mut shown = Self::default();
        for body in transcript {
            let Body::User { parts } = body else { continue };
            for part in parts {
                if let Part::Document { path, hash, text, .. } = part {
                    let copy = Copy { hash: hash.clone(), text: text.clone() };
                    shown.0.insert(path.clone(), copy);
                }
            }
        }
        shown
    }
}

/// A loaded file, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its text; None where there is no such file.
    Text(Option<String>),
    /// It is there and cannot be read; the reason names the file.
    Unreadable(String),
}

/// Re-reads the memory that a conversation loads, and gives the documents to append now: those first
/// seen, changed, gone or out of scope since `shown`. `shared` counts in a shared conversation only.
///
/// # Errors
///
/// [`FileError::BadPath`] for a bot whose name is no folder. A file that cannot be read is no error:
/// its document says so.
pub async fn documents(
    files: &dyn MemoryFiles,
    bot: &Bot,
    audience: Audience,
    shared: SharedMemory,
    shown: &Shown,
) -> Result<Vec<Part>, FileError> {
    let levels = levels::loaded(bot, audience, shared);
    let texts = join_all(levels.iter().map(|level| files.read(&level.path))).await;
    let mut found = Vec::new();
    for (level, text) in levels.into_iter().zip(texts) {
        let text = match text {
            Ok(FileState::Text(text)) => Found::Text(Some(text)),
            Ok(FileState::Missing) => Found::Text(None),
            Err(error @ FileError::BadPath(_)) => return Err(error),
            Err(error) => {
                tracing::warn!(file = %level.path, %error, "A memory file cannot be read; the \
                    conversation is told so");
                Found::Unreadable(error.to_string())
            }
        };
        found.push((level, text));
    }
    Ok(render(&found, shown))
}

/// The documents to append for these files.
#[must_use]
pub fn render(found: &[(Level, Found)], shown: &Shown) -> Vec<Part> {
    let gone = shown
        .0
        .iter()
        .filter(|(path, _)| levels::is_level(path))
        .filter(|(path, _)| found.iter().all(|(level, _)| level.path != **path))
        .filter_map(|(path, last)| farewell(path, Some(last)));
    let present = found.iter().filter_map(|(level, found)| {
        let last = shown.0.get(&level.path);
        match found {
            Found::Unreadable(why) => unreadable(&level.path, why, last),
            Found::Text(None) => farewell(&level.path, last),
            Found::Text(Some(text)) if is_empty(text) => farewell(&level.path, last),
            Found::Text(Some(text)) => copy(level, text, last),
        }
    });
    gone.chain(present).collect()
}

fn is_empty(text: &str) -> bool {
    Entries::parse(text).as_slice().is_empty()
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The one line for a file that is empty, gone or out of scope. Nothing where no copy stands.
fn farewell(path: &str, last: Option<&Copy>) -> Option<Part> {
    let text = format!("{path} is now empty; ignore the earlier copy.");
    if last?.text == text { None } else { Some(document(path, None, false, text)) }
}

fn unreadable(path: &str, why: &str, last: Option<&Copy>) -> Option<Part> {
    let text = format!(
        "{why}. What it holds now is not known, and it cannot be written; an earlier copy may be out \
         of date. If it matters, tell the owner: {}.",
        mend_unreadable(why)
    );
    if last.is_some_and(|last| last.text == text) {
        return None;
    }
    Some(document(path, None, false, text))
}

fn copy(level: &Level, text: &str, last: Option<&Copy>) -> Option<Part> {
    let hash = hash(text);
    if last.is_some_and(|last| last.hash.as_deref() == Some(hash.as_str())) {
        return None;
    }
    let (heading, body, cut) = match level.shape {
        Shape::Bounded(target) => bounded(target, &level.path, text),
        Shape::Free => free(&level.path, text),
    };
    let opening = match last {
        None => level.path.clone(),
        Some(_) => format!("{} has changed: this copy replaces the earlier one.", level.path),
    };
    let text = format!("{opening}\n{BAR}\n{heading}\n{BAR}\n{body}");
    Some(document(&level.path, Some(hash), cut, text))
}

fn document(path: &str, hash: Option<String>, cut: bool, text: String) -> Part {
    Part::Document { path: path.to_owned(), hash, cut, text }
}

/// Heading, body, and whether the body is only a part.
fn bounded(target: Target, path: &str, text: &str) -> (String, String, bool) {
    let entries = Entries::parse(text);
    let name = match target {
        Target::User => "USER PROFILE (who the user is)",
        Target::Memory => "MEMORY (your personal notes)",
    };
    let limit = target.limit();
    let heading = format!("{name} [{}]", fill(entries.chars(), limit));
    let shown = screen::shown(entries.as_slice().iter().map(String::as_str));
    let body = Entries::of(shown).joined();
    let chars = body.chars().count();
    if entries.chars() <= limit || chars <= limit {
        return (heading, body, false);
    }
    // Two thirds from the start, the rest from the end.
    let tail = limit / 3;
    let head = limit - tail;
    let note = format!(
        "[… {} characters of {path} are left out here: by hand it was filled past its limit of {}. It \
         is not empty, and nothing of it is lost. Tell the owner: shorten it, or split it into entries \
         with lines of only §. …]",
        thousands(chars - limit),
        thousands(limit),
    );
    (heading, middle_out(&body, head, tail, &note), true)
}

/// The first `head` and the last `tail` characters, with a note between them.
pub(crate) fn middle_out(text: &str, head: usize, tail: usize, note: &str) -> String {
    let skip = text.chars().count().saturating_sub(tail);
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(skip).collect();
    format!("{first}\n{note}\n{last}")
}

fn free(path: &str, text: &str) -> (String, String, bool) {
    let text = text.trim_start_matches('\u{feff}');
    let heading =
        format!("SHARED MEMORY (what the whole home agreed) [{} bytes]", thousands(text.len()));
    let whole = screen::shown_markdown(text);
    let whole = whole.trim_end();
    let kept = cut_lines(whole);
    if kept.len() == whole.len() {
        return (heading, whole.to_owned(), false);
    }
    let note = format!(
        "[… the rest of {path} is left out here: {} of {} lines are shown. …]",
        thousands(kept.lines().count()),
        thousands(whole.lines().count()),
    );
    (heading, format!("{}\n{note}", kept.trim_end()), true)
}

/// The first lines that are loaded, whole ones, unless the first alone is too long.
fn cut_lines(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(FREE_LINES) {
        if end + line.len() > FREE_BYTES {
            break;
        }
        end += line.len();
    }
    if end == 0 { &text[..text.floor_char_boundary(FREE_BYTES)] } else { &text[..end] }
}

#[cfg(test)]
mod tests;
