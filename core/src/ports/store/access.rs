//! Who may talk, as far as it is counted and remembered: the door of an event, and the people who
//! were let in.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::access::Rate;
use crate::ids::{ChatKey, Person};
use crate::ports::NewDelivery;

/// People who wait to be let in, at most. The oldest gives way.
pub const MOST_WAITING: u32 = 3;

/// How long a stranger is told nothing after a line with a code.
pub const BETWEEN_LINES: Duration = Duration::from_secs(24 * 60 * 60);

/// Wrong codes within an hour after which their sender is not listened to.
pub const WRONG_TRIES: u32 = 5;

/// What is looked at in the transaction that stores an event, before it is stored.
#[derive(Clone, Debug, Default)]
pub enum Door {
    /// Nothing: it is the owner's, or nobody answers it.
    #[default]
    Open,
    /// It counts, and is answered only below every limit. Over one it is kept all the same: a message
    /// as a line said nearby, a command as ignored; its deliveries are not sent.
    Counted {
        /// Whose it is.
        by: Person,
        /// Where it was written.
        place: ChatKey,
        /// At most one of each kind; the first that is reached holds.
        limits: Vec<Limit>,
    },
    /// A stranger's, who gets a line with a code unless one was told within [`BETWEEN_LINES`] or too
    /// many wrong codes came from them.
    Knock(PairingRequest),
}

/// A limit that an event is held to.
#[derive(Clone, Debug)]
pub struct Limit {
    /// What is counted.
    pub of: Counts,
    /// How many are answered in a window, which goes back from the event's own instant.
    pub rate: Rate,
    /// Told to the chat by the first event of a window that is over the limit, and by no other.
    pub notice: Option<NewDelivery>,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// What this person or bot wrote anywhere.
    Person,
    /// What anybody but the owner wrote in this chat.
    Chat,
}

/// Somebody who asks to be let in.
#[derive(Clone, Debug)]
pub struct PairingRequest {
    /// Who.
    pub person: Person,
    /// Their shown name, made harmless.
    pub name: String,
    /// The hash of the code.
    pub code_hash: String,
    /// Until when the code counts.
    pub expires: DateTime<Utc>,
    /// The line with the code; where it goes is where they are welcomed later.
    pub line: NewDelivery,
}

/// What came of a code that somebody gave in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// This person is a guest now (or the same code let them in before).
    LetIn(Guest),
    /// No such code, or too late, or used.
    Wrong,
    /// Too many wrong ones from this sender within the hour; the code was not even looked at.
    LockedOut,
}

/// Somebody who was let in by a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Who.
    pub person: Person,
    /// Their name when they asked.
    pub name: String,
    /// Since when.
    pub since: DateTime<Utc>,
}

/// Somebody who asked and was not let in yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who.
    pub person: Person,
    /// Their name when they asked.
    pub name: String,
    /// Where they asked.
    pub place: ChatKey,
    /// When.
    pub since: DateTime<Utc>,
}

/// Everybody who asked, or was let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guests {
    /// Those whose code counts still, the oldest first.
    pub waiting: Vec<Waiting>,
    /// Those who were let in, the oldest first.
    pub let_in: Vec<Guest>,
}
