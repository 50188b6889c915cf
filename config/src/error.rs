//! What is wrong with a configuration: each error is one line of what and one of how to mend it,
//! and they come all at once.

use std::fmt;

use crate::place::Place;

/// One error: where, what, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Error {
    /// Where.
    pub place: Place,
    /// What is wrong, in one line, without a full stop.
    pub what: String,
    /// How to mend it, in one line.
    pub mend: String,
}

impl Error {
    pub(crate) fn new(place: Place, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { place, what: what.into(), mend: mend.into() }
    }

    /// The error for a person at a terminal: with the offending line and a mark under it.
    #[must_use]
    pub fn render(&self) -> String {
        let Place::File { line, column, width, shown, .. } = &self.place else {
            return self.to_string();
        };
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        // The line may be shorter than it was: a secret in it is masked.
        let left = (column - 1).min(shown.chars().count());
        let marked = (*width).min(shown.chars().count().saturating_sub(left)).max(1);
        // A tab stays a tab, so that the mark stands below what it marks.
        let indent: String =
            shown.chars().take(left).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let mark = "^".repeat(marked);
        format!(
            "{}: {}\n  {number} | {shown}\n  {gutter} | {indent}{mark}\n  {}",
            self.place, self.what, self.mend
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  {}", self.place, self.what, self.mend)
    }
}

impl std::error::Error for Error {}

/// All errors of a configuration, never none, sorted by file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Vec<Error>);

impl Errors {
    /// The errors in order, each once.
    pub(crate) fn sorted(mut errors: Vec<Error>) -> Self {
        errors.sort();
        errors.dedup();
        Self(errors)
    }

    /// The errors: of files by path and line, then of folders, then of the environment.
    #[must_use]
    pub fn as_slice(&self) -> &[Error] {
        &self.0
    }

    /// The errors for a person at a terminal, a blank line between them.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.iter().map(Error::render).collect::<Vec<_>>().join("\n\n")
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}
