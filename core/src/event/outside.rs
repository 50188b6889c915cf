//! Words in a message that its sender did not write, as every platform's adapter puts them there: on
//! one line, in square brackets that nothing within can close.

use super::Addressed;

/// Characters of an answered message that are carried along.
const MOST: usize = 1_000;

/// Characters of the name of whoever wrote it.
const MOST_OF_A_NAME: usize = 64;

/// What a message answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// `[in reply to Bo: the words]`.
    line: String,
    /// Somebody else than the sender of the message, and than the bot, wrote the words.
    outside: bool,
}

impl Answered {
    /// These words of this person's. None where there are none.
    #[must_use]
    pub fn new(whom: &str, said: &str, outside: bool) -> Option<Self> {
        let (whom, said) = (line_of(whom, MOST_OF_A_NAME), line_of(said, MOST));
        let whom = if whom.is_empty() { "somebody" } else { &whom };
        (!said.is_empty()).then(|| Self { line: format!("[in reply to {whom}: {said}]"), outside })
    }
}

/// What a message says, with what it answers in front of it, and whether it holds outside words. A line
/// said nearby goes without: the lines around it say what it answers.
#[must_use]
pub fn with_answered(
    answered: Option<Answered>,
    addressed: Addressed,
    (said, outside): (String, bool),
) -> (String, bool) {
    match answered.filter(|_| addressed != Addressed::No) {
        Some(answered) => (format!("{}\n{said}", answered.line), outside || answered.outside),
        None => (said, outside),
    }
}

/// The first characters on one line, without brackets: names are of any length and may try to end
/// their bracket.
#[must_use]
pub fn line_of(text: &str, most: usize) -> String {
    let kept = |c: char| if c.is_control() || matches!(c, '[' | ']') { ' ' } else { c };
    let cut = if text.chars().nth(most).is_some() { "…" } else { "" };
    let line: String = text.chars().map(kept).take(most).collect();
    format!("{}{cut}", line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A file's size: `120 KB`, `2.1 MB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_within_closes_its_bracket_or_leaves_its_line() {
        let answered = Answered::new("B]o\n", "the [words]\nand more", true).unwrap();
        let said = with_answered(Some(answered), Addressed::Replied, ("why?".to_owned(), false));
        assert_eq!(said, ("[in reply to B o: the words and more]\nwhy?".to_owned(), true));
        assert_eq!(Answered::new("Bo", " \n[]", true), None);
        let nobody = Answered::new("\u{7}", &"x".repeat(1_001), false).unwrap();
        assert_eq!(nobody.line, format!("[in reply to somebody: {}…]", "x".repeat(1_000)));
    }

    #[test]
    fn a_line_said_nearby_goes_without() {
        let answered = Answered::new("Bo", "words", true);
        let said = with_answered(answered, Addressed::No, ("why?".to_owned(), false));
        assert_eq!(said, ("why?".to_owned(), false));
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [999, 120_400, 2_149_000].map(size);
        assert_eq!(sizes, ["999 B", "120 KB", "2.1 MB"]);
    }
}
