//! The way in: events stored once, with the conversation and chat that they belong to.

use atlas_core::access::Standing;
use atlas_core::event::{ChatKind, Inbound};
use atlas_core::ids::{ConversationId, InboxId, PlatformChat};
use atlas_core::ports::{
    Accepted, ConversationKey, ConversationSpec, Disposition, Door, NewInbox, OBSERVED_WAITING,
    StoreError,
};
use chrono::{DateTime, Utc};

use super::error::store_error;
use super::limits::{Counted, Tally};
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
        Door::Open => store(connection, event, Tally::default()).await,
        Door::Counted { by, place, limits } => {
            let counted = Counted { event, by, place, limits };
            let over = counted.over(connection).await?;
            let notice = counted.notice(connection, over).await?;
            let accepted = store(connection, event, counted.tally(over)).await?;
            if let (Accepted::Stored { .. }, Some(notice)) = (&accepted, notice) {
                outbox::insert(connection, std::slice::from_ref(notice), event.at).await?;
            }
            Ok(accepted)
        }
        Door::Knock(request) => {
            let accepted = store(connection, event, Tally::default()).await?;
            if matches!(accepted, Accepted::Stored { .. }) {
                pairings::knock(connection, request, event.at).await?;
            }
            Ok(accepted)
        }
    }
}

/// Stores the event. Over a limit it is kept without being answered.
async fn store(
    connection: &mut Line,
    event: &NewInbox,
    tally: Tally<'_>,
) -> Result<Accepted, StoreError> {
    let over = tally.limited.is_some();
    let stored = match &event.disposition {
        Disposition::Turn { to, standing, inbound } => {
            let kind = if over { "observed" } else { "turn" };
            let said = Said { kind, to, standing: *standing, inbound };
            store_said(connection, event, said, tally).await?
        }
        Disposition::Command { .. } if over => {
            store_other(connection, event, "ignored", "a command over a limit", tally).await?
        }
        Disposition::Observed { to, standing, inbound } => {
            let said = Said { kind: "observed", to, standing: *standing, inbound };
            store_said(connection, event, said, tally).await?
        }
        Disposition::Command { to, standing, inbound } => {
            let said = Said { kind: "command", to, standing: *standing, inbound };
            store_said(connection, event, said, tally).await?
        }
        Disposition::Moved { from, to } => {
            let line = format!("{from} is {to} from now on");
            let stored = store_other(connection, event, "moved", &line, tally).await?;
            if stored.is_some() {
                move_chat(connection, event, from, to).await?;
            }
            stored
        }
        Disposition::Ignored { why } => {
            store_other(connection, event, "ignored", why, tally).await?
        }
        Disposition::Unreadable { why } => {
            store_other(connection, event, "unreadable", why, tally).await?
        }
    };
    let Some((inbox, conversation)) = stored else { return Ok(Accepted::Duplicate) };
    if !over {
        outbox::insert(connection, &event.deliveries, event.at).await?;
    }
    Ok(Accepted::Stored { inbox, conversation })
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
/// said nearby only the newest wait on.
pub(super) const STORE_SAID: &str = "\
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

UPDATE inbox SET open = 0, settled_at = $7
WHERE $14 = 'observed' AND id IN (
    SELECT older.id FROM conversations c JOIN inbox older ON older.conversation_id = c.id
    WHERE c.bot_id = $3 AND c.account = $4 AND c.chat = $5
    AND older.open = 1 AND older.turn_id IS NULL AND older.kind <> 'command'
    AND older.kind = 'observed'
    ORDER BY older.id DESC LIMIT -1 OFFSET $19 + 0
);

INSERT INTO inbox (account, key, platform, accepted_by, at, kind, open, bot_id, conversation_id,
    chat, standing, place_order, inbound, raw, person, limited)
SELECT $1, $2, $9, $13, $7, $14, 1, c.bot_id, c.id, $8, $15, $16, $17, $18, $20, $21
FROM conversations c WHERE c.bot_id = $3 AND c.account = $4 AND c.chat = $5
ON CONFLICT (account, key) DO NOTHING
RETURNING id, conversation_id";

async fn store_said(
    connection: &mut Line,
    event: &NewInbox,
    said: Said<'_>,
    tally: Tally<'_>,
) -> Result<Option<(InboxId, Option<ConversationId>)>, StoreError> {
    let (account, chat) = key_columns(&said.to.key);
    let place = said.inbound.place(&event.account);
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
        .bind(OBSERVED_WAITING - 1)
        .bind(tally.person)
        .bind(tally.limited)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let Some(row) = rows.first() else { return Ok(None) };
    let row = Record::new(row, "inbox")?;
    let conversation = ConversationId(row.get("conversation_id")?);
    Ok(Some((InboxId(row.get("id")?), Some(conversation))))
}

async fn store_other(
    connection: &mut Line,
    event: &NewInbox,
    kind: &'static str,
    line: &str,
    tally: Tally<'_>,
) -> Result<Option<(InboxId, Option<ConversationId>)>, StoreError> {
    let id: Option<i64> = sqlx::query_scalar(
        "INSERT INTO inbox (account, key, platform, accepted_by, at, kind, open, line, raw, chat, \
         person, limited) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11) \
         ON CONFLICT (account, key) DO NOTHING RETURNING id",
    )
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
    .bind(tally.limited)
    .fetch_optional(connection)
    .await
    .map_err(store_error)?;
    Ok(id.map(|id| (InboxId(id), None)))
}
