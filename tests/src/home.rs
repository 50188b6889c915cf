//! A home of a test: a folder with a configuration for the stand-ins, and what stands in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use atlas_adapters::store::SqliteStore;
use atlas_core::ports::Store;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};
use tempfile::TempDir;

use crate::bell::runtime;

/// A home that goes away with the test.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// An empty one.
    ///
    /// # Panics
    ///
    /// Where no folder can be made.
    #[must_use]
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for the home") }
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// What a file holds; empty where there is none.
    #[must_use]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap_or_default()
    }

    /// Writes a file, as a person's editor does.
    ///
    /// # Panics
    ///
    /// Where it cannot be written.
    pub fn write(&self, path: &str, text: &str) {
        let file = self.file(path);
        fs::create_dir_all(file.parent().expect("a folder above")).expect("folders in the home");
        fs::write(&file, text).expect("a file in the home");
    }

    /// Keeps a secret in the vault, as a person does: for nobody else to read.
    ///
    /// # Panics
    ///
    /// Where it cannot be written.
    pub fn keep_secret(&self, name: &str, secret: &str) {
        let path = format!("vault/{name}");
        self.write(&path, secret);
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(self.file(&path), mode).expect("the secret's mode");
    }

    /// The files below a folder whose names hold `part`, sorted.
    #[must_use]
    pub fn files_with(&self, folder: &str, part: &str) -> Vec<String> {
        let entries = fs::read_dir(self.file(folder)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.contains(part)).collect();
        names.sort();
        names
    }

    /// What is left to be done in the database: turns, commands, deliveries. Empty is good.
    ///
    /// # Panics
    ///
    /// Where the database cannot be read.
    #[must_use]
    pub fn left_over(&self) -> Vec<String> {
        let file = self.file("atlas.db");
        if !file.exists() {
            return Vec::new();
        }
        runtime().block_on(async {
            let store = SqliteStore::open(&file).await.expect("the home's database");
            let mut left = Vec::new();
            for work in store.open_work().await.expect("open work") {
                left.push(format!("a conversation with work to do: {work:?}"));
            }
            for command in store.pending_commands().await.expect("commands") {
                left.push(format!("a command without answer: {:?}", command.inbound.text));
            }
            let mut connection = self.connect().await.expect("the home's database");
            // No use case tells of deliveries that somebody has claimed just now.
            let open = "SELECT json_array(account, chat, text) FROM outbox WHERE open = 1";
            for row in sqlx::query(open).fetch_all(&mut connection).await.expect("the outbox") {
                left.push(format!("a message not delivered: {}", row.get::<String, _>(0)));
            }
            for intent in store.open_intents(None).await.expect("intents") {
                left.push(format!("an unsettled intent: {intent:?}"));
            }
            left
        })
    }

    /// The answers to a question in SQL, each row as a JSON array. For what no port tells.
    ///
    /// # Panics
    ///
    /// Where the database cannot be read.
    #[must_use]
    pub fn rows(&self, sql: &str) -> Vec<String> {
        runtime().block_on(async {
            let mut connection = self.connect().await.expect("the home's database");
            let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await;
            rows.expect("rows").iter().map(|row| row.get::<String, _>(0)).collect()
        })
    }

    /// Damages the database, as no program should: rows that this statement changed.
    ///
    /// # Panics
    ///
    /// Where the statement fails.
    #[must_use]
    pub fn damage(&self, sql: &str) -> u64 {
        runtime().block_on(async {
            let options = SqliteConnectOptions::new().filename(self.file("atlas.db"));
            let mut connection = options.connect().await.expect("the home's database");
            let done = sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await;
            done.expect("a statement").rows_affected()
        })
    }

    async fn connect(&self) -> sqlx::Result<SqliteConnection> {
        SqliteConnectOptions::new().filename(self.file("atlas.db")).read_only(true).connect().await
    }

    /// The last rows of every table, for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        if !self.file("atlas.db").exists() {
            return "no database yet\n".to_owned();
        }
        let dump = runtime().block_on(self.dump());
        dump.unwrap_or_else(|error| format!("the database cannot be read: {error}\n"))
    }

    async fn dump(&self) -> sqlx::Result<String> {
        let mut connection = self.connect().await?;
        let columns = "SELECT m.name, json_group_array(c.name) FROM sqlite_master m \
                       JOIN pragma_table_info(m.name) c WHERE m.type = 'table' \
                       AND m.name NOT LIKE '\\_%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite%' \
                       GROUP BY m.name";
        let mut text = String::new();
        for table in sqlx::query(columns).fetch_all(&mut connection).await? {
            let (name, columns): (String, String) = (table.get(0), table.get(1));
            let columns: Vec<String> = serde_json::from_str(&columns).unwrap_or_default();
            // A payload or a file's text is shown by its beginning.
            let shown = columns.iter().map(|column| {
                format!("substr(iif(typeof(\"{column}\") = 'blob', hex(\"{column}\"), \"{column}\"), 1, 300)")
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            let sql = format!("SELECT json_array({shown}) FROM \"{name}\" LIMIT 60");
            let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await?;
            if !rows.is_empty() {
                text += &format!("table {name} ({})\n", columns.join(", "));
            }
            for row in rows {
                text += &format!("  {}\n", row.get::<String, _>(0));
            }
        }
        Ok(text)
    }
}
