//! How much somebody may ask of a home: so many messages in a sliding window. Counting them is the
//! store's.

use std::fmt;
use std::time::Duration;

/// So many messages in a window that slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The most that are answered in a window; at least 1.
    pub most: u32,
    /// The window's length.
    pub within: Duration,
}

/// One bot, where a route lets it in: two bots that answer each other are parted by this.
pub const OF_A_BOT: Rate = Rate { most: 20, within: Duration::from_secs(5 * 60) };

/// What everybody but the owner is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One guest, wherever they write (`limits.guest`).
    pub guest: Rate,
    /// All guests of one chat together (`limits.chat`).
    pub chat: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        let hour = Duration::from_secs(60 * 60);
        Self { guest: Rate { most: 20, within: hour }, chat: Rate { most: 60, within: hour } }
    }
}

impl fmt::Display for Rate {
    /// For a person: `20 messages an hour`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.most == 1 { "message" } else { "messages" };
        write!(f, "{} {noun} ", self.most)?;
        let seconds = self.within.as_secs();
        match seconds {
            60 => write!(f, "a minute"),
            3_600 => write!(f, "an hour"),
            86_400 => write!(f, "a day"),
            _ if seconds.is_multiple_of(86_400) => write!(f, "in {} days", seconds / 86_400),
            _ if seconds.is_multiple_of(3_600) => write!(f, "in {} hours", seconds / 3_600),
            _ if seconds.is_multiple_of(60) => write!(f, "in {} minutes", seconds / 60),
            _ => write!(f, "in {seconds} seconds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_as_a_person_says_it() {
        let rate = |most, seconds| Rate { most, within: Duration::from_secs(seconds) }.to_string();
        assert_eq!(Limits::default().guest.to_string(), "20 messages an hour");
        assert_eq!(OF_A_BOT.to_string(), "20 messages in 5 minutes");
        assert_eq!(rate(1, 86_400), "1 message a day");
        assert_eq!(rate(5, 7_200), "5 messages in 2 hours");
        assert_eq!(rate(5, 90), "5 messages in 90 seconds");
    }
}
