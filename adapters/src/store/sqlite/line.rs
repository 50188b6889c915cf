//! The connection that writes, as use cases are given it: what is to be ordered before the next order
//! goes along with it.
//!
//! Each order to `SQLite` is a trip to the connection's thread and back, which costs more than most
//! statements. So the lines that begin a transaction and stand between its use cases make no trips of
//! their own, and the thread that ordered stays awake a moment for what is told of each statement.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::{future, thread};

use atlas_core::ports::StoreError;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, Stream};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use sqlx::sqlite::{
    SqliteArguments, SqliteQueryResult, SqliteRow, SqliteStatement, SqliteTypeInfo,
};
use sqlx::{
    AssertSqlSafe, Connection, Describe, Either, Error, Execute, Executor, SqlSafeStr, SqlStr,
    Sqlite, SqliteConnection,
};

use super::error::store_error;

/// How often the processor is given away before this thread sleeps: some 50 microseconds where nobody
/// else wants it.
pub(super) const AWAKE: usize = 100;

/// An open connection that writes.
#[derive(Debug)]
pub(super) struct Line {
    connection: SqliteConnection,
    /// Statements that go along with the next order.
    before: String,
    /// How many they are.
    waiting: usize,
}

impl Line {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self { connection, before: String::new(), waiting: 0 }
    }

    /// Puts a statement without parameters and rows before the next order.
    pub(super) fn before_next(&mut self, statement: &'static str) {
        self.before.push_str(statement);
        self.before.push_str(";\n");
        self.waiting += 1;
    }

    /// Leaves out what no order has taken along.
    pub(super) fn forget(&mut self) {
        self.before.clear();
        self.waiting = 0;
    }

    /// Orders something without parameters and rows.
    pub(super) async fn order(&mut self, statement: &'static str) -> Result<(), StoreError> {
        sqlx::query(statement).execute(self).await.map(drop).map_err(store_error)
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        self.connection.close().await
    }

    /// The query behind what goes before it, and how many results are not its own.
    fn whole<'q, E: Execute<'q, Sqlite>>(&mut self, mut query: E) -> Result<(Whole, usize), Error> {
        let arguments = query.take_arguments().map_err(Error::Encode)?.unwrap_or_default();
        let sql = query.sql();
        let sql = if self.waiting == 0 {
            sql
        } else {
            AssertSqlSafe(format!("{}{}", self.before, sql.as_str())).into_sql_str()
        };
        let not_its_own = self.waiting;
        self.forget();
        Ok((sqlx::query_with(sql, arguments), not_its_own))
    }
}

/// What is told of an order, waited for awake. Each statement tells something, microseconds after the
/// one before: to sleep and be woken for each would cost more than all of them. The thread is the
/// store's own, so that it holds up nobody.
struct Awake<S>(S);

impl<S: Stream + Unpin> Stream for Awake<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        // Nobody has to be woken who looks again at once.
        let mut awake = Context::from_waker(Waker::noop());
        for _ in 0..AWAKE {
            let told = self.0.poll_next_unpin(&mut awake);
            if told.is_ready() {
                return told;
            }
            thread::yield_now();
        }
        self.0.poll_next_unpin(context)
    }
}

type Whole = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

impl<'c> Executor<'c> for &'c mut Line {
    type Database = Sqlite;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<SqliteQueryResult, SqliteRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        let (query, mut not_its_own) = match self.whole(query) {
            Ok(whole) => whole,
            Err(error) => return stream::once(future::ready(Err(error))).boxed(),
        };
        let own = move |step: &Result<Either<_, _>, _>| {
            let skipped = not_its_own > 0 && matches!(step, Ok(Either::Left(_)));
            not_its_own -= usize::from(skipped);
            future::ready(!skipped)
        };
        Awake(self.connection.fetch_many(query)).filter(own).boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<SqliteRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Sqlite>,
    {
        // To its end: of a statement that is left behind its first row, the library does not tell
        // whether it could be committed.
        let steps = self.fetch_many(query);
        let first = |first: Option<SqliteRow>, step: Either<SqliteQueryResult, SqliteRow>| {
            future::ready(Ok(first.or(step.right())))
        };
        steps.try_fold(None, first).boxed()
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [SqliteTypeInfo],
    ) -> BoxFuture<'e, Result<SqliteStatement, Error>>
    where
        'c: 'e,
    {
        self.connection.prepare_with(sql, parameters)
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Sqlite>, Error>>
    where
        'c: 'e,
    {
        self.connection.describe(sql)
    }
}
