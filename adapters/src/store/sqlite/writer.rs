//! The one connection that writes, and the task that owns it.
//!
//! Use cases queue up here. What waits at one moment becomes one transaction: a commit costs a sync
//! of the disk, whoever shares it. Each use case has a savepoint, so that one that fails undoes
//! nothing of the others. Answers are given after the commit, never before. A use case whose caller
//! is gone meanwhile is done all the same.

use std::fmt;

use atlas_core::ports::StoreError;
use futures_util::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::error::store_error;

/// The most use cases in one transaction.
const GROUP: usize = 128;

/// What the work of a use case comes to.
pub(super) type Work<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// The way to the task that writes.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::UnboundedSender<Order>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

enum Order {
    /// Within a transaction.
    Write(Box<dyn Job>),
    /// On the same connection, outside of any.
    Read(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

/// A use case in the queue, with the way back to its caller.
trait Job: Send {
    /// Does the work and keeps what came of it.
    fn run<'c>(&'c mut self, connection: &'c mut SqliteConnection) -> Work<'c, ()>;

    /// Tells the caller: what came of the work, or why nothing of it was kept.
    fn answer(self: Box<Self>, kept: Result<(), StoreError>);
}

struct UseCase<T, F> {
    work: Option<F>,
    outcome: Option<Result<T, StoreError>>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for UseCase<T, F>
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
{
    fn run<'c>(&'c mut self, connection: &'c mut SqliteConnection) -> Work<'c, ()> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return Ok(()) };
            let outcome = work(connection).await;
            let told = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
            self.outcome = Some(outcome);
            told
        })
    }

    fn answer(self: Box<Self>, kept: Result<(), StoreError>) {
        let answer = match (kept, self.outcome) {
            (Err(error), Some(Ok(_)) | None) => Err(error),
            (_, Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Failed("the use case was not run".to_owned())),
        };
        // A caller that stopped waiting needs no answer.
        let _ = self.caller.send(answer);
    }
}

impl Writer {
    /// Starts the task that owns `connection`. `options` make a new one where it is lost.
    pub(super) fn start(connection: SqliteConnection, options: SqliteConnectOptions) -> Self {
        let (queue, orders) = mpsc::unbounded_channel();
        let desk = Desk { connection: Some(connection), options };
        #[expect(
            clippy::disallowed_methods,
            reason = "the connection that writes belongs to the store, which lives as long as its \
                      callers and is no worker of the gateway"
        )]
        tokio::spawn(desk.work(orders));
        Self { queue }
    }

    /// Does `work` in a transaction, alone or with others.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        self.order(work, Order::Write).await
    }

    /// Asks something that only this connection can tell.
    pub(super) async fn ask<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        self.order(work, Order::Read).await
    }

    async fn order<T, F>(&self, work: F, order: fn(Box<dyn Job>) -> Order) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        let closed = || StoreError::Failed("the database is closed".to_owned());
        let (caller, answer) = oneshot::channel();
        let job = Box::new(UseCase { work: Some(work), outcome: None, caller });
        self.queue.send(order(job)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Does what is queued, closes the connection, and takes nothing more.
    pub(super) async fn close(&self) {
        let (done, wait) = oneshot::channel();
        if self.queue.send(Order::Close(done)).is_ok() {
            // An error says that the task is gone already.
            let _ = wait.await;
        }
    }
}

/// The task's own: the connection, and how to get another.
struct Desk {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
}

impl Desk {
    async fn work(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut closers = Vec::new();
        let mut waiting = Vec::with_capacity(GROUP);
        while orders.recv_many(&mut waiting, GROUP).await > 0 {
            let mut group = Vec::with_capacity(waiting.len());
            for order in waiting.drain(..) {
                match order {
                    Order::Write(job) => group.push(job),
                    Order::Read(job) => self.read(job).await,
                    Order::Close(done) => {
                        orders.close();
                        closers.push(done);
                    }
                }
            }
            self.write(group).await;
        }
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            warn!("the database was not closed cleanly, which loses nothing: {error}");
        }
        for done in closers {
            let _ = done.send(());
        }
    }

    /// The connection; a new one where the last was given up.
    async fn connected(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await.map_err(store_error)?,
        };
        Ok(self.connection.insert(connection))
    }

    async fn read(&mut self, mut job: Box<dyn Job>) {
        let kept = match self.connected().await {
            Ok(connection) => job.run(connection).await,
            Err(error) => Err(error),
        };
        if matches!(kept, Err(StoreError::Unwritable(_))) {
            self.connection = None;
        }
        job.answer(kept);
    }

    async fn write(&mut self, mut group: Vec<Box<dyn Job>>) {
        if group.is_empty() {
            return;
        }
        let kept = match self.connected().await {
            Ok(connection) => {
                let kept = transaction(connection, &mut group).await;
                if kept.is_err() && execute(connection, "ROLLBACK").await.is_err() {
                    // SQLite rolled back by itself, or the connection is of no use: a new one is
                    // right in both cases.
                    self.connection = None;
                }
                kept
            }
            Err(error) => Err(error),
        };
        for job in group {
            job.answer(kept.clone());
        }
    }
}

/// Runs the group and commits. An error says that nothing was kept of any of them.
async fn transaction(
    connection: &mut SqliteConnection,
    group: &mut [Box<dyn Job>],
) -> Result<(), StoreError> {
    execute(connection, "BEGIN IMMEDIATE").await?;
    if let [job] = group {
        job.run(connection).await?;
    } else {
        for job in &mut *group {
            execute(connection, "SAVEPOINT use_case").await?;
            let end = match job.run(connection).await {
                Ok(()) => "RELEASE use_case",
                Err(StoreError::Unwritable(why)) => return Err(StoreError::Unwritable(why)),
                Err(_) => "ROLLBACK TO use_case; RELEASE use_case",
            };
            execute(connection, end).await?;
        }
    }
    execute(connection, "COMMIT").await
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StoreError> {
    sqlx::query(sql).execute(connection).await.map(drop).map_err(store_error)
}
