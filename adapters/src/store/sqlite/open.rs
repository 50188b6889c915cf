//! Opening the file: whose it is, how old its schema is, and the pragmas.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};
use thiserror::Error;

use super::error::{is_busy, is_no_access, is_no_database};
use super::readers::Readers;

/// The schema, step by step. Each runs once in the life of a home.
static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// `PRAGMA application_id` of a home's database; the first migration sets it.
const APPLICATION_ID: i64 = 1_098_148_961;

/// How long one process waits for another that writes.
const BUSY: Duration = Duration::from_secs(5);

/// Why the database could not be opened, and what to do about it.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A folder has its name.
    #[error("{} is a folder, and the database belongs there as a file. Move the folder away", path.display())]
    Folder {
        /// Where.
        path: PathBuf,
    },
    /// This user may not read or write it, or its folder is missing.
    #[error(
        "the database {} cannot be opened for reading and writing: {why}. Give this user access to \
         it and to its folder, or start as the user that it belongs to",
        path.display()
    )]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// The file is damaged, or something else altogether.
    #[error(
        "{} is not a database, or it is damaged. Move it away and put a backup in its place; \
         without one, the next start makes a new database",
        path.display()
    )]
    NotADatabase {
        /// Where.
        path: PathBuf,
    },
    /// A database, and not of this program.
    #[error(
        "{} is a database of another program. Move it away, or choose another home",
        path.display()
    )]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// A later version has written it.
    #[error(
        "the database {} was written by a later version (schema {found}, this one knows {known}). \
         Start that version, or a backup from before the upgrade",
        path.display()
    )]
    Newer {
        /// Where.
        path: PathBuf,
        /// The schema of the file.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// Anything else.
    #[error("the database {} cannot be opened: {why}. Try again; if it stays, restore a backup", path.display())]
    Other {
        /// Where.
        path: PathBuf,
        /// What `SQLite` says.
        why: String,
    },
}

impl OpenError {
    /// Whatever else stands in the way.
    pub(super) fn other(path: &Path, why: &impl ToString) -> Self {
        Self::Other { path: path.to_owned(), why: why.to_string() }
    }
}

/// The connection that writes, the options to make it again, and the pool that reads.
pub(super) async fn open(
    path: &Path,
) -> Result<(SqliteConnection, SqliteConnectOptions, Readers), OpenError> {
    make_file(path).await?;
    let writing = options(path).journal_mode(SqliteJournalMode::Wal);
    let mut writer = connect(&writing).await.map_err(|error| classify(path, &error))?;
    take_up(path, &mut writer).await?;
    let readers = Readers::new(options(path).pragma("query_only", "ON"));
    Ok((writer, writing, readers))
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY)
        // A log that grew in a burst is cut back at its next checkpoint.
        .pragma("journal_size_limit", "67108864")
        .statement_cache_capacity(512)
        .row_buffer_size(1024)
        .disable_statement_logging()
}

/// Makes the file where there is none, for this user alone, and tells what stands in its way.
async fn make_file(path: &Path) -> Result<(), OpenError> {
    let mut new = tokio::fs::OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    new.mode(0o600);
    match new.open(path).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match tokio::fs::metadata(path).await {
                Ok(found) if found.is_dir() => Err(OpenError::Folder { path: path.to_owned() }),
                Ok(_) => Ok(()),
                Err(error) => Err(unreadable(path, error)),
            }
        }
        Err(error) => Err(unreadable(path, error)),
    }
}

fn unreadable(path: &Path, why: impl ToString) -> OpenError {
    OpenError::Unreadable { path: path.to_owned(), why: why.to_string() }
}

fn classify(path: &Path, error: &sqlx::Error) -> OpenError {
    if is_no_database(error) {
        OpenError::NotADatabase { path: path.to_owned() }
    } else if is_no_access(error) {
        unreadable(path, error)
    } else {
        OpenError::other(path, error)
    }
}

/// Connects. Two processes that make the same database at once get in each other's way when they
/// switch it to WAL, which `SQLite` does not wait for by itself.
async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    let pause = Duration::from_millis(10);
    let mut left = BUSY;
    loop {
        match options.connect().await {
            Err(error) if is_busy(&error) && !left.is_zero() => {
                tokio::time::sleep(pause).await;
                left = left.saturating_sub(pause);
            }
            other => return other,
        }
    }
}

/// Brings the schema up to date, if the file is ours and no newer than this program.
async fn take_up(path: &Path, connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let fail = |error: sqlx::Error| classify(path, &error);
    let found = sqlx::query(
        "SELECT (SELECT application_id FROM pragma_application_id) AS application, \
         (SELECT count(*) FROM sqlite_schema) AS objects, \
         (SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations') AS migrated",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(fail)?;
    let (application, objects, migrated): (i64, i64, i64) = (
        found.try_get("application").map_err(fail)?,
        found.try_get("objects").map_err(fail)?,
        found.try_get("migrated").map_err(fail)?,
    );
    if objects > 0 && application != APPLICATION_ID {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    if migrated > 0 && is_current(path, connection).await? {
        return Ok(());
    }
    migrate(connection)
        .await
        .map_err(|error| OpenError::Other { path: path.to_owned(), why: error.to_string() })
}

/// Whether every migration has run, and none that this program does not know.
async fn is_current(path: &Path, connection: &mut SqliteConnection) -> Result<bool, OpenError> {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
            .fetch_one(connection)
            .await
            .map_err(|error| classify(path, &error))?;
    let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default();
    match found {
        Some(found) if found > known => {
            Err(OpenError::Newer { path: path.to_owned(), found, known })
        }
        found => Ok(found == Some(known)),
    }
}

/// All of it in one transaction that no other process can stand in the middle of.
async fn migrate(connection: &mut SqliteConnection) -> Result<(), sqlx::migrate::MigrateError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    MIGRATIONS.run_direct(None, &mut *transaction, false).await?;
    transaction.commit().await?;
    Ok(())
}
