//! How far the histories of chats were read. One that is forgotten costs a second reading, whose messages
//! are known.

use atlas_core::ids::AccountId;
use atlas_core::ports::{Cursor, StoreError};
use sqlx::SqliteConnection;

use super::error::store_error;
use super::readers::Readers;
use crate::store::sql::{Record, Word};

pub(super) const ALL: &str =
    "SELECT rowid AS id, chat, kind, read_up_to FROM cursors WHERE account = $1";

pub(super) async fn all(readers: &Readers, account: &AccountId) -> Result<Vec<Cursor>, StoreError> {
    let rows = readers.all(sqlx::query(ALL).bind(account.as_str())).await?;
    rows.iter()
        .map(|row| {
            let row = Record::new(row, "cursors")?;
            Ok(Cursor {
                chat: row.name("chat")?,
                kind: row.word("kind")?,
                read_up_to: row.get("read_up_to")?,
            })
        })
        .collect()
}

pub(super) async fn read_up_to(
    connection: &mut SqliteConnection,
    account: &AccountId,
    cursors: &[Cursor],
) -> Result<(), StoreError> {
    for cursor in cursors {
        sqlx::query(
            "INSERT INTO cursors (account, chat, kind, read_up_to) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (account, chat) DO UPDATE SET \
             read_up_to = max(read_up_to, excluded.read_up_to)",
        )
        .bind(account.as_str())
        .bind(cursor.chat.as_str())
        .bind(cursor.kind.word())
        .bind(cursor.read_up_to)
        .execute(&mut *connection)
        .await
        .map_err(store_error)?;
    }
    Ok(())
}
