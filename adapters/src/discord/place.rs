//! Discord's places as opaque ids: a DM, a channel, a thread and a server are each their number.
//!
//! The only gate between the two; used on the way in and on the way out. Numbers are snowflakes:
//! they hold the moment at which they were made.

use atlas_core::ids::PlatformChat;
use chrono::{DateTime, Utc};
use serenity::model::id::ChannelId;

/// 2015-01-01, where Discord's time begins, in milliseconds since 1970.
const EPOCH: i64 = 1_420_070_400_000;

/// The id that core keeps.
pub(super) fn chat(id: u64) -> PlatformChat {
    PlatformChat(id.to_string())
}

/// The channel behind an id. None for what no Discord account has made.
pub(super) fn channel(id: &PlatformChat) -> Option<ChannelId> {
    number(id.as_str()).map(ChannelId::new)
}

/// A snowflake as it is written. Zero is none.
pub(super) fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number > 0)
}

/// A snowflake as core orders messages by it; it outgrows this in the year 2084.
pub(super) fn order(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// When it was made, by Discord's clock.
pub(super) fn made_at(id: u64) -> DateTime<Utc> {
    let ms = order(id) / (1 << 22) + EPOCH;
    DateTime::from_timestamp_millis(ms).unwrap_or(DateTime::UNIX_EPOCH)
}

/// The smallest id that can be made at this moment.
pub(super) fn first_at(at: DateTime<Utc>) -> u64 {
    let ms = at.timestamp_millis().saturating_sub(EPOCH).max(0);
    u64::try_from(ms).unwrap_or_default().saturating_mul(1 << 22)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again_by_its_id() {
        assert_eq!(channel(&chat(42)), Some(ChannelId::new(42)));
        for strange in ["", "0", "-1", "#general", "99999999999999999999999"] {
            assert_eq!(channel(&strange.into()), None, "{strange}");
        }
    }

    #[test]
    fn a_snowflake_holds_its_moment() {
        // The example of Discord's documentation.
        let id = 175_928_847_299_117_063;
        assert_eq!(made_at(id).to_rfc3339(), "2016-04-30T11:18:25.796+00:00");
        assert!(first_at(made_at(id)) <= id && made_at(first_at(made_at(id))) == made_at(id));
        assert_eq!(order(u64::MAX), i64::MAX);
    }
}
