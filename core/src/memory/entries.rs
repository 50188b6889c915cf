//! The grammar of a bounded file: entries between lines that hold only `§`.
//!
//! A byte-order mark and Windows line ends are accepted and gone at the next write. Blank lines
//! around a separator belong to no entry, empty entries vanish, and a file ends with one newline.

/// What stands alone on the line between two entries.
pub const SEPARATOR: &str = "§";

/// What joins two entries, and counts towards the limit.
const JOINT: &str = "\n§\n";

/// A byte-order mark, which editors put at a file's start.
const BOM: char = '\u{feff}';

/// The entries of a bounded file, in order. None is blank, none holds a separator line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(Vec<String>);

impl Entries {
    /// Reads any text. Never fails: a text without separators is one entry.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = unix_lines(text);
        let entries = text
            .split('\n')
            .collect::<Vec<_>>()
            .split(|line| is_separator(line))
            .map(without_blank_edges)
            .filter(|entry| !entry.is_empty())
            .collect();
        Self(entries)
    }

    /// Entries that are known to be well formed.
    #[must_use]
    pub(crate) fn of(entries: Vec<String>) -> Self {
        Self(entries)
    }

    /// The entries.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// As they stand in the prompt: joined, without a final newline.
    #[must_use]
    pub fn joined(&self) -> String {
        self.0.join(JOINT)
    }

    /// As they stand in the file.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = self.joined();
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// Unicode scalar values of the entries joined: what the limit counts.
    #[must_use]
    pub fn chars(&self) -> usize {
        joined_chars(self.0.iter().map(|entry| entry.chars().count()))
    }
}

/// The length of entries of these lengths, joined.
#[must_use]
pub fn joined_chars(lengths: impl IntoIterator<Item = usize>) -> usize {
    lengths
        .into_iter()
        .map(|length| length + JOINT_CHARS)
        .sum::<usize>()
        .saturating_sub(JOINT_CHARS)
}

/// Characters that an entry costs beside its own, where it has a neighbour.
pub const JOINT_CHARS: usize = 3;

/// An entry made of what somebody wants to add: Unix line ends, nothing blank around it.
#[must_use]
pub fn clean(content: &str) -> String {
    bare(&unix_lines(content)).to_owned()
}

/// Whether a line of it would be read as a separator.
#[must_use]
pub fn holds_separator(content: &str) -> bool {
    unix_lines(content).split('\n').any(is_separator)
}

/// How full a file is: `9% — 132/1,375 chars`. Per cents are rounded down.
#[must_use]
pub fn fill(chars: usize, limit: usize) -> String {
    format!("{}% — {}/{} chars", chars * 100 / limit, thousands(chars), thousands(limit))
}

/// A count as people write it: `2,200`.
#[must_use]
pub fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn unix_lines(text: &str) -> String {
    text.trim_start_matches(BOM).replace("\r\n", "\n").replace('\r', "\n")
}

fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || c == BOM)
}

fn is_separator(line: &str) -> bool {
    bare(line) == SEPARATOR
}

/// The lines from the first to the last that hold anything, joined. The first keeps its indentation,
/// but no mark that another writer left at what was once a file's start.
fn without_blank_edges(lines: &[&str]) -> String {
    let held = |line: &&str| !bare(line).is_empty();
    let Some(first) = lines.iter().position(held) else { return String::new() };
    let last = lines.iter().rposition(held).unwrap_or(first);
    lines[first..=last].join("\n").trim_start_matches(BOM).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(text: &str) -> Vec<String> {
        Entries::parse(text).0
    }

    #[test]
    fn case_48_a_blank_line_before_a_separator_still_makes_two_entries() {
        assert_eq!(entries("a\n\n§\nb"), ["a", "b"]);
        assert_eq!(Entries::parse("a\n\n§\nb").render(), "a\n§\nb\n");
    }

    #[test]
    fn case_49_files_of_other_programs_are_accepted() {
        assert_eq!(entries("\u{feff}a\r\n§\r\nb\r\n"), ["a", "b"]);
        assert_eq!(entries("\u{feff}§\na"), ["a"]);
        assert_eq!(entries("a\r§\rb"), ["a", "b"]);
        assert_eq!(entries("a\n \t§ \nb\n\n\n"), ["a", "b"]);
        assert_eq!(entries("a\n\u{a0}§\u{3000}\nb"), ["a", "b"]);
    }

    #[test]
    fn only_a_line_of_its_own_separates() {
        assert_eq!(entries("see § 5\nand §§\n"), ["see § 5\nand §§"]);
        assert_eq!(entries("a § b"), ["a § b"]);
    }

    #[test]
    fn empty_entries_vanish() {
        assert_eq!(entries("§\n\n§\n  \n§\na\n§\n"), ["a"]);
        assert_eq!(entries(" \n§\n"), Vec::<String>::new());
        assert_eq!(Entries::parse("").render(), "");
    }

    #[test]
    fn an_entry_keeps_its_inner_blank_lines_and_its_indentation() {
        assert_eq!(entries("\n  - a\n\n  - b  \n\n§\nc"), ["  - a\n\n  - b  ", "c"]);
    }

    #[test]
    fn the_atlas_pages_examples_count_as_they_are_printed() {
        let profile = "Product designer; works remotely, in UTC-3.\n§\nPrefers short answers, the \
                       conclusion first; technical terms explained in plain words.\n";
        let notes = "Projects live in ~/Projects, one git repository each.\n§\nThe office printer \
                     takes only PDF: convert documents first.\n";
        assert_eq!(fill(Entries::parse(profile).chars(), 1_375), "9% — 132/1,375 chars");
        assert_eq!(fill(Entries::parse(notes).chars(), 2_200), "5% — 115/2,200 chars");
    }

    #[test]
    fn characters_are_unicode_scalar_values() {
        assert_eq!(Entries::parse("é👍🏽").chars(), 3);
        assert_eq!(Entries::parse("a\n§\nb\n").chars(), 5);
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(fill(2_199, 2_200), "99% — 2,199/2,200 chars");
    }

    /// Texts made of the pieces that matter.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\n".to_owned()),
            Just("\r\n".to_owned()),
            Just("\r".to_owned()),
            Just("§".to_owned()),
            Just("\u{feff}".to_owned()),
            Just(" ".to_owned()),
            Just("\u{2028}".to_owned()),
            "[a-cé§ ]{0,3}",
            ".{0,4}",
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_rendered_is_read_back_the_same(text in texts()) {
            let once = Entries::parse(&text);
            prop_assert_eq!(&Entries::parse(&once.render()), &once);
            }

        #[test]
        fn any_subset_of_entries_is_read_back_the_same(text in texts(), drop in 0_usize..6) {
            let mut entries = Entries::parse(&text).0;
            if drop < entries.len() {
                entries.remove(drop);
            }
            let rest = Entries::of(entries);
            prop_assert_eq!(Entries::parse(&rest.render()), rest);
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let entries = Entries::parse(&String::from_utf8_lossy(&bytes));
            prop_assert_eq!(entries.chars(), entries.joined().chars().count());
            prop_assert!(entries.0.iter().all(|entry| !entry.trim().is_empty()));
        }

        #[test]
        fn what_is_cleaned_is_one_entry_or_none(text in texts()) {
            let content = clean(&text);
            prop_assume!(!holds_separator(&content));
            let read = Entries::parse(&content).0;
            prop_assert!(read.len() <= 1);
            if let [entry] = read.as_slice() {
                prop_assert_eq!(entry, &content);
            }
        }
    }
}
