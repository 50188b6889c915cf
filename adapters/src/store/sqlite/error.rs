//! What an error of `SQLite` means to whoever called.

use atlas_core::ports::StoreError;
use sqlx::Error;

/// `SQLite`'s primary result codes, as `sqlite3.h` has them.
mod code {
    pub(super) const PERM: u8 = 3;
    pub(super) const BUSY: u8 = 5;
    pub(super) const LOCKED: u8 = 6;
    pub(super) const NOMEM: u8 = 7;
    pub(super) const READONLY: u8 = 8;
    pub(super) const IOERR: u8 = 10;
    pub(super) const CORRUPT: u8 = 11;
    pub(super) const FULL: u8 = 13;
    pub(super) const CANTOPEN: u8 = 14;
    pub(super) const PROTOCOL: u8 = 15;
    pub(super) const NOTADB: u8 = 26;
}

/// The primary result code of an error that `SQLite` itself gave.
fn primary(error: &Error) -> Option<u8> {
    let full: i64 = error.as_database_error()?.code()?.parse().ok()?;
    u8::try_from(full & 0xff).ok()
}

/// Whether the file is no database, or a damaged one.
pub(super) fn is_no_database(error: &Error) -> bool {
    matches!(primary(error), Some(code::NOTADB | code::CORRUPT))
}

/// Whether somebody else has the file right now.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(primary(error), Some(code::BUSY | code::LOCKED))
}

/// Whether the file or its folder cannot be read and written by this user.
pub(super) fn is_no_access(error: &Error) -> bool {
    matches!(primary(error), Some(code::PERM | code::READONLY | code::CANTOPEN))
}

/// As core is told. `SQLite`'s messages name tables and columns, never what stands in them.
pub(super) fn store_error(error: Error) -> StoreError {
    let unwritable = match &error {
        Error::Io(_) | Error::WorkerCrashed | Error::PoolTimedOut => true,
        other => matches!(
            primary(other),
            Some(
                code::PERM
                    | code::BUSY
                    | code::LOCKED
                    | code::NOMEM
                    | code::READONLY
                    | code::IOERR
                    | code::FULL
                    | code::CANTOPEN
                    | code::PROTOCOL
            )
        ),
    };
    let why = match &error {
        Error::Database(database) => database.message().to_owned(),
        other => other.to_string(),
    };
    if unwritable { StoreError::Unwritable(why) } else { StoreError::Failed(why) }
}
