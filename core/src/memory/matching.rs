//! Finding the entry that a short piece of it names.

/// What a piece of text names among the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The entry at this place.
    At(usize),
    /// Only a part of this entry of several lines: replacing it whole would lose the rest.
    PartOf(usize),
    /// Entries that differ; which one is meant cannot be told.
    Ambiguous(Vec<usize>),
    /// None. The closest ones, the best first.
    Nothing(Vec<usize>),
}

/// How many of the closest entries are named.
const CLOSEST: usize = 2;

/// Finds the entry: an equal one first, then those that contain the piece, then both again with
/// quotes, dashes and spaces evened out, since models retype them.
#[must_use]
pub fn find(entries: &[&str], piece: &str) -> Found {
    let even_piece = even(piece);
    if even_piece.is_empty() {
        return Found::Nothing(Vec::new());
    }
    let evened: Vec<String> = entries.iter().map(|entry| even(entry)).collect();
    let places = |test: &dyn Fn(usize) -> bool| (0..entries.len()).filter(|&at| test(at)).collect();
    let rounds: [Vec<usize>; 4] = [
        places(&|at| entries[at] == piece),
        places(&|at| entries[at].contains(piece)),
        places(&|at| evened[at] == even_piece),
        places(&|at| evened[at].contains(&even_piece)),
    ];
    let Some(matches) = rounds.into_iter().find(|matches| !matches.is_empty()) else {
        return Found::Nothing(closest(&evened, &even_piece));
    };
    let first = matches[0];
    if matches.iter().any(|&at| entries[at] != entries[first]) {
        return Found::Ambiguous(matches);
    }
    let whole = evened[first] == even_piece;
    if entries[first].contains('\n') && !whole { Found::PartOf(first) } else { Found::At(first) }
}

/// The text with quotes, dashes and spaces evened out, in one line.
#[must_use]
pub fn even(text: &str) -> String {
    let mut evened = String::with_capacity(text.len());
    for word in text.split(is_space) {
        if word.is_empty() {
            continue;
        }
        if !evened.is_empty() {
            evened.push(' ');
        }
        evened.extend(word.chars().map(plain));
    }
    evened
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

fn plain(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{00b4}' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{00ab}' | '\u{00bb}' | '\u{ff02}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        other => other,
    }
}

fn closest(evened: &[String], piece: &str) -> Vec<usize> {
    let piece = piece.to_lowercase();
    let mut ranked: Vec<(usize, f64)> = evened
        .iter()
        .enumerate()
        .map(|(at, entry)| (at, strsim::sorensen_dice(&entry.to_lowercase(), &piece)))
        .filter(|(_, score)| *score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.into_iter().take(CLOSEST).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_equal_entry_wins_over_those_that_contain_it() {
        assert_eq!(find(&["likes tea and milk", "likes tea"], "likes tea"), Found::At(1));
    }

    #[test]
    fn a_piece_finds_the_only_entry_that_contains_it() {
        assert_eq!(find(&["the printer takes only PDF", "tea"], "printer"), Found::At(0));
    }

    #[test]
    fn retyped_quotes_dashes_and_spaces_are_evened_out() {
        let entries = ["says “no — thanks”\u{a0}often", "tea"];
        assert_eq!(find(&entries, "\"no - thanks\" often"), Found::At(0));
        assert_eq!(find(&["it's  fine"], "it\u{2019}s fine"), Found::At(0));
    }

    #[test]
    fn an_exact_piece_wins_over_an_evened_one() {
        assert_eq!(find(&["a — b", "a - b, c"], "a - b"), Found::At(1));
    }

    #[test]
    fn equal_entries_are_no_ambiguity() {
        assert_eq!(find(&["x", "tea", "tea"], "te"), Found::At(1));
    }

    #[test]
    fn different_entries_are_one() {
        assert_eq!(find(&["green tea", "black tea", "x"], "tea"), Found::Ambiguous(vec![0, 1]));
    }

    #[test]
    fn a_part_of_an_entry_of_several_lines_is_not_the_entry() {
        let entries = ["one\ntwo\nthree", "four"];
        assert_eq!(find(&entries, "two"), Found::PartOf(0));
        assert_eq!(find(&entries, "one\ntwo\nthree"), Found::At(0));
        assert_eq!(find(&entries, "one two  three"), Found::At(0));
    }

    #[test]
    fn what_matches_nothing_names_the_closest() {
        let entries = ["the office printer takes only PDF", "likes tea", "likes coffee"];
        assert_eq!(find(&entries, "likes te4"), Found::Nothing(vec![1, 2]));
        assert_eq!(find(&entries, "  "), Found::Nothing(vec![]));
        assert_eq!(find(&[], "x"), Found::Nothing(vec![]));
    }

    proptest! {
        #[test]
        fn any_piece_of_any_entry_is_found_or_told_apart(
            entries in prop::collection::vec(".{1,12}", 1..5), piece in ".{0,4}"
        ) {
            let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
            match find(&entries, &piece) {
                Found::At(at) | Found::PartOf(at) => prop_assert!(at < entries.len()),
                Found::Ambiguous(places) => prop_assert!(places.len() > 1),
                Found::Nothing(_) => prop_assert!(
                    piece.trim().is_empty() || entries.iter().all(|entry| !entry.contains(&piece))
                ),
            }
        }
    }
}
