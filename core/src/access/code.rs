//! Pairing codes: what they look like, how they are made, and what of them is stored.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The characters of a pairing code: no letter that looks like a digit.
pub const PAIRING_ALPHABET: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Characters of a pairing code.
pub const PAIRING_LENGTH: usize = 8;

/// A new code of [`PAIRING_LENGTH`] characters, all equally likely, that can be told from a word.
#[must_use]
pub fn new_pairing_code() -> String {
    loop {
        let code: String = random_letters().take(PAIRING_LENGTH).collect();
        if looks_like_pairing_code(&code) {
            return code;
        }
    }
}

/// Letters of the alphabet without end, from the system's randomness.
fn random_letters() -> impl Iterator<Item = char> {
    let alphabet = PAIRING_ALPHABET.as_bytes();
    std::iter::repeat_with(Uuid::new_v4)
        // Bytes 6 and 8 of a version 4 uuid are not all random.
        .flat_map(|uuid| {
            let mut bytes = uuid.into_bytes().into_iter().enumerate();
            std::iter::from_fn(move || bytes.find(|(at, _)| *at != 6 && *at != 8))
        })
        // A byte beyond the last whole round would make the first letters likelier.
        .filter(move |(_, byte)| usize::from(*byte) < 256 - 256 % alphabet.len())
        .map(move |(_, byte)| char::from(alphabet[usize::from(byte) % alphabet.len()]))
}

/// A code as its hash: case, spaces and dashes do not count. Only this is stored.
#[must_use]
pub fn pairing_hash(code: &str) -> String {
    hex(&Sha256::digest(pairing_letters(code).as_bytes()))
}

/// Whether a message can be a pairing code: eight of its characters and nothing else, one of them a
/// digit (so that ordinary words are not looked up).
#[must_use]
pub fn looks_like_pairing_code(text: &str) -> bool {
    if text.len() > 32 {
        return false;
    }
    let letters = pairing_letters(text);
    letters.chars().count() == PAIRING_LENGTH
        && letters.chars().all(|letter| PAIRING_ALPHABET.contains(letter))
        && letters.chars().any(|letter| letter.is_ascii_digit())
}

fn pairing_letters(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '-').flat_map(char::to_uppercase).collect()
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_pairing_code_is_found_however_it_is_typed() {
        assert_eq!(pairing_hash("ABCD-2345"), pairing_hash(" abcd 2345\n"));
        assert!(looks_like_pairing_code("abcd 2345"));
        for text in ["ABCDEFGH", "ABCD-234", "ABCD-23456", "I0I0-2345", "", "hello there"] {
            assert!(!looks_like_pairing_code(text), "{text}");
        }
    }

    #[test]
    fn every_code_can_be_recognised_and_none_comes_twice() {
        let codes: BTreeSet<String> = (0..500).map(|_| new_pairing_code()).collect();
        assert_eq!(codes.len(), 500);
        assert!(codes.iter().all(|code| looks_like_pairing_code(code)));
    }

    #[test]
    fn every_letter_of_the_alphabet_is_used() {
        let letters: BTreeSet<char> = random_letters().take(5000).collect();
        assert_eq!(letters, PAIRING_ALPHABET.chars().collect());
    }
}
