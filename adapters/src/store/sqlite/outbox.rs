//! The way out: messages in line for each chat, claimed, tried and settled.
//!
//! `attempted_at` is the try under way, `unknown_since` the first try of the present part that may
//! have arrived. A try that certainly did not arrive leaves the older doubt as it is.

use atlas_core::ids::{
    AccountId, ConversationId, DeliveryId, Fence, HolderId, PlatformChat, PlatformMessage,
};
use atlas_core::ports::{Delivery, NewDelivery, Settlement, StoreError};
use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;

use super::error::store_error;
use super::line::Line;
use super::readers::Readers;
use crate::store::sql::{Record, Word, json, micros};

/// Puts deliveries at the end of their lines, each once: a list of their columns, and the instant.
macro_rules! insert_deliveries {
    ($list:literal, $at:literal) => {
        concat!(
            "INSERT INTO outbox (id, account, chat, kind, silent, conversation_id, created_at, ",
            "due_at, text, reply_to) SELECT unhex(d.value ->> 0), d.value ->> 1, d.value ->> 2, ",
            "d.value ->> 3, d.value ->> 4, d.value ->> 5, ",
            $at,
            ", ",
            $at,
            ", d.value ->> 6, d.value ->> 7 FROM json_each(",
            $list,
            ") d WHERE true ON CONFLICT (id) DO NOTHING"
        )
    };
}
pub(super) use insert_deliveries;

pub(super) const INSERT: &str = insert_deliveries!("$1", "$2");

/// Deliveries as the list that is inserted.
pub(super) fn columns(deliveries: &[NewDelivery]) -> Result<String, StoreError> {
    let columns = |new: &NewDelivery| {
        let (account, chat) = (new.to.account.as_str().to_owned(), new.to.chat.as_str().to_owned());
        let conversation = new.conversation.map(|conversation| conversation.0);
        let (id, kind) = (new.id.0.simple().to_string(), new.kind.word());
        (id, account, chat, kind, new.silent, conversation, new.text.clone(), new.reply_to.clone())
    };
    json(&deliveries.iter().map(columns).collect::<Vec<_>>())
}

/// Puts messages at the end of their lines, each once.
pub(super) async fn insert(
    connection: &mut Line,
    deliveries: &[NewDelivery],
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    if deliveries.is_empty() {
        return Ok(());
    }
    sqlx::query(INSERT)
        .bind(columns(deliveries)?)
        .bind(micros(at))
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}

/// The head of each line. A head that is held, or not due yet, holds its line up. A terminal's chat
/// is named by its process, and no other claims it. What was never tried and was decided in the future
/// is due too: the clock was set back. (`$4 + 0`: a limit that is a parameter alone makes `SQLite` prepare
/// the statement anew at every call.)
pub(super) const CLAIM: &str = "\
UPDATE outbox SET holder = $2, fence = fence + 1, attempts = attempts + 1, attempted_at = $3
WHERE position IN (
    SELECT line.position FROM (
        SELECT min(position) AS head FROM outbox
        WHERE open = 1 AND account IN (SELECT value FROM json_each($1))
        AND (account <> 'terminal' OR chat = $2)
        GROUP BY account, chat
    ) JOIN outbox line ON line.position = head
    WHERE line.holder IS NULL
    AND (line.due_at <= $3 OR (line.attempts = 0 AND line.created_at > $3))
    ORDER BY line.due_at, line.position LIMIT $4 + 0
)
RETURNING position, id, account, chat, kind, silent, conversation_id, created_at, due_at, fence,
    attempts - 1 AS tries, unknown_since, sent, text, reply_to";

pub(super) async fn claim(
    connection: &mut Line,
    holder: HolderId,
    accounts: &[AccountId],
    now: DateTime<Utc>,
    limit: usize,
) -> Result<Vec<Delivery>, StoreError> {
    let rows = sqlx::query(CLAIM)
        .bind(json(accounts)?)
        .bind(holder.as_str())
        .bind(micros(now))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let mut claimed = rows.iter().map(delivery).collect::<Result<Vec<_>, _>>()?;
    claimed.sort_by_key(|(due, position, _)| (*due, *position));
    Ok(claimed.into_iter().map(|(.., delivery)| delivery).collect())
}

/// With when it was due and its place in the line.
fn delivery(row: &SqliteRow) -> Result<(i64, i64, Delivery), StoreError> {
    let position: i64 = Record::named(row, "outbox", "?").get("position")?;
    let row = Record::named(row, "outbox", position);
    let new = NewDelivery {
        id: row.delivery("id")?,
        to: row.place()?,
        text: row.get("text")?,
        silent: row.get("silent")?,
        kind: row.word("kind")?,
        conversation: row.get::<Option<i64>>("conversation_id")?.map(ConversationId),
        reply_to: row.get::<Option<String>>("reply_to")?.map(PlatformMessage),
    };
    let delivery = Delivery {
        new,
        fence: Fence(row.get("fence")?),
        created_at: row.instant("created_at")?,
        attempts: row.count("tries")?,
        sent: row.json("sent")?,
        unsettled_since: row.maybe_instant("unknown_since")?,
    };
    Ok((row.get("due_at")?, position, delivery))
}

/// A try that began counts once, whoever stamped it.
pub(super) const ATTEMPTING: &str = "\
UPDATE outbox SET attempts = attempts + (attempted_at IS NULL), attempted_at = $3
WHERE id = $1 AND fence = $2 AND open = 1 AND holder IS NOT NULL";

pub(super) async fn attempting(
    connection: &mut Line,
    id: DeliveryId,
    fence: Fence,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let done = sqlx::query(ATTEMPTING)
        .bind(id.0)
        .bind(fence.0)
        .bind(micros(at))
        .execute(connection)
        .await
        .map_err(store_error)?;
    if done.rows_affected() == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

pub(super) const PART_SENT: &str = "\
UPDATE outbox SET sent = json_insert(sent, '$[#]', $3), attempts = 0, attempted_at = NULL,
    unknown_since = NULL
WHERE id = $1 AND fence = $2 AND open = 1 AND holder IS NOT NULL";

pub(super) async fn part_sent(
    connection: &mut Line,
    id: DeliveryId,
    fence: Fence,
    message: PlatformMessage,
) -> Result<(), StoreError> {
    let done = sqlx::query(PART_SENT)
        .bind(id.0)
        .bind(fence.0)
        .bind(message.as_str())
        .execute(connection)
        .await
        .map_err(store_error)?;
    if done.rows_affected() == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

pub(super) const CLOSE: &str = "\
UPDATE outbox SET open = 0, holder = NULL, attempted_at = NULL, settled_at = $3, outcome = $4,
    reason = $5
WHERE id = $1 AND fence = $2 AND open = 1 AND holder IS NOT NULL";

pub(super) const RETRY: &str = "\
UPDATE outbox SET holder = NULL, due_at = $4, reason = $5,
    unknown_since = CASE WHEN $6 THEN coalesce(unknown_since, attempted_at, $3)
        ELSE unknown_since END,
    attempted_at = NULL
WHERE id = $1 AND fence = $2 AND open = 1 AND holder IS NOT NULL";

pub(super) const GIVE_BACK: &str = "\
UPDATE outbox SET holder = NULL, attempts = max(attempts - (attempted_at IS NOT NULL), 0),
    attempted_at = NULL
WHERE id = $1 AND fence = $2 AND open = 1 AND holder IS NOT NULL";

pub(super) async fn settle(
    connection: &mut Line,
    id: DeliveryId,
    fence: Fence,
    settlement: Settlement,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    if let Settlement::Closed { note: Some(note), .. } = &settlement {
        insert_note(connection, id, fence, note, at).await?;
    }
    let query = match &settlement {
        Settlement::Sent => sqlx::query(CLOSE)
            .bind(id.0)
            .bind(fence.0)
            .bind(micros(at))
            .bind("sent")
            .bind(None::<String>),
        Settlement::Closed { reason, .. } => sqlx::query(CLOSE)
            .bind(id.0)
            .bind(fence.0)
            .bind(micros(at))
            .bind("closed")
            .bind(&**reason),
        Settlement::Retry { at: due, reason, unknown } => sqlx::query(RETRY)
            .bind(id.0)
            .bind(fence.0)
            .bind(micros(at))
            .bind(micros(*due))
            .bind(&**reason)
            .bind(*unknown),
        Settlement::GivenBack => sqlx::query(GIVE_BACK).bind(id.0).bind(fence.0),
    };
    let done = query.execute(&mut *connection).await.map_err(store_error)?;
    if done.rows_affected() == 0 {
        return Err(StoreError::ClaimLost);
    }
    match settlement {
        Settlement::Closed { notice: Some(notice), .. } => insert(connection, &[notice], at).await,
        _ => Ok(()),
    }
}

/// What the bot is told at its next turn: an inbound row of the delivery's conversation, once.
pub(super) const NOTE: &str = "\
INSERT INTO inbox (account, key, platform, accepted_by, at, kind, open, bot_id, conversation_id,
    chat, line, raw)
SELECT o.account, $3, '', o.holder, $4, 'note', 1, c.bot_id, c.id, o.chat, $5, ''
FROM outbox o JOIN conversations c ON c.id = o.conversation_id
WHERE o.id = $1 AND o.fence = $2 AND o.open = 1 AND o.holder IS NOT NULL
ON CONFLICT (account, key) DO NOTHING";

async fn insert_note(
    connection: &mut Line,
    id: DeliveryId,
    fence: Fence,
    note: &str,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(NOTE)
        .bind(id.0)
        .bind(fence.0)
        .bind(format!("note:{id}"))
        .bind(micros(at))
        .bind(note)
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}

pub(super) const NEXT: &str = "\
SELECT min(line.due_at) FROM (
    SELECT min(position) AS head FROM outbox
    WHERE open = 1 AND account IN (SELECT value FROM json_each($1))
    AND (account <> 'terminal' OR chat = $2)
    GROUP BY account, chat
) JOIN outbox line ON line.position = head
WHERE line.holder IS NULL";

pub(super) async fn next(
    readers: &Readers,
    holder: &HolderId,
    accounts: &[AccountId],
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let query = sqlx::query(NEXT).bind(json(accounts)?).bind(holder.as_str());
    let due: Option<Option<i64>> = readers.value(query).await?;
    Ok(due.flatten().and_then(DateTime::from_timestamp_micros))
}

/// Whole lines, whether due or not, except where somebody is sending one of them.
pub(super) const CLAIM_LEFT_OVER: &str = "\
UPDATE outbox SET holder = $3, fence = fence + 1, attempts = attempts + 1, attempted_at = $4
WHERE position IN (
    SELECT position FROM outbox
    WHERE open = 1 AND account = $1 AND chat IN (SELECT value FROM json_each($2))
) AND NOT EXISTS (
    SELECT 1 FROM outbox held
    WHERE held.open = 1 AND held.account = outbox.account AND held.chat = outbox.chat
    AND held.holder IS NOT NULL
)
RETURNING position, id, account, chat, kind, silent, conversation_id, created_at, due_at, fence,
    attempts - 1 AS tries, unknown_since, sent, text, reply_to";

pub(super) async fn claim_left_over(
    connection: &mut Line,
    holder: HolderId,
    chats: &[PlatformChat],
    account: &AccountId,
    now: DateTime<Utc>,
) -> Result<Vec<Delivery>, StoreError> {
    let rows = sqlx::query(CLAIM_LEFT_OVER)
        .bind(account.as_str())
        .bind(json(chats)?)
        .bind(holder.as_str())
        .bind(micros(now))
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let mut claimed = rows.iter().map(delivery).collect::<Result<Vec<_>, _>>()?;
    claimed.sort_by_key(|(_, position, _)| *position);
    Ok(claimed.into_iter().map(|(.., delivery)| delivery).collect())
}

pub(super) const CHATS: &str =
    "SELECT DISTINCT chat FROM outbox WHERE open = 1 AND account = $1 ORDER BY chat";

pub(super) async fn chats(
    readers: &Readers,
    account: &AccountId,
) -> Result<Vec<PlatformChat>, StoreError> {
    let chats: Vec<String> = readers.values(sqlx::query(CHATS).bind(account.as_str())).await?;
    Ok(chats.into_iter().map(PlatformChat).collect())
}
