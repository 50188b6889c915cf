//! A file's bytes as text, where they are that: UTF-8, or UTF-16 that says so at its beginning.

use std::str::from_utf8;

/// Said of a file without a word in it.
pub(super) const EMPTY: &str = "it is empty";

const NO_TEXT: &str = "it is no text";

/// The text of a file, or of its beginning where it is not `whole`: a character that was cut at the end
/// is left out. The mark that says how it was encoded is not part of it.
///
/// # Errors
///
/// Why there is none, in words that follow a colon.
pub(super) fn text_of(bytes: &[u8], whole: bool) -> Result<String, &'static str> {
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest, whole),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, whole, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, whole, u16::from_be_bytes),
        _ => utf8(bytes, whole),
    };
    match text {
        Some(text) if text.contains('\0') => Err(NO_TEXT),
        Some(text) if text.trim().is_empty() => Err(EMPTY),
        Some(text) => Ok(text),
        None => Err(NO_TEXT),
    }
}

fn utf8(bytes: &[u8], whole: bool) -> Option<String> {
    let text = match from_utf8(bytes) {
        Ok(text) => text,
        // Without a length the bytes end within a character.
        Err(error) if !whole && error.error_len().is_none() => {
            from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    Some(text.to_owned())
}

fn utf16(bytes: &[u8], whole: bool, unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, half) = bytes.as_chunks::<2>();
    let mut units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    if whole && !half.is_empty() {
        return None;
    }
    let first_half = |unit: &u16| (0xD800..0xDC00).contains(unit);
    if !whole && units.last().is_some_and(first_half) {
        units.pop();
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf16_bytes(text: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        mark.into_iter().chain(text.encode_utf16().flat_map(bytes)).collect()
    }

    /// One text in each of the forms that are read.
    fn forms(text: &str) -> [Vec<u8>; 4] {
        [
            text.as_bytes().to_vec(),
            [&[0xEF, 0xBB, 0xBF], text.as_bytes()].concat(),
            utf16_bytes(text, [0xFF, 0xFE], u16::to_le_bytes),
            utf16_bytes(text, [0xFE, 0xFF], u16::to_be_bytes),
        ]
    }

    #[test]
    fn what_is_no_text_or_nothing_is_said_to_be() {
        for (bytes, why) in [
            (&b""[..], EMPTY),
            (b" \r\n\t", EMPTY),
            (b"\xEF\xBB\xBF", EMPTY),
            (b"\xFF\xFE", EMPTY),
            (b"a\0b", NO_TEXT),
            (b"\x89PNG\r\n\x1a\n", NO_TEXT),
            (b"caf\xE9 au lait", NO_TEXT),
            (b"\xFF\xFEa", NO_TEXT),
            (b"\xFF\xFE\x00\xD8", NO_TEXT),
            (b"\xFF\xFE\x00\x00a\x00\x00\x00", NO_TEXT),
            (b"cut \xF0\x9F\xA6", NO_TEXT),
        ] {
            assert_eq!(text_of(bytes, true), Err(why), "{bytes:?}");
        }
        assert_eq!(text_of(b"caf\xE9 au lait", false), Err(NO_TEXT));
        assert_eq!(text_of(b"\x1b[31mred\r\n", true), Ok("\u{1b}[31mred\r\n".to_owned()));
    }

    proptest! {
        #[test]
        fn whatever_is_text_is_read_as_it_was_written(text in "\\PC{1,40}") {
            prop_assume!(!text.trim().is_empty() && !text.starts_with('\u{feff}'));
            for bytes in forms(&text) {
                prop_assert_eq!(text_of(&bytes, true), Ok(text.clone()));
            }
        }

        #[test]
        fn a_cut_shows_no_part_of_a_character(text in "[a🦀é日]{1,20}", cut in 0_usize..90) {
            for bytes in forms(&text) {
                let cut = cut.min(bytes.len());
                // Less than the mark is nothing that could be told apart.
                if let Ok(read) = text_of(&bytes[..cut], false) {
                    let whole = !read.contains(char::REPLACEMENT_CHARACTER);
                    prop_assert!(whole && text.starts_with(&read));
                } else {
                    prop_assert!(cut <= 6);
                }
            }
        }

        #[test]
        fn no_bytes_break_anything(bytes in prop::collection::vec(any::<u8>(), 0..80), whole: bool) {
            if let Ok(text) = text_of(&bytes, whole) {
                prop_assert!(!text.trim().is_empty() && !text.contains('\0'));
            }
        }
    }
}
