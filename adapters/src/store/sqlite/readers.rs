//! The connections that read.
//!
//! A pool of a library's tests each connection when it comes back, which is one more trip to another
//! thread for every question. Here a connection on which a question failed is given up, and any other
//! is taken as it is.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atlas_core::ports::StoreError;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow};
use sqlx::{ConnectOptions, Connection, Decode, Row, Sqlite, SqliteConnection, Type};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::store_error;

/// How many questions are answered at once. Each connection is a thread and a page cache, made when it
/// is first needed.
const SEATS: usize = 3;

/// A question with what is bound to it.
pub(super) type Asked<'q> = Query<'q, Sqlite, SqliteArguments>;

/// The way to the connections that read. Clones share them.
#[derive(Clone)]
pub(super) struct Readers(Arc<Room>);

struct Room {
    seats: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
    options: SqliteConnectOptions,
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").finish_non_exhaustive()
    }
}

/// A connection for one question. It goes back when this is dropped, also where whoever asked went away
/// meanwhile: it ends that question before it takes up the next.
struct Seat<'r> {
    room: &'r Room,
    /// None where a question failed on it.
    connection: Option<SqliteConnection>,
    _permit: SemaphorePermit<'r>,
}

impl Readers {
    /// Connects nobody yet.
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        let (seats, idle) = (Semaphore::new(SEATS), Mutex::default());
        Self(Arc::new(Room { seats, idle, options }))
    }

    /// The rows of an answer.
    pub(super) async fn all(&self, query: Asked<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        let mut seat = self.seat().await?;
        let rows = query.fetch_all(seat.connection()?).await;
        seat.told(rows)
    }

    /// The first row of an answer.
    pub(super) async fn first(&self, query: Asked<'_>) -> Result<Option<SqliteRow>, StoreError> {
        let mut seat = self.seat().await?;
        let row = query.fetch_optional(seat.connection()?).await;
        seat.told(row)
    }

    /// The first column of every row.
    pub(super) async fn values<T>(&self, query: Asked<'_>) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
    {
        let rows = self.all(query).await?;
        rows.iter().map(|row| row.try_get(0).map_err(store_error)).collect()
    }

    /// The first column of the first row.
    pub(super) async fn value<T>(&self, query: Asked<'_>) -> Result<Option<T>, StoreError>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
    {
        let row = self.first(query).await?;
        row.map(|row| row.try_get(0).map_err(store_error)).transpose()
    }

    async fn seat(&self) -> Result<Seat<'_>, StoreError> {
        let permit = self.0.seats.acquire().await.map_err(|_| closed())?;
        let idle = self.0.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Seat { room: &self.0, connection: Some(connection), _permit: permit })
    }

    /// A connection of its own.
    pub(super) async fn connect(&self) -> Result<SqliteConnection, StoreError> {
        self.0.options.connect().await.map_err(store_error)
    }

    /// Closes what is idle; what is at work closes when it is done. Questions that come later fail.
    pub(super) async fn close(&self) {
        self.0.seats.close();
        let idle = std::mem::take(&mut *self.0.idle());
        for connection in idle {
            // It has nothing to lose.
            let _ = connection.close().await;
        }
    }
}

impl Room {
    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat<'_> {
    fn connection(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        self.connection.as_mut().ok_or_else(closed)
    }

    /// Passes an answer on, and gives the connection up where it is an error.
    fn told<T>(&mut self, answer: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        if answer.is_err() {
            self.connection = None;
        }
        answer.map_err(store_error)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.room.seats.is_closed()
        {
            self.room.idle().push(connection);
        }
    }
}

fn closed() -> StoreError {
    StoreError::Failed("the database is closed".to_owned())
}
