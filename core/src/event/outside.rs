//! Words in a message that its sender did not write, as every platform's adapter puts them there: on
//! one line, in square brackets that nothing within can close.

use super::Addressed;
use super::files::Attached;

/// Characters of an answered message that are carried along.
const MOST: usize = 1_000;

/// Characters of an answered message of the bot's own: enough to know it by, since it stands in the
/// conversation already, or did.
const MOST_OF_OWN: usize = 200;

/// Characters of the name of whoever wrote it.
const MOST_OF_A_NAME: usize = 64;

/// What a message answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// `[in reply to Bo: the words]`.
    line: String,
    /// Somebody else than the sender of the message, and than the bot, wrote the words.
    outside: bool,
    /// The files that came with them.
    files: Vec<Attached>,
}

impl Answered {
    /// These words of this person's. None where there are none.
    #[must_use]
    pub fn new(whom: &str, said: &str, outside: bool) -> Option<Self> {
        Self::up_to(MOST, whom, said, outside)
    }

    /// These words of the bot's own.
    #[must_use]
    pub fn own(said: &str) -> Option<Self> {
        Self::up_to(MOST_OF_OWN, "you", said, false)
    }

    fn up_to(most: usize, whom: &str, said: &str, outside: bool) -> Option<Self> {
        let (whom, said) = (line_of(whom, MOST_OF_A_NAME), line_of(said, most));
        let whom = if whom.is_empty() { "somebody" } else { &whom };
        let line = format!("[in reply to {whom}: {said}]");
        (!said.is_empty()).then_some(Self { line, outside, files: Vec::new() })
    }

    /// With the files that came with them, which are outside text whoever sent them.
    #[must_use]
    pub fn with_files(self, files: impl IntoIterator<Item = Attached>) -> Self {
        let files: Vec<Attached> = files.into_iter().collect();
        Self { outside: self.outside || !files.is_empty(), files, ..self }
    }
}

/// What a message holds, as an adapter read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its text.
    pub text: String,
    /// It holds words that its sender did not write.
    pub outside: bool,
    /// What may be text of the documents that came with it.
    pub files: Vec<Attached>,
}

impl Said {
    /// With what it answers in front of it, and the files of that. A line said nearby goes without: the
    /// lines around it say what it answers.
    #[must_use]
    pub fn answering(self, answered: Option<Answered>, addressed: Addressed) -> Self {
        let Some(answered) = answered.filter(|_| addressed != Addressed::No) else { return self };
        Self {
            text: format!("{}\n{}", answered.line, self.text),
            outside: self.outside || answered.outside,
            files: answered.files.into_iter().chain(self.files).collect(),
        }
    }
}

/// The first characters on one line, without brackets: names are of any length and may try to end
/// their bracket.
#[must_use]
pub fn line_of(text: &str, most: usize) -> String {
    let kept = |c: char| if c.is_control() || matches!(c, '[' | ']') { ' ' } else { c };
    let text: String = text.chars().filter(|c| !turns(*c)).collect();
    let cut = if text.chars().nth(most).is_some() { "…" } else { "" };
    let line: String = text.chars().map(kept).take(most).collect();
    format!("{}{cut}", line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Characters that are not seen and turn the direction of what stands behind them, its bracket too.
fn turns(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
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

    fn said(text: &str) -> Said {
        Said { text: text.to_owned(), ..Said::default() }
    }

    fn file(handle: &str) -> Attached {
        Attached { name: "a.txt".into(), size: None, media_type: None, handle: handle.into() }
    }

    #[test]
    fn nothing_within_closes_its_bracket_or_leaves_its_line() {
        let answered = Answered::new("B]o\n", "the [words]\nand more", true);
        let said = said("why?").answering(answered, Addressed::Replied);
        let text = "[in reply to B o: the words and more]\nwhy?".to_owned();
        assert_eq!(said, Said { text, outside: true, files: Vec::new() });
        assert_eq!(Answered::new("Bo", " \n[]", true), None);
        let nobody = Answered::new("\u{7}", &"x".repeat(1_001), false).unwrap();
        assert_eq!(nobody.line, format!("[in reply to somebody: {}…]", "x".repeat(1_000)));
        let own = Answered::own(&"x".repeat(201)).unwrap();
        assert_eq!(own.line, format!("[in reply to you: {}…]", "x".repeat(200)));
        assert!(!own.outside);
    }

    #[test]
    fn nothing_within_turns_what_stands_behind_it() {
        assert_eq!(line_of("\u{202e}txt.\u{2066}exe\u{200f}", 200), "txt.exe");
        assert_eq!(line_of("\u{5d0}\u{200d}\u{5d1}", 200), "\u{5d0}\u{200d}\u{5d1}");
    }

    #[test]
    fn the_files_of_what_is_answered_come_first_and_are_outside_text() {
        let answered = Answered::new("Bo", "[file a.txt]", false);
        let answered = answered.map(|answered| answered.with_files([file("1")]));
        let own = Said { files: vec![file("2")], ..said("why?") };
        let whole = own.answering(answered, Addressed::Directly);
        assert_eq!(whole.files, [file("1"), file("2")]);
        assert!(whole.outside);
    }

    #[test]
    fn a_line_said_nearby_goes_without() {
        let answered = Answered::new("Bo", "words", true).map(|it| it.with_files([file("1")]));
        assert_eq!(said("why?").answering(answered, Addressed::No), said("why?"));
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [999, 120_400, 2_149_000].map(size);
        assert_eq!(sizes, ["999 B", "120 KB", "2.1 MB"]);
    }
}
