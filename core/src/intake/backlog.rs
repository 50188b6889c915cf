//! What was said while nobody listened, as a platform's history tells it later: the same door, for
//! messages that may be too old to be answered.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Intake;
use crate::event::Envelope;
use crate::ids::{AccountId, ChatKey, DeliveryId};
use crate::ports::{Accepted, Cursor, Disposition, Door, NewDelivery, NewInbox, StoreError};

/// The one line for messages that were too old.
const SKIPPED: &str = "I was away. What was written here before that is not answered any more if it is \
older than";

impl Intake {
    /// How far each chat of this account was read.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    pub async fn cursors(&self, account: &AccountId) -> Result<Vec<Cursor>, StoreError> {
        self.engine.store.cursors(account).await
    }

    /// Notes how far chats of this account are read. Cursors never move back.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: none has moved.
    pub async fn read_up_to(
        &self,
        account: &AccountId,
        cursors: &[Cursor],
    ) -> Result<(), StoreError> {
        self.engine.store.read_up_to(account, cursors).await
    }

    /// The time, by which a message is old.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.engine.clock.now()
    }

    /// Stores messages of a chat's history like [`Self::accept`]. What is older than `backlog` is kept
    /// and not answered; whoever would have been is told so in one line. `reading` names this reading
    /// of the history, so that the line comes once, whatever is repeated of it.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: nothing was stored.
    pub async fn accept_backlog(
        &self,
        events: Vec<Envelope>,
        backlog: Duration,
        reading: &str,
    ) -> Result<Vec<Accepted>, StoreError> {
        let home = self.engine.home();
        let oldest = self.engine.clock.now() - backlog;
        let mut rows = Vec::with_capacity(events.len());
        for event in events {
            let row = self.decide(&home, event).await?;
            rows.push(answerable(row, oldest, backlog, reading));
        }
        let accepted = self.engine.store.accept(&rows).await?;
        self.ring(&rows, &accepted);
        Ok(accepted)
    }
}

/// The row as it is stored where messages from before `oldest` are not answered.
fn answerable(row: NewInbox, oldest: DateTime<Utc>, backlog: Duration, reading: &str) -> NewInbox {
    let skipped = |place: ChatKey| skipped(place, backlog, reading);
    let (disposition, notice) = match row.disposition {
        Disposition::Turn { to, standing, inbound } if inbound.sent_at < oldest => {
            let notice = skipped(inbound.place(&row.account));
            (Disposition::Observed { to, standing, inbound }, notice)
        }
        Disposition::Command { inbound, .. } if inbound.sent_at < oldest => {
            let why = "a command from before the backlog".to_owned();
            (Disposition::Ignored { why }, skipped(inbound.place(&row.account)))
        }
        // What answers itself (a welcome, a code) is as old as its message.
        _ => return row,
    };
    // What is not answered counts against no limit.
    NewInbox { disposition, deliveries: vec![notice], door: Door::Open, ..row }
}

/// One and the same for one reading of one chat.
fn skipped(place: ChatKey, backlog: Duration, reading: &str) -> NewDelivery {
    let name = format!("skipped/{place}/{reading}");
    let mut id = [0; 16];
    for (byte, hash) in id.iter_mut().zip(Sha256::digest(name)) {
        *byte = hash;
    }
    let text = format!("{SKIPPED} {}; write again what still matters.", hours(backlog));
    NewDelivery { id: DeliveryId(Uuid::from_bytes(id)), ..NewDelivery::notice(place, text) }
}

/// `6 h`, `90 min`.
fn hours(time: Duration) -> String {
    match time.as_secs() / 60 {
        minutes if minutes % 60 == 0 => format!("{} h", minutes / 60),
        minutes => format!("{minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::access::Standing;
    use crate::audience::Audience;
    use crate::event::{Addressed, ChatKind, Inbound, Sender};
    use crate::ids::{BotId, Person};
    use crate::ports::{ConversationKey, ConversationSpec};

    /// A guest's message, which counts.
    fn counted(sent_at: DateTime<Utc>) -> NewInbox {
        let by = Person { platform: "discord".into(), id: "7".into() };
        let inbound = Inbound {
            lineage: vec!["5".into()],
            kind: ChatKind::Group,
            chat_name: None,
            message: "1".into(),
            order: 1,
            sender: Sender { person: Some(by.clone()), name: "Bo".to_owned(), is_bot: false },
            text: "hello".to_owned(),
            outside: false,
            files: Vec::new(),
            addressed: Addressed::Directly,
            command: None,
            sent_at,
        };
        let place = inbound.place(&"dc".into());
        let key = ConversationKey::Chat(place.clone());
        let to = ConversationSpec { bot: BotId(1), key, audience: Audience::Shared };
        NewInbox {
            account: "dc".into(),
            platform: "discord".into(),
            key: "1".to_owned(),
            raw: "{}".to_owned(),
            accepted_by: "one".into(),
            at: DateTime::UNIX_EPOCH,
            disposition: Disposition::Turn { to, standing: Standing::Guest, inbound },
            deliveries: Vec::new(),
            door: Door::Counted { by, place, limits: Vec::new() },
        }
    }

    #[test]
    fn what_is_too_old_to_be_answered_counts_against_no_limit() {
        let oldest = DateTime::UNIX_EPOCH;
        let counts = |sent_at| {
            let row = answerable(counted(sent_at), oldest, Duration::from_secs(60), "r");
            matches!(row.door, Door::Counted { .. })
        };
        assert!(counts(oldest) && !counts(oldest - TimeDelta::seconds(1)));
    }
}
