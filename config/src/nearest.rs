//! The nearest of the right words to a wrong one.

/// Below this likeness (0 to 1) nothing is near.
const NEAR: f64 = 0.65;
/// At least this share of the letters must stay: words that only begin alike are not near.
const STAYS: f64 = 0.4;
/// The likeness of a word that holds the right one whole: `groupAllowFrm`, `allow`.
const HOLDS: f64 = 0.9;

/// The candidate most like `word`, if any is like it at all. Case, dashes, dots and underscores do
/// not count.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = even(word);
    candidates
        .into_iter()
        .map(|candidate| (likeness(&word, &even(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR)
        // The first of equals, so that the same mistake is answered alike every time.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, candidate)| candidate)
}

fn likeness(word: &str, candidate: &str) -> f64 {
    let stays = strsim::normalized_damerau_levenshtein(word, candidate);
    // The one favours words that begin alike, the other knows letters that changed places.
    let alike = if stays >= STAYS { strsim::jaro_winkler(word, candidate).max(stays) } else { 0.0 };
    let holds = candidate.len() > 2 && word.contains(candidate)
        || word.len() > 2 && candidate.contains(word);
    if holds { alike.max(HOLDS) } else { alike }
}

fn even(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '-' | '_' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant() {
        let account = ["platform", "token", "bot", "api_base", "allow"];
        for (slip, meant) in [
            ("groupAllowFrm", "allow"),
            ("tokne", "token"),
            ("apiBase", "api_base"),
            ("botToken", "token"),
            ("Platfrom", "platform"),
            ("bto", "bot"),
        ] {
            assert_eq!(nearest(slip, account), Some(meant), "{slip}");
        }
        assert_eq!(
            nearest("Sao_Paulo", ["America/Lima", "America/Sao_Paulo"]),
            Some("America/Sao_Paulo")
        );
    }

    #[test]
    fn what_is_like_nothing_has_no_nearest() {
        assert_eq!(nearest("xyz", ["platform", "token"]), None);
        assert_eq!(nearest("refesh", ["routes"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
