//! Places: where the owner is written to in private, and a chat whose id changes.

use atlas_core::ids::{AccountId, BotId, ChatKey, PlatformChat};
use atlas_core::ports::StoreError;

use super::error::store_error;
use super::line::Line;
use super::readers::Readers;
use crate::store::sql::Record;

/// A terminal comes last: what is sent to one that is closed is read only when it opens again.
pub(super) const PRIVATE_PLACE: &str = "\
SELECT bot_id AS id, account, chat FROM chats
WHERE bot_id = $1 AND owner_wrote_at IS NOT NULL
ORDER BY platform = 'terminal', owner_wrote_at DESC LIMIT 1";

pub(super) async fn private_place(
    readers: &Readers,
    bot: BotId,
) -> Result<Option<ChatKey>, StoreError> {
    let row = readers.first(sqlx::query(PRIVATE_PLACE).bind(bot.0)).await?;
    row.as_ref().map(|row| Record::new(row, "chats")?.place()).transpose()
}

/// Whether nothing is under way for a place. Lines that were only overheard wait for nobody.
pub(super) const IS_QUIET: &str = "\
SELECT NOT EXISTS (
    SELECT 1 FROM inbox WHERE account = $1 AND chat = $2 AND open = 1
    AND (kind IN ('turn', 'command') OR turn_id IS NOT NULL)
) AND NOT EXISTS (SELECT 1 FROM outbox WHERE account = $1 AND chat = $2 AND open = 1)";

pub(super) async fn is_quiet(readers: &Readers, place: &ChatKey) -> Result<bool, StoreError> {
    let query = sqlx::query(IS_QUIET).bind(place.account.as_str()).bind(place.chat.as_str());
    Ok(readers.value(query).await?.unwrap_or(true))
}

/// The conversation, the chat's row, and everything that is still to be done go along.
pub(super) const MOVE: &str = "\
UPDATE conversations SET chat = $3 WHERE account = $1 AND chat = $2;
UPDATE OR REPLACE chats SET chat = $3 WHERE account = $1 AND chat = $2;
UPDATE inbox SET chat = $3 WHERE account = $1 AND chat = $2 AND open = 1;
UPDATE outbox SET chat = $3 WHERE account = $1 AND chat = $2 AND open = 1";

/// The new chat was written in before its move was known: what waits there joins the older
/// conversation, and what was said there stays under a name of its own.
pub(super) const STEP_ASIDE: &str = "\
UPDATE inbox SET conversation_id = $1 WHERE conversation_id = $2 AND open = 1 AND turn_id IS NULL;
UPDATE conversations SET chat = chat || '#' || id WHERE id = $2";

pub(super) async fn move_chat(
    connection: &mut Line,
    account: &AccountId,
    from: &PlatformChat,
    to: &PlatformChat,
) -> Result<(), StoreError> {
    if from == to {
        return Ok(());
    }
    let in_the_way: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT old.id, new.id FROM conversations old \
         JOIN conversations new ON new.bot_id = old.bot_id AND new.account = old.account \
         WHERE old.account = $1 AND old.chat = $2 AND new.chat = $3",
    )
    .bind(account.as_str())
    .bind(from.as_str())
    .bind(to.as_str())
    .fetch_all(&mut *connection)
    .await
    .map_err(store_error)?;
    for (old, new) in in_the_way {
        sqlx::query(STEP_ASIDE)
            .bind(old)
            .bind(new)
            .execute(&mut *connection)
            .await
            .map_err(store_error)?;
    }
    sqlx::query(MOVE)
        .bind(account.as_str())
        .bind(from.as_str())
        .bind(to.as_str())
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}
