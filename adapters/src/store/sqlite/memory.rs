//! Memory's intents and history. What may be written is core's business.

use atlas_core::ids::{BotId, ConversationId, Fence, IntentId};
use atlas_core::ports::{Claim, HistoryRow, Intended, Intent, IntentState, NewIntent, StoreError};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;

use super::claims;
use super::error::store_error;
use super::line::Line;
use super::readers::Readers;
use crate::store::sql::{Record, Word, json, micros};

/// A claim as its column holds it.
#[derive(Serialize, Deserialize)]
struct StoredClaim {
    conversation: ConversationId,
    holder: String,
    fence: Fence,
    attempt: u32,
}

pub(super) const BY_KEY: &str = "\
SELECT id, key, bot_id, conversation_id, claim, path, origin, state, at, reply, before, after
FROM memory_intents WHERE key = $1";

pub(super) async fn intend(connection: &mut Line, new: NewIntent) -> Result<Intended, StoreError> {
    let known = sqlx::query(BY_KEY)
        .bind(&*new.key)
        .fetch_optional(&mut *connection)
        .await
        .map_err(store_error)?;
    if let Some(known) = known.as_ref().map(intent_row).transpose()?
        && known.state != IntentState::NotApplied
    {
        return Ok(Intended::Known(Box::new(known)));
    }
    if let Some(claim) = &new.claim {
        claims::check(connection, claim).await?;
    }
    insert(connection, new).await.map(Intended::Fresh)
}

/// One that was settled as not applied gives way; its number is not given again.
const INSERT: &str = "\
DELETE FROM memory_intents WHERE key = $1 AND state = 'not_applied';
INSERT INTO memory_intents (key, bot_id, conversation_id, claim, path, origin, state, at, reply,
    before, after)
VALUES ($1, $2, $3, $4, $5, $6, 'open', $7, $8, $9, $10) RETURNING id";

async fn insert(connection: &mut Line, new: NewIntent) -> Result<IntentId, StoreError> {
    let claim = new.claim.map(|claim| StoredClaim {
        conversation: claim.conversation,
        holder: claim.holder.0,
        fence: claim.fence,
        attempt: claim.attempt,
    });
    let ids: Vec<i64> = sqlx::query_scalar(INSERT)
        .bind(new.key)
        .bind(new.bot.map(|bot| bot.0))
        .bind(new.conversation.map(|conversation| conversation.0))
        .bind(claim.as_ref().map(json).transpose()?)
        .bind(new.path)
        .bind(new.origin.word())
        .bind(micros(new.at))
        .bind(new.reply)
        .bind(new.before)
        .bind(new.after)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let id = ids.first().copied().map(IntentId);
    id.ok_or_else(|| StoreError::Failed("an intent was stored and has no number".to_owned()))
}

fn intent_row(row: &SqliteRow) -> Result<Intent, StoreError> {
    let row = Record::new(row, "memory_intents")?;
    let claim = row.maybe_json::<StoredClaim>("claim")?.map(|claim| Claim {
        conversation: claim.conversation,
        holder: claim.holder.into(),
        fence: claim.fence,
        attempt: claim.attempt,
    });
    let new = NewIntent {
        key: row.get("key")?,
        bot: row.get::<Option<i64>>("bot_id")?.map(BotId),
        conversation: row.get::<Option<i64>>("conversation_id")?.map(ConversationId),
        claim,
        path: row.get("path")?,
        before: row.get("before")?,
        after: row.get("after")?,
        reply: row.get("reply")?,
        origin: row.word("origin")?,
        at: row.instant("at")?,
    };
    Ok(Intent { id: IntentId(row.get("id")?), new, state: row.word("state")? })
}

pub(super) async fn intent(readers: &Readers, key: &str) -> Result<Option<Intent>, StoreError> {
    let row = readers.first(sqlx::query(BY_KEY).bind(key)).await?;
    row.as_ref().map(intent_row).transpose()
}

pub(super) const OPEN: &str = "\
SELECT id, key, bot_id, conversation_id, claim, path, origin, state, at, reply, before, after
FROM memory_intents WHERE state = 'open' ORDER BY id";

pub(super) const OPEN_OF_FILE: &str = "\
SELECT id, key, bot_id, conversation_id, claim, path, origin, state, at, reply, before, after
FROM memory_intents WHERE state = 'open' AND path = $1 ORDER BY id";

pub(super) async fn open_intents(
    readers: &Readers,
    path: Option<&str>,
) -> Result<Vec<Intent>, StoreError> {
    let query = match path {
        Some(path) => sqlx::query(OPEN_OF_FILE).bind(path),
        None => sqlx::query(OPEN),
    };
    let rows = readers.all(query).await?;
    rows.iter().map(intent_row).collect()
}

pub(super) async fn redo(
    connection: &mut Line,
    id: IntentId,
    before: Option<String>,
    after: String,
    reply: String,
) -> Result<(), StoreError> {
    let done = sqlx::query(
        "UPDATE memory_intents SET before = $2, after = $3, reply = $4 \
         WHERE id = $1 AND state = 'open'",
    )
    .bind(id.0)
    .bind(before)
    .bind(after)
    .bind(reply)
    .execute(connection)
    .await
    .map_err(store_error)?;
    if done.rows_affected() == 0 {
        return Err(StoreError::Failed(format!("intent {id} is not open")));
    }
    Ok(())
}

/// Settled once: the second time changes nothing and writes no history.
pub(super) async fn settle(
    connection: &mut Line,
    id: IntentId,
    state: IntentState,
    history: &[HistoryRow],
) -> Result<(), StoreError> {
    let done = sqlx::query("UPDATE memory_intents SET state = $2 WHERE id = $1 AND state = 'open'")
        .bind(id.0)
        .bind(state.word())
        .execute(&mut *connection)
        .await
        .map_err(store_error)?;
    if done.rows_affected() == 1 {
        return record(connection, history).await;
    }
    let found: Option<String> =
        sqlx::query_scalar("SELECT state FROM memory_intents WHERE id = $1")
            .bind(id.0)
            .fetch_optional(connection)
            .await
            .map_err(store_error)?;
    match found {
        Some(found) if found == state.word() => Ok(()),
        Some(found) => Err(StoreError::Failed(format!("intent {id} was settled as {found}"))),
        None => Err(StoreError::Failed(format!("there is no intent {id}"))),
    }
}

pub(super) async fn record(connection: &mut Line, rows: &[HistoryRow]) -> Result<(), StoreError> {
    for row in rows {
        sqlx::query(
            "INSERT INTO memory_history (bot_id, conversation_id, path, origin, at, before, after) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(row.bot.map(|bot| bot.0))
        .bind(row.conversation.map(|conversation| conversation.0))
        .bind(&*row.path)
        .bind(row.origin.word())
        .bind(micros(row.at))
        .bind(row.before.as_deref())
        .bind(row.after.as_deref())
        .execute(&mut *connection)
        .await
        .map_err(store_error)?;
    }
    Ok(())
}

pub(super) const HISTORY: &str = "\
SELECT id, bot_id, conversation_id, path, origin, at, before, after
FROM memory_history WHERE path = $1 ORDER BY id DESC LIMIT $2 + 0";

pub(super) async fn history(
    readers: &Readers,
    path: &str,
    limit: usize,
) -> Result<Vec<HistoryRow>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = readers.all(sqlx::query(HISTORY).bind(path).bind(limit)).await?;
    rows.iter()
        .map(|row| {
            let row = Record::new(row, "memory_history")?;
            Ok(HistoryRow {
                bot: row.get::<Option<i64>>("bot_id")?.map(BotId),
                path: row.get("path")?,
                before: row.get("before")?,
                after: row.get("after")?,
                origin: row.word("origin")?,
                conversation: row.get::<Option<i64>>("conversation_id")?.map(ConversationId),
                at: row.instant("at")?,
            })
        })
        .collect()
}
