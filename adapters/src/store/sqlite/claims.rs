//! Who works on what: claims of conversations, their fences, and what a dead process leaves.

use std::future;

use atlas_core::ids::{ConversationId, Fence, HolderId, Seq};
use atlas_core::ports::{Claim, Claimed, OpenWork, StoreError};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::conversations::{self, select_conversation, select_waiting};

use super::error::store_error;
use super::line::Line;
use super::readers::Readers;
use crate::store::sql::{Record, micros};

/// CROSS JOIN, since `SQLite` keeps its order: the little that is to be done comes first.
pub(super) const OPEN_WORK: &str = "\
SELECT DISTINCT c.id, c.holder, t.id IS NOT NULL AS turn_open, w.accepted_by, w.account
FROM (
    SELECT conversation_id FROM turns WHERE ended_at IS NULL
    UNION
    SELECT conversation_id FROM inbox WHERE open = 1 AND turn_id IS NULL AND kind = 'turn'
) work
CROSS JOIN conversations c ON c.id = work.conversation_id
LEFT JOIN turns t ON t.conversation_id = c.id AND t.ended_at IS NULL
LEFT JOIN inbox w ON w.conversation_id = c.id
    AND w.open = 1 AND w.turn_id IS NULL AND w.kind = 'turn'
ORDER BY c.id";

pub(super) async fn open_work(readers: &Readers) -> Result<Vec<OpenWork>, StoreError> {
    let rows = readers.all(sqlx::query(OPEN_WORK)).await?;
    let mut work: Vec<OpenWork> = Vec::new();
    for row in &rows {
        let row = Record::new(row, "conversations")?;
        let conversation = ConversationId(row.get("id")?);
        if work.last().is_none_or(|last| last.conversation != conversation) {
            work.push(OpenWork {
                conversation,
                held_by: row.maybe_name("holder")?,
                turn_open: row.get("turn_open")?,
                waiting: Vec::new(),
            });
        }
        if let (Some(holder), Some(account), Some(last)) =
            (row.maybe_name("accepted_by")?, row.maybe_name("account")?, work.last_mut())
        {
            last.waiting.push((holder, account));
        }
    }
    Ok(work)
}

/// One order: claimed, and read with it. What the claim did not get is not worth reading.
pub(super) const CLAIM: &str = concat!(
    "\
UPDATE conversations SET holder = $2, held_until = $3, fence = fence + 1, attempts = attempts + 1
WHERE id = $1 AND (holder IS NULL OR holder = $2)
RETURNING 'claim' AS what, id, fence, attempts;

",
    select_conversation!("$1", "$4"),
    " AND c.holder = $2;

",
    select_waiting!("$1")
);

pub(super) async fn claim(
    connection: &mut Line,
    conversation: ConversationId,
    holder: HolderId,
    until: DateTime<Utc>,
    known: Seq,
) -> Result<Option<Claimed>, StoreError> {
    let mut rows = Vec::with_capacity(4);
    let told = {
        let told = sqlx::query(CLAIM)
            .bind(conversation.0)
            .bind(holder.as_str())
            .bind(micros(until))
            .bind(known.0)
            .fetch(&mut *connection);
        told.try_for_each(|row| {
            rows.push(row);
            future::ready(Ok(()))
        })
        .await
    };
    let Some(claim) = claim_of(&rows, conversation, holder)? else {
        return told.map(|()| None).map_err(store_error);
    };
    match told.map_err(store_error).and_then(|()| read(&rows, &claim)) {
        Ok(claimed) => Ok(Some(claimed)),
        Err(error) => {
            // Without a transaction around it the claim stands, unless it could not be committed. A read
            // that fails is no failure of the turn.
            match release(connection, &claim, true).await {
                Ok(()) | Err(StoreError::ClaimLost) => Err(error),
                Err(worse) => Err(worse),
            }
        }
    }
}

/// The claim, where it was got.
fn claim_of(
    rows: &[SqliteRow],
    conversation: ConversationId,
    holder: HolderId,
) -> Result<Option<Claim>, StoreError> {
    let Some(row) = of(rows, "claim").next() else { return Ok(None) };
    let row = Record::new(row, "conversations")?;
    let (fence, attempt) = (Fence(row.get("fence")?), row.count("attempts")?);
    Ok(Some(Claim { conversation, holder, fence, attempt }))
}

/// How the claimed conversation stands.
fn read(rows: &[SqliteRow], claim: &Claim) -> Result<Claimed, StoreError> {
    let loaded = of(rows, "conversation").next();
    let loaded = loaded.ok_or_else(|| conversations::unknown(claim.conversation))?;
    Ok(Claimed {
        claim: claim.clone(),
        loaded: conversations::loaded(loaded)?,
        pending: conversations::waiting(of(rows, "inbox"))?,
    })
}

/// The rows of one of the statements.
fn of<'r>(rows: &'r [SqliteRow], what: &'static str) -> impl Iterator<Item = &'r SqliteRow> {
    rows.iter().filter(move |row| row.try_get("what").is_ok_and(|told: &str| told == what))
}

pub(super) async fn renew(
    connection: &mut Line,
    claim: &Claim,
    until: DateTime<Utc>,
) -> Result<(), StoreError> {
    let done = sqlx::query(
        "UPDATE conversations SET held_until = $4 WHERE id = $1 AND holder = $2 AND fence = $3",
    )
    .bind(claim.conversation.0)
    .bind(claim.holder.as_str())
    .bind(claim.fence.0)
    .bind(micros(until))
    .execute(connection)
    .await
    .map_err(store_error)?;
    if done.rows_affected() == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

pub(super) async fn release(
    connection: &mut Line,
    claim: &Claim,
    clean: bool,
) -> Result<(), StoreError> {
    let done = sqlx::query(
        "UPDATE conversations \
         SET holder = NULL, held_until = NULL, attempts = max(attempts - $4, 0) \
         WHERE id = $1 AND holder = $2 AND fence = $3",
    )
    .bind(claim.conversation.0)
    .bind(claim.holder.as_str())
    .bind(claim.fence.0)
    .bind(i64::from(clean))
    .execute(connection)
    .await
    .map_err(store_error)?;
    if done.rows_affected() == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

/// Refuses who does not hold the conversation any more.
pub(super) async fn check(connection: &mut Line, claim: &Claim) -> Result<(), StoreError> {
    let held: Option<i64> = sqlx::query_scalar(
        "SELECT id FROM conversations WHERE id = $1 AND holder = $2 AND fence = $3",
    )
    .bind(claim.conversation.0)
    .bind(claim.holder.as_str())
    .bind(claim.fence.0)
    .fetch_optional(connection)
    .await
    .map_err(store_error)?;
    held.map(drop).ok_or(StoreError::ClaimLost)
}

pub(super) const HOLDERS: &str = "\
SELECT holder FROM conversations WHERE holder IS NOT NULL
UNION SELECT holder FROM outbox WHERE holder IS NOT NULL";

pub(super) async fn holders(readers: &Readers) -> Result<Vec<HolderId>, StoreError> {
    let holders = readers.values(sqlx::query(HOLDERS)).await?;
    Ok(holders.into_iter().map(HolderId).collect())
}

/// A try of the dead process that was never settled may have arrived.
pub(super) const FREE: &str = "\
UPDATE conversations SET holder = NULL, held_until = NULL WHERE holder = $1;
UPDATE outbox SET holder = NULL, unknown_since = coalesce(unknown_since, attempted_at),
    attempted_at = NULL
WHERE holder = $1";

pub(super) async fn free(connection: &mut Line, dead: HolderId) -> Result<(), StoreError> {
    sqlx::query(FREE).bind(dead.as_str()).execute(connection).await.map_err(store_error)?;
    Ok(())
}
