//! The database. The only place where SQL stands.
//!
//! `sql` maps rows and core's words, `sqlite` is the store on `SQLite`. What the data mean is core's
//! business; nothing here decides who may do what.

mod sql;
mod sqlite;

pub use sqlite::{OpenError, SqliteStore};
