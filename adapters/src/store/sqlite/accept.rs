//! The way in: events stored once, with the conversation and chat that they belong to.

use atlas_core::access::Standing;
use atlas_core::event::{ChatKind, Inbound};
use atlas_core::ids::{ConversationId, InboxId, PlatformChat};
use atlas_core::ports::{
    Accepted, ConversationKey, ConversationSpec, Counts, Disposition, Door, NewInbox,
    OBSERVED_WAITING, StoreError,
};
use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;

use super::error::store_error;
use super::limits::{Counted, Tally, over};
use super::line::Line;
use super::{chats, outbox, pairings};
use crate::store::sql::{Record, Word, json, micros};

/// The columns of the conversation's key: an account and a chat, both empty for the direct one.
pub(super) fn key_columns(key: &ConversationKey) -> (&str, &str) {
    match key {
        ConversationKey::Direct => ("", ""),
        ConversationKey::Chat(place) => (place.account.as_str(), place.chat.as_str()),
    }
}

/// Stores all of them. The caller's transaction makes it all or none.
pub(super) async fn accept(
    connection: &mut Line,
    events: &[NewInbox],
) -> Result<Vec<Accepted>, StoreError> {
    let mut answers = Vec::with_capacity(events.len());
    for event in events {
        answers.push(accept_one(connection, event).await?);
    }
    Ok(answers)
}

async fn accept_one(connection: &mut Line, event: &NewInbox) -> Result<Accepted, StoreError> {
    match &event.door {
        Door::Open => store(connection, event, None).await,
        Door::Counted { by, place, limits } => {
            store(connection, event, Some(Counted { event, by, place, limits })).await
        }
        Door::Knock(request) => {
            let accepted = store(connection, event, None).await?;
            if matches!(accepted, Accepted::Stored { .. }) {
                pairings::knock(connection, request, event.at).await?;
            }
            Ok(accepted)
        }
    }
}

/// Stores the event, and what goes out with it. Over a limit it is kept without being answered.
async fn store(
    connection: &mut Line,
    event: &NewInbox,
    counted: Option<Counted<'_>>,
) -> Result<Accepted, StoreError> {
    let Some(stored) = store_event(connection, event, counted.as_ref()).await? else {
        return Ok(Accepted::Duplicate);
    };
    let Stored { inbox, conversation, over } = stored;
    match counted.zip(over) {
        None => outbox::insert(connection, &event.deliveries, event.at).await?,
        Some((counted, over)) => {
            if let Some(notice) = counted.notice(connection, over, inbox).await? {
                outbox::insert(connection, std::slice::from_ref(notice), event.at).await?;
            }
        }
    }
    Ok(Accepted::Stored { inbox, conversation })
}

/// A row that was stored.
struct Stored {
    inbox: InboxId,
    conversation: Option<ConversationId>,
    /// The limit that it is over.
    over: Option<Counts>,
}

/// Stores the row. None where it is there already.
async fn store_event(
    connection: &mut Line,
    event: &NewInbox,
    counted: Option<&Counted<'_>>,
) -> Result<Option<Stored>, StoreError> {
    let (kind, to, standing, inbound) = match &event.disposition {
        Disposition::Turn { to, standing, inbound } => ("turn", to, *standing, inbound),
        Disposition::Observed { to, standing, inbound } => ("observed", to, *standing, inbound),
        Disposition::Command { to, standing, inbound } => ("command", to, *standing, inbound),
        Disposition::Moved { from, to } => {
            let line = format!("{from} is {to} from now on");
            let stored = store_other(connection, event, ("moved", &line), counted).await?;
            if stored.is_some() {
                move_chat(connection, event, from, to).await?;
            }
            return Ok(stored);
        }
        Disposition::Ignored { why } => {
            return store_other(connection, event, ("ignored", why), counted).await;
        }
        Disposition::Unreadable { why } => {
            return store_other(connection, event, ("unreadable", why), counted).await;
        }
    };
    let said = Said { kind, to, standing, inbound };
    store_said(connection, event, said, counted).await
}

async fn move_chat(
    connection: &mut Line,
    event: &NewInbox,
    from: &PlatformChat,
    to: &PlatformChat,
) -> Result<(), StoreError> {
    chats::move_chat(connection, &event.account, from, to).await
}

/// A message with a conversation, whatever is to become of it.
struct Said<'e> {
    kind: &'static str,
    to: &'e ConversationSpec,
    standing: Standing,
    inbound: &'e Inbound,
}

impl Said<'_> {
    /// When the owner wrote here, if this is a place for private things.
    fn owner_wrote_at(&self) -> Option<DateTime<Utc>> {
        let private = self.standing == Standing::Owner && self.inbound.kind == ChatKind::Direct;
        private.then_some(self.inbound.sent_at)
    }
}

/// One trip to the database. Each statement looks first whether the event is there, so that a
/// duplicate changes nothing. A conversation may become shared and never private again. Of the lines
/// said nearby only the newest wait on. What is over a limit is kept as such a line; a command is
/// ignored, and belongs to no conversation.
pub(super) const STORE_SAID: &str = concat!(
    "\
INSERT INTO conversations (bot_id, account, chat, audience, created_at)
SELECT $3, $4, $5, $6, $7
WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE account = $1 AND key = $2)
ON CONFLICT (bot_id, account, chat) DO UPDATE SET audience = 'shared'
WHERE excluded.audience = 'shared' AND audience = 'private';

INSERT INTO episodes (bot_id, conversation_id, number, first_seq, opened_at)
SELECT c.bot_id, c.id, 1, 1, $7 FROM conversations c
WHERE c.bot_id = $3 AND c.account = $4 AND c.chat = $5
AND NOT EXISTS (
    SELECT 1 FROM episodes e WHERE e.bot_id = c.bot_id AND e.conversation_id = c.id
);

INSERT INTO chats (bot_id, account, chat, platform, kind, name, owner_wrote_at)
SELECT $3, $1, $8, $9, $10, $11, $12
WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE account = $1 AND key = $2)
ON CONFLICT (bot_id, account, chat) DO UPDATE SET
    kind = excluded.kind,
    name = coalesce(excluded.name, name),
    owner_wrote_at = CASE
        WHEN excluded.owner_wrote_at IS NULL THEN owner_wrote_at
        ELSE max(excluded.owner_wrote_at, coalesce(owner_wrote_at, 0))
    END;

INSERT INTO inbox (account, key, platform, accepted_by, at, kind, open, bot_id, conversation_id,
    chat, standing, place_order, inbound, raw, person, limited, line)
SELECT $1, $2, $9, $13, $7,
    CASE WHEN the_limit.limited IS NULL THEN $14 WHEN $14 = 'command' THEN 'ignored'
        ELSE 'observed' END,
    the_limit.limited IS NULL OR $14 <> 'command', c.bot_id,
    CASE WHEN the_limit.limited IS NULL OR $14 <> 'command' THEN c.id END,
    $8, $15, $16, $17, $18, $20, the_limit.limited,
    CASE WHEN the_limit.limited IS NOT NULL AND $14 = 'command' THEN 'a command over a limit' END
FROM conversations c CROSS JOIN (",
    over!("$9", "$20", "$21", "$22", "$1", "$8", "$23", "$24"),
    ") the_limit
WHERE c.bot_id = $3 AND c.account = $4 AND c.chat = $5
ON CONFLICT (account, key) DO NOTHING
RETURNING id, conversation_id, limited;

UPDATE inbox SET open = 0, settled_at = $7
WHERE id IN (
    SELECT older.id FROM inbox new JOIN inbox older ON older.conversation_id = new.conversation_id
    WHERE new.account = $1 AND new.key = $2 AND new.kind = 'observed'
    AND older.open = 1 AND older.turn_id IS NULL AND older.kind <> 'command'
    AND older.kind = 'observed'
    ORDER BY older.id DESC LIMIT -1 OFFSET $19 + 0
)"
);

async fn store_said(
    connection: &mut Line,
    event: &NewInbox,
    said: Said<'_>,
    counted: Option<&Counted<'_>>,
) -> Result<Option<Stored>, StoreError> {
    let (account, chat) = key_columns(&said.to.key);
    let place = said.inbound.place(&event.account);
    let tally = Tally::of(counted);
    let rows = sqlx::query(STORE_SAID)
        .bind(event.account.as_str())
        .bind(&*event.key)
        .bind(said.to.bot.0)
        .bind(account)
        .bind(chat)
        .bind(said.to.audience.word())
        .bind(micros(event.at))
        .bind(place.chat.as_str())
        .bind(event.platform.as_str())
        .bind(said.inbound.kind.word())
        .bind(said.inbound.chat_name.as_deref())
        .bind(said.owner_wrote_at().map(micros))
        .bind(event.accepted_by.as_str())
        .bind(said.kind)
        .bind(said.standing.word())
        .bind(said.inbound.order)
        .bind(json(said.inbound)?)
        .bind(&*event.raw)
        .bind(OBSERVED_WAITING)
        .bind(tally.person)
        .bind(tally.of_person.since)
        .bind(tally.of_person.most)
        .bind(tally.of_chat.since)
        .bind(tally.of_chat.most)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.first().map(stored).transpose()
}

/// What the insert of a row tells.
fn stored(row: &SqliteRow) -> Result<Stored, StoreError> {
    let row = Record::new(row, "inbox")?;
    let conversation = row.get::<Option<i64>>("conversation_id")?.map(ConversationId);
    Ok(Stored { inbox: InboxId(row.get("id")?), conversation, over: row.maybe_word("limited")? })
}

pub(super) const STORE_OTHER: &str = concat!(
    "\
INSERT INTO inbox (account, key, platform, accepted_by, at, kind, open, line, raw, chat, person, limited)
SELECT $1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, the_limit.limited FROM (",
    over!("$3", "$10", "$11", "$12", "$1", "$9", "$13", "$14"),
    ") the_limit WHERE true
ON CONFLICT (account, key) DO NOTHING
RETURNING id, conversation_id, limited"
);

async fn store_other(
    connection: &mut Line,
    event: &NewInbox,
    (kind, line): (&'static str, &str),
    counted: Option<&Counted<'_>>,
) -> Result<Option<Stored>, StoreError> {
    let tally = Tally::of(counted);
    let row = sqlx::query(STORE_OTHER)
        .bind(event.account.as_str())
        .bind(&*event.key)
        .bind(event.platform.as_str())
        .bind(event.accepted_by.as_str())
        .bind(micros(event.at))
        .bind(kind)
        .bind(line)
        .bind(&*event.raw)
        .bind(tally.chat)
        .bind(tally.person)
        .bind(tally.of_person.since)
        .bind(tally.of_person.most)
        .bind(tally.of_chat.since)
        .bind(tally.of_chat.most)
        .fetch_optional(connection)
        .await
        .map_err(store_error)?;
    row.as_ref().map(stored).transpose()
}
