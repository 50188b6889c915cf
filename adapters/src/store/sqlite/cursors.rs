//! How far the histories of chats were read. One that is forgotten costs a second reading, whose messages
//! are known.

use atlas_core::ids::AccountId;
use atlas_core::ports::{Cursor, StoreError};

use super::error::store_error;
use super::line::Line;
use super::readers::Readers;
use crate::store::sql::{Record, Word, json};

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

/// One statement for all of them: a list of their columns.
pub(super) const READ_UP_TO: &str = "\
INSERT INTO cursors (account, chat, kind, read_up_to)
SELECT $1, c.value ->> 0, c.value ->> 1, c.value ->> 2 FROM json_each($2) c WHERE true
ON CONFLICT (account, chat) DO UPDATE SET read_up_to = max(read_up_to, excluded.read_up_to)";

pub(super) async fn read_up_to(
    connection: &mut Line,
    account: &AccountId,
    cursors: &[Cursor],
) -> Result<(), StoreError> {
    let columns = |cursor: &Cursor| (cursor.chat.0.clone(), cursor.kind.word(), cursor.read_up_to);
    let columns: Vec<_> = cursors.iter().map(columns).collect();
    sqlx::query(READ_UP_TO)
        .bind(account.as_str())
        .bind(json(&columns)?)
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}
