//! Where in a file something stands: a byte offset becomes a line, a column and the line to show.
//! Whether what stands there is right is for others to say.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use crate::mask;

/// Where an error is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of a file.
    File {
        /// The file's path below the home.
        file: String,
        /// From 1. Never past the file's end.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// How many characters are meant, at least 1.
        width: usize,
        /// The line, with what may be a secret masked.
        shown: String,
    },
    /// A file or folder as a whole.
    Path(PathBuf),
    /// An environment variable.
    Variable(String),
}

impl Place {
    /// The line in its file, from 1; None where the place is no line.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::File { line, .. } => Some(*line),
            Self::Path(_) | Self::Variable(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column, .. } => write!(f, "{file}:{line}:{column}"),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// A file's text and its name in front of people.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    /// The path below the home.
    file: &'a str,
    /// What the file holds.
    pub(crate) text: &'a str,
    /// Where each line begins, so that a file of many keys is not counted through for each.
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    /// The text of the file at this path below the home.
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { file, text, starts: starts.collect() }
    }

    /// The place of these bytes. A range past the end, or none, is put at the nearest line there is.
    pub(crate) fn place(&self, span: Option<Range<usize>>) -> Place {
        let span = span.unwrap_or(0..0);
        let start = self.boundary(span.start.min(self.last()));
        let end = self.boundary(span.end.max(start));
        let line = self.starts.partition_point(|&at| at <= start);
        let line_start = self.starts.get(line - 1).copied().unwrap_or_default();
        let line_text = self.text[line_start..].lines().next().unwrap_or_default();
        let line_end = line_start + line_text.len();
        let within = self.text.get(start..end.min(line_end)).unwrap_or_default();
        Place::File {
            file: self.file.to_owned(),
            line,
            column: self.text[line_start..start].chars().count() + 1,
            width: within.chars().count().max(1),
            shown: mask::line(line_text),
        }
    }

    /// The last byte that still belongs to a line: a newline at the end opens no line of its own.
    fn last(&self) -> usize {
        self.text.strip_suffix('\n').unwrap_or(self.text).len()
    }

    fn boundary(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, span: Range<usize>) -> (usize, usize, usize) {
        match Text::new("atlas.toml", text).place(Some(span)) {
            Place::File { line, column, width, .. } => (line, column, width),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_count_characters_and_not_bytes() {
        assert_eq!(at("é = 1\nüü = ñ\n", 14..16), (2, 6, 1));
    }

    #[test]
    fn a_place_never_lies_past_the_last_line() {
        assert_eq!(at("a = 1\n", 6..6), (1, 6, 1));
        assert_eq!(at("a = 1\n", 90..99), (1, 6, 1));
        assert_eq!(at("", 0..0), (1, 1, 1));
    }

    #[test]
    fn what_spans_lines_is_marked_to_the_end_of_its_first() {
        assert_eq!(at("a = [\n1,\n]\n", 4..10), (1, 5, 1));
    }
}
