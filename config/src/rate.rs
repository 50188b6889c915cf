//! How many in which time: `20/h`, `100/d`, `10/5m`.

use std::time::Duration;

use atlas_core::access::Rate;

use crate::duration::parse_duration;

/// Reads a rate: a whole number from 1, a slash, and `m`, `h`, `d` or a duration of at least a second.
/// None for anything else.
pub(crate) fn parse_rate(text: &str) -> Option<Rate> {
    let (most, within) = text.split_once('/')?;
    if most.is_empty() || !most.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let most = most.parse().ok().filter(|&most: &u32| most > 0)?;
    let within = match within {
        "m" | "h" | "d" => parse_duration(&format!("1{within}"))?,
        within => parse_duration(within)?,
    };
    (within >= Duration::from_secs(1)).then_some(Rate { most, within })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_time() {
        for (text, most, seconds) in [
            ("20/h", 20, 3_600),
            ("100/d", 100, 86_400),
            ("1/m", 1, 60),
            ("10/5m", 10, 300),
            ("3/1h30m", 3, 5_400),
        ] {
            let rate = Rate { most, within: Duration::from_secs(seconds) };
            assert_eq!(parse_rate(text), Some(rate), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "20",
            "/h",
            "20/",
            "0/h",
            "-1/h",
            "+1/h",
            "20/x",
            "20 / h",
            "4294967296/h",
            "5/0s",
            "5/s",
        ] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }
}
