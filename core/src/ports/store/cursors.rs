//! How far the history of a chat was read, for platforms that keep one and do not say what was missed.

use crate::event::ChatKind;
use crate::ids::PlatformChat;

/// A chat's history up to a message: all of it was stored, or was there before anybody listened. It
/// moves forward only, and by no message that merely came in: what was missed lies before those.
/// An adapter may keep one more of its own, under an id that no chat of its platform has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The chat.
    pub chat: PlatformChat,
    /// Whether it is one that no list of the platform's names (a DM).
    pub kind: ChatKind,
    /// The last message of it, by the platform's order.
    pub read_up_to: i64,
}
