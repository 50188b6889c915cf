//! Commands that the gateway itself answers.

use atlas_core::ids::{BotId, ConversationId, InboxId};
use atlas_core::ports::{NewDelivery, PendingCommand, StoreError};
use chrono::{DateTime, Utc};

use super::error::store_error;
use super::line::Line;
use super::outbox;
use super::readers::Readers;
use crate::store::sql::{Record, micros};

pub(super) const PENDING: &str = "\
SELECT id, accepted_by, conversation_id, bot_id, account, chat, standing, inbound
FROM inbox WHERE open = 1 AND kind = 'command' ORDER BY id";

pub(super) async fn pending(readers: &Readers) -> Result<Vec<PendingCommand>, StoreError> {
    let rows = readers.all(sqlx::query(PENDING)).await?;
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

/// The open turn, and what waits and was stored before the command: each if it is of the standing that
/// gave the command, and all of it for the owner.
pub(super) const STOP: &str = "\
UPDATE conversations SET stop_requested = 1
WHERE id = $1 AND EXISTS (
    SELECT 1 FROM turns WHERE conversation_id = $1 AND ended_at IS NULL
    AND ($2 = 'owner' OR standing = $2)
);
UPDATE inbox SET line = 'stopped'
WHERE conversation_id = $1 AND open = 1 AND turn_id IS NULL AND kind <> 'command'
AND kind = 'turn' AND id < $3 AND ($2 = 'owner' OR standing = $2)";

pub(super) async fn settle(
    connection: &mut Line,
    inbox: InboxId,
    answers: &[NewDelivery],
    stop: bool,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let command: Option<(i64, String)> = sqlx::query_as(
        "UPDATE inbox SET open = 0, settled_at = $2 \
         WHERE id = $1 AND open = 1 AND kind = 'command' RETURNING conversation_id, standing",
    )
    .bind(inbox.0)
    .bind(micros(at))
    .fetch_optional(&mut *connection)
    .await
    .map_err(store_error)?;
    let Some((conversation, standing)) = command else { return Ok(false) };
    if stop {
        sqlx::query(STOP)
            .bind(conversation)
            .bind(standing)
            .bind(inbox.0)
            .execute(&mut *connection)
            .await
            .map_err(store_error)?;
    }
    outbox::insert(connection, answers, at).await?;
    Ok(true)
}
