//! Characters that nobody sees. Many scripts cannot be written without some of them, so each is
//! judged by its neighbours.

/// Whether a text holds characters that hide something.
pub(super) fn found(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let right_to_left = chars.iter().any(|&c| is_right_to_left(c));
    (0..chars.len()).any(|at| hides(&chars, at, right_to_left))
}

fn hides(chars: &[char], at: usize, right_to_left: bool) -> bool {
    let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
    let after = chars.get(at + 1).copied();
    match chars[at] {
        '\t' | '\n' | '\r' => false,
        // A byte-order mark is no text, and stands at most at a file's start.
        '\u{feff}' => at > 0,
        c if c.is_control() => true,
        // Joiners shape Arabic and Indic letters and bind emoji together.
        '\u{200c}' | '\u{200d}' => !before.is_some_and(takes_joiner),
        // Where words are not spaced, this marks their borders.
        '\u{200b}' => !(before.is_some_and(is_unspaced) || after.is_some_and(is_unspaced)),
        // Marks of direction are part of ordinary right-to-left text; overrides and isolates are not.
        '\u{200e}' | '\u{200f}' | '\u{061c}' => !right_to_left,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{180e}' => !before.is_some_and(|c| ('\u{1800}'..='\u{18af}').contains(&c)),
        c if is_variation(c) => {
            before.is_none_or(|before| is_variation(before) || before.is_ascii_alphabetic())
        }
        '\u{e0000}'..='\u{e007f}' => !in_flag(chars, at),
        _ => false,
    }
}

fn is_variation(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && c != '\u{061c}'
}

/// What may stand before a joiner: letters and marks of joining scripts, and emoji.
fn takes_joiner(c: char) -> bool {
    is_right_to_left(c)
        || matches!(c, '\u{0900}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1a20}'..='\u{1bff}'
            | '\u{a840}'..='\u{a8ff}' | '\u{a980}'..='\u{aaff}' | '\u{11000}'..='\u{11fff}')
        || is_emoji(c)
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{fe0f}' | '\u{20e3}' | '\u{1f000}'..='\u{1faff}')
}

/// Thai, Lao, Tibetan, Myanmar, Khmer, and the scripts of their neighbours.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1900}'..='\u{1a5f}'
        | '\u{a980}'..='\u{a9df}' | '\u{aa00}'..='\u{aadf}')
}

/// The flag of a part of a country is a black flag and up to six tags; any other tag hides text.
fn in_flag(chars: &[char], at: usize) -> bool {
    let is_tag = |c: &char| ('\u{e0020}'..='\u{e007f}').contains(c);
    let tags_before = chars[..at].iter().rev().take_while(|c| is_tag(c)).count();
    let flag = at.checked_sub(tags_before + 1).and_then(|at| chars.get(at));
    flag == Some(&'\u{1f3f4}') && tags_before <= 6 && is_tag(&chars[at])
}
