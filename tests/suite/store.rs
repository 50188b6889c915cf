//! The store on `SQLite`: the contract, and what only a file can do wrong.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use atlas_adapters::store::{OpenError, SqliteStore};
use atlas_core::ports::{Store, StoreError};
use atlas_tests::contract::store::{Database, Story, said};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

/// A file in a folder that goes away with it.
struct File {
    folder: TempDir,
}

impl File {
    fn path(&self) -> PathBuf {
        self.folder.path().join("atlas.db")
    }
}

#[async_trait]
impl Database for File {
    async fn open(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::open(&self.path()).await?))
    }
}

fn file() -> File {
    File { folder: TempDir::new().expect("a folder") }
}

atlas_tests::store_contract!(crate::store::file());

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite://{}?mode=rwc", path.display()))
        .await
        .expect("a connection")
}

#[tokio::test]
async fn a_folder_in_the_file_s_place_is_said_so() {
    let file = file();
    std::fs::create_dir(file.path()).unwrap();
    let error = SqliteStore::open(&file.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Folder { .. }), "{error}");
    assert!(error.to_string().contains("is a folder"), "{error}");
}

#[tokio::test]
async fn a_missing_folder_is_unreadable() {
    let file = file();
    let error = SqliteStore::open(&file.folder.path().join("no/atlas.db")).await.unwrap_err();
    assert!(matches!(error, OpenError::Unreadable { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let file = file();
    let garbage = "this is a letter, not a database. ".repeat(100);
    std::fs::write(file.path(), &garbage).unwrap();
    let error = SqliteStore::open(&file.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), garbage);
}

#[tokio::test]
async fn a_database_of_another_program_is_left_as_it_is() {
    let file = file();
    let mut other = raw(&file.path()).await;
    sqlx::query("CREATE TABLE songs (title TEXT)").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    let error = SqliteStore::open(&file.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
}

#[tokio::test]
async fn a_newer_schema_is_not_touched() {
    let file = file();
    SqliteStore::open(&file.path()).await.unwrap().close().await;
    let mut later = raw(&file.path()).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (999, 'later', 1, x'00', 0)",
    )
    .execute(&mut later)
    .await
    .unwrap();
    later.close().await.unwrap();
    let error = SqliteStore::open(&file.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 999, .. }), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_this_user_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let file = file();
    let _store = file.open().await.unwrap();
    for entry in std::fs::read_dir(file.folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
    }
}

#[tokio::test]
async fn processes_that_make_the_same_database_at_once_both_succeed() {
    for _ in 0..5 {
        let file = file();
        let path = file.path();
        let opened = futures_util::future::join_all((0..4).map(|_| SqliteStore::open(&path))).await;
        for store in opened {
            store.unwrap().check().await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_was_stored_is_there_after_closing_and_opening() {
    let file = file();
    let store = SqliteStore::open(&file.path()).await.unwrap();
    let story = Story::begin(&file).await.unwrap();
    let (_, conversation) = story.say("5", 1).await.unwrap();
    store.close().await;
    let closed = store.check().await;
    assert!(matches!(closed, Err(StoreError::Failed(_))), "{closed:?}");
    let again = file.open().await.unwrap();
    assert_eq!(again.pending(conversation).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_writers_of_two_processes_lose_nothing() {
    let file = file();
    let story = Story::begin(&file).await.unwrap();
    let other = file.open().await.unwrap();
    let writers = (0..20).map(|writer| {
        let store = if writer % 2 == 0 { story.store.clone() } else { other.clone() };
        let bot = story.bot;
        async move {
            for n in 0..25 {
                store.accept(&[said(bot, &writer.to_string(), n)]).await.unwrap();
            }
        }
    });
    futures_util::future::join_all(writers).await;
    let mut stored = 0;
    for work in story.store.open_work().await.unwrap() {
        stored += story.store.pending(work.conversation).await.unwrap().len();
    }
    assert_eq!(stored, 20 * 25);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named() {
    let file = file();
    let story = Story::begin(&file).await.unwrap();
    let (inbox, conversation) = story.say("5", 1).await.unwrap();
    let mut raw = raw(&file.path()).await;
    sqlx::query("UPDATE inbox SET inbound = '{\"secret\": 1}'").execute(&mut raw).await.unwrap();
    let error = story.store.pending(conversation).await.unwrap_err().to_string();
    assert!(error.contains(&format!("row {inbox} of table inbox")), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[tokio::test]
async fn a_writer_that_stands_in_the_way_too_long_is_told_as_unwritable() {
    let file = file();
    let story = Story::begin(&file).await.unwrap();
    let mut other = raw(&file.path()).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let refused = story.store.check().await;
    assert!(matches!(refused, Err(StoreError::Unwritable(_))), "{refused:?}");
    sqlx::query("COMMIT").execute(&mut other).await.unwrap();
    story.store.check().await.unwrap();
}
