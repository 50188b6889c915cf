//! How long: `90s`, `15m`, `2h`, `1d`, `1h30m`.

use std::time::Duration;

/// The longest duration that makes sense in a configuration: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Reads a duration: whole numbers, each with its unit (`s`, `m`, `h`, `d`), the larger unit first,
/// without spaces. None for anything else, and for more than a year.
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(atlas_config::parse_duration("15m"), Some(Duration::from_secs(900)));
/// assert_eq!(atlas_config::parse_duration("1h30m"), Some(Duration::from_secs(5_400)));
/// assert_eq!(atlas_config::parse_duration("15"), None);
/// ```
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut total = 0_u64;
    let mut larger = u64::MAX;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = match rest.as_bytes().get(digits)? {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            _ => return None,
        };
        if unit >= larger {
            return None;
        }
        larger = unit;
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = &rest[digits + 1..];
    }
    let duration = Duration::from_secs(total);
    (!text.is_empty() && duration <= LONGEST).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_unit() {
        for (text, seconds) in [
            ("90s", 90),
            ("15m", 900),
            ("2h", 7_200),
            ("1d", 86_400),
            ("1h30m", 5_400),
            ("0s", 0),
            ("365d", 31_536_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "15",
            "m",
            "15 m",
            "15min",
            "1.5h",
            "-1m",
            "30m1h",
            "1m1m",
            "366d",
            "99999999999999999999s",
            "18446744073709551615d",
            "１５m",
            "15M",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
