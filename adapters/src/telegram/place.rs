//! Telegram's places as opaque ids: a chat is its number, a topic is `<chat>:<thread>`.
//!
//! The only gate between the two; used by `decode` on the way in and `deliver` on the way out.

use atlas_core::ids::PlatformChat;

/// Where something is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Telegram's number of the chat.
    pub(super) chat: i64,
    /// The thread of a forum's topic. None for a chat without topics, and for the general one.
    pub(super) thread: Option<i32>,
}

impl Place {
    /// The id that core keeps.
    pub(super) fn id(self) -> PlatformChat {
        PlatformChat(match self.thread {
            Some(thread) => format!("{}:{thread}", self.chat),
            None => self.chat.to_string(),
        })
    }

    /// The place behind an id. None for what no Telegram account has made.
    pub(super) fn of(id: &PlatformChat) -> Option<Self> {
        match id.as_str().split_once(':') {
            None => Some(Self { chat: id.as_str().parse().ok()?, thread: None }),
            Some((chat, thread)) => {
                Some(Self { chat: chat.parse().ok()?, thread: Some(thread.parse().ok()?) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again_by_its_id() {
        for place in
            [Place { chat: 42, thread: None }, Place { chat: -1_001_234_567_890, thread: Some(55) }]
        {
            assert_eq!(Place::of(&place.id()), Some(place));
        }
        for strange in ["", "@channel", "1:x", "1:2:3"] {
            assert_eq!(Place::of(&strange.into()), None, "{strange}");
        }
    }
}
