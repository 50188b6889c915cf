//! Commands that the gateway itself answers.

use atlas_core::ids::{BotId, ConversationId, InboxId};
use atlas_core::ports::{NewDelivery, PendingCommand, StoreError};
use chrono::{DateTime, Utc};
use sqlx::{SqliteConnection, SqlitePool};

use super::error::store_error;
use super::outbox;
use crate::store::sql::{Record, micros};

pub(super) const PENDING: &str = "\
SELECT id, accepted_by, conversation_id, bot_id, account, chat, standing, inbound
FROM inbox WHERE open = 1 AND kind = 'command' ORDER BY id";

pub(super) async fn pending(readers: &SqlitePool) -> Result<Vec<PendingCommand>, StoreError> {
    let rows = sqlx::query(PENDING).fetch_all(readers).await.map_err(store_error)?;
    rows.iter()
        .map(|row| {
            let row = Record::new(row, "inbox")?;
            Ok(PendingCommand {
                inbox: InboxId(row.get("id")?),
                accepted_by: row.name("accepted_by")?,
                conversation: ConversationId(row.get("conversation_id")?),
                bot: BotId(row.get("bot_id")?),
                place: row.place()?,
                standing: row.word("standing")?,
                inbound: row.json("inbound")?,
            })
        })
        .collect()
}

/// Only an open turn can be asked to stop.
pub(super) const STOP: &str = "\
UPDATE conversations SET stop_requested = 1
WHERE id = $1 AND EXISTS (
    SELECT 1 FROM turns WHERE conversation_id = $1 AND ended_at IS NULL
)";

pub(super) async fn settle(
    connection: &mut SqliteConnection,
    inbox: InboxId,
    answers: &[NewDelivery],
    stop: bool,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let conversation: Option<i64> = sqlx::query_scalar(
        "UPDATE inbox SET open = 0, settled_at = $2 \
         WHERE id = $1 AND open = 1 AND kind = 'command' RETURNING conversation_id",
    )
    .bind(inbox.0)
    .bind(micros(at))
    .fetch_optional(&mut *connection)
    .await
    .map_err(store_error)?;
    let Some(conversation) = conversation else { return Ok(false) };
    if stop {
        sqlx::query(STOP)
            .bind(conversation)
            .execute(&mut *connection)
            .await
            .map_err(store_error)?;
    }
    outbox::insert(connection, answers, at).await?;
    Ok(true)
}
