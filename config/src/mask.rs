//! Makes text safe to show in an error: what may be a token or a key is masked, since people paste
//! them into the wrong line, and a quoted line goes to logs and issue trackers.

const MASK: &str = "…";
/// Tokens and keys of all providers are at least this long; most names are shorter.
const LONG: usize = 20;
/// Names are made of words. A piece this long with digits in it, without a dash or underscore, is none.
const LONG_PIECE: usize = 16;
/// Longer values are cut in errors, in characters.
const SHOWN: usize = 80;
/// Longer lines are cut in errors, in bytes.
const LONGEST_LINE: usize = 400;

/// A value in an error: one line, in backticks, cut, masked.
pub(crate) fn value(text: &str) -> String {
    let masked = runs(text);
    let mut shown: String =
        masked.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(SHOWN).collect();
    if masked.chars().count() > SHOWN {
        shown.push_str(MASK);
    }
    format!("`{shown}`")
}

/// A line of a file: the value of a key that sounds like a secret goes, and every run of characters
/// that looks like one.
pub(crate) fn line(text: &str) -> String {
    if text.len() > LONGEST_LINE {
        let end = text.floor_char_boundary(LONGEST_LINE);
        // Not within a run: half a token would look like none.
        return format!("{} {MASK}", line(text[..end].trim_end_matches(part_of_run)));
    }
    let secret_from = text.match_indices(['=', ':']).find_map(|(at, _)| {
        let key = text[..at].rsplit(['{', ',', '.', '[']).next().unwrap_or_default();
        let rest = text[at + 1..].trim_start().trim_start_matches(['"', '\'']);
        let refers = ["env:", "secret:", "file:"].iter().any(|prefix| rest.starts_with(prefix));
        (sounds_secret(key) && !refers && !rest.is_empty()).then_some(at + 1)
    });
    match secret_from {
        Some(at) => format!("{} {MASK}", runs(&text[..at])),
        None => runs(text),
    }
}

fn sounds_secret(key: &str) -> bool {
    let key = key.trim().trim_matches(['"', '\'']).to_lowercase();
    // A key is one word: a sentence that mentions a token is none.
    !key.contains(char::is_whitespace)
        && ["token", "key", "secret", "passw"].iter().any(|word| key.contains(word))
}

fn part_of_run(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '+')
}

/// Masks runs of letters and digits that are as long as a token.
pub(crate) fn runs(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(part_of_run) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !part_of_run(c)).unwrap_or(from.len());
        let (run, after) = from.split_at(end);
        shown.push_str(before);
        shown.push_str(if looks_secret(run) { MASK } else { run });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn looks_secret(run: &str) -> bool {
    let name = ["env:", "secret:", "file:"].iter().find_map(|p| run.strip_prefix(p)).unwrap_or(run);
    let is_variable =
        name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
    let has = |text: &str, test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    let digits_and_letters =
        |text: &str| has(text, u8::is_ascii_digit) && has(text, u8::is_ascii_alphabetic);
    let random = |piece: &str| piece.len() >= LONG_PIECE && digits_and_letters(piece);
    let mixed = has(name, u8::is_ascii_uppercase) && has(name, u8::is_ascii_lowercase);
    name.len() >= LONG
        && !is_variable
        && digits_and_letters(name)
        && (mixed || name.split(['_', '-', ':', '+']).any(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";

    #[test]
    fn a_token_is_masked_wherever_it_was_pasted() {
        for text in [
            format!("token = \"{TOKEN}\""),
            format!("token = \"{TOKEN}"),
            format!("timezone = \"{TOKEN}\""),
            format!("token = \"env:{TOKEN}\""),
            format!("a = {{ api_key = \"{TOKEN}\", x = 1 }}"),
            TOKEN.to_owned(),
        ] {
            assert!(!line(&text).contains("AAHdq"), "{}", line(&text));
            assert!(!value(&text).contains("AAHdq"), "{}", value(&text));
        }
    }

    #[test]
    fn a_short_secret_is_masked_after_its_key() {
        assert_eq!(line("api_key = \"hunter2\""), "api_key = …");
        assert_eq!(line("x = { api_key = 'hunter2' }"), "x = { api_key = …");
        assert_eq!(line("\"bot token\" = 5"), "\"bot token\" = 5");
    }

    #[test]
    fn names_of_secrets_and_ordinary_lines_are_shown() {
        for text in [
            "token = \"env:ATLAS_TELEGRAM_TOKEN_2\"",
            "token = \"secret:telegram\"",
            "timezone = \"America/Argentina/Buenos_Aires\"",
            "chat = \"-1001234567890123456789\"",
            "token = \"file:/run/secrets/atlas_telegram_token_v2\"",
            "model = \"some-provider/some-model-5-20260101\"",
            "base_url = \"http://127.0.0.1:11434/v1\"",
        ] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn a_long_line_is_cut_and_never_within_a_token() {
        for filler in 340..400 {
            let shown = line(&format!("a = \"{}\", b = \"{TOKEN}\"", "é ".repeat(filler / 3)));
            assert!(shown.len() < 420 && !shown.contains("AAHd"), "{shown}");
        }
        let whole_line_is_one_run = "a1".repeat(300);
        assert_eq!(line(&whole_line_is_one_run), " …");
    }

    #[test]
    fn a_value_is_one_line_and_cut() {
        assert_eq!(value("a\nb"), "`a\u{fffd}b`");
        assert_eq!(value(&"ab ".repeat(60)).chars().count(), 83);
    }
}
