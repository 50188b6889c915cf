//! Shown names. Anybody calls themselves what they like, so a name is made harmless before it stands
//! in a line of the gateway's own, and decides nothing.

/// Characters of a shown name.
const MOST: usize = 64;

/// A name on one line, without control and invisible characters, of at most 64 characters;
/// `somebody` where nothing is left.
#[must_use]
pub fn harmless_name(name: &str) -> String {
    let seen = name.chars().filter(|c| !c.is_control() && !is_invisible(*c)).take(MOST);
    let clean = seen.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    if clean.is_empty() { "somebody".to_owned() } else { clean }
}

/// Characters that change how a line reads without being seen.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(harmless_name("Eve\n\u{202e}\u{1b}[31mowner"), "Eve[31mowner");
        assert_eq!(harmless_name(" A  B "), "A B");
        assert_eq!(harmless_name("\u{200b}\n"), "somebody");
    }

    proptest! {
        #[test]
        fn of_any_name_is_left_one_short_line(name in any::<String>()) {
            let clean = harmless_name(&name);
            prop_assert!(!clean.is_empty() && clean.chars().count() <= MOST);
            prop_assert!(!clean.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert_eq!(clean.lines().count(), 1);
        }
    }
}
