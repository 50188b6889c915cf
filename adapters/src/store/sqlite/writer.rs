//! The one connection that writes, and the thread that owns it.
//!
//! Use cases queue up here. What waits at one moment becomes one transaction: a commit costs a sync
//! of the disk, whoever shares it. Each use case has a savepoint, so that one that fails undoes
//! nothing of the others. Answers are given after the commit, never before. A use case whose caller
//! is gone meanwhile is done all the same.
//!
//! What is answered is on the disk, except where a use case says that it can be done again
//! ([`Manner::synced`]): a process that is killed loses nothing of that either, a power cut takes it
//! back, and the next commit that is synced carries it along.
//!
//! A use case of one statement that is alone needs no transaction around it.

use std::panic::AssertUnwindSafe;
use std::{fmt, io, thread};

use atlas_core::ports::StoreError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::error::store_error;
use super::line::{AWAKE, Line};

/// The most use cases in one transaction.
const GROUP: usize = 128;

/// What the work of a use case comes to.
pub(super) type Work<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// How a use case is to be committed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// On the disk before it is answered. Not needed where nobody outside is told of it and whoever
    /// finds it gone does the same again: a claim, an opened turn.
    synced: bool,
    /// It is one statement, and so a transaction by itself.
    single: bool,
}

impl Manner {
    /// Any use case.
    pub(super) const WHOLE: Self = Self { synced: true, single: false };
    /// One statement.
    pub(super) const STATEMENT: Self = Self { synced: true, single: true };
    /// What can be done again.
    pub(super) const AGAIN: Self = Self { synced: false, single: false };
    /// One statement that can be done again.
    pub(super) const STATEMENT_AGAIN: Self = Self { synced: false, single: true };
}

/// The way to the thread that writes.
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
    Write(Manner, Box<dyn Job>),
    /// On the same connection, outside of any.
    Read(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

/// A use case in the queue, with the way back to its caller.
trait Job: Send {
    /// Does the work and keeps what came of it.
    fn run<'c>(&'c mut self, line: &'c mut Line) -> Work<'c, ()>;

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
    F: for<'c> FnOnce(&'c mut Line) -> Work<'c, T> + Send + 'static,
{
    fn run<'c>(&'c mut self, line: &'c mut Line) -> Work<'c, ()> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return Ok(()) };
            let outcome = work(line).await;
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
    /// Starts the thread that owns `connection`. `options` make a new one where it is lost.
    ///
    /// A thread of its own, because each order's answer wakes whoever waits for it: one thread costs
    /// a good deal less to wake than a runtime of several, of which the caller is woken once.
    pub(super) fn start(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
    ) -> io::Result<Self> {
        let (queue, orders) = mpsc::unbounded_channel();
        let desk = Desk { line: Some(Line::new(connection)), options, syncs: Some(true) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        thread::Builder::new()
            .name("atlas-store".to_owned())
            .spawn(move || runtime.block_on(desk.work(orders)))?;
        Ok(Self { queue })
    }

    /// Does `work` in a transaction, alone or with others.
    pub(super) async fn write<T, F>(&self, manner: Manner, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Line) -> Work<'c, T> + Send + 'static,
    {
        self.order(work, |job| Order::Write(manner, job)).await
    }

    /// Asks something that only this connection can tell.
    pub(super) async fn ask<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Line) -> Work<'c, T> + Send + 'static,
    {
        self.order(work, Order::Read).await
    }

    async fn order<T, F>(
        &self,
        work: F,
        order: impl FnOnce(Box<dyn Job>) -> Order,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Line) -> Work<'c, T> + Send + 'static,
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

/// The thread's own: the connection, and how to get another.
struct Desk {
    line: Option<Line>,
    options: SqliteConnectOptions,
    /// Whether the connection syncs at a commit, as a new one does. None where that is not known.
    syncs: Option<bool>,
}

/// Use cases that share a transaction.
#[derive(Default)]
struct Group {
    jobs: Vec<Box<dyn Job>>,
    synced: bool,
    /// It is one statement.
    single: bool,
}

impl Group {
    fn push(&mut self, manner: Manner, job: Box<dyn Job>) {
        self.single = manner.single && self.jobs.is_empty();
        self.synced |= manner.synced;
        self.jobs.push(job);
    }
}

impl Desk {
    async fn work(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut closers = Vec::new();
        let mut waiting = Vec::with_capacity(GROUP);
        while next(&mut orders, &mut waiting).await > 0 {
            let mut group = Group::default();
            for order in waiting.drain(..) {
                match order {
                    Order::Write(manner, job) => group.push(manner, job),
                    Order::Read(job) => self.read(job).await,
                    Order::Close(done) => {
                        orders.close();
                        closers.push(done);
                    }
                }
            }
            self.write(group).await;
        }
        if let Some(line) = self.line.take()
            && let Err(error) = line.close().await
        {
            warn!("the database was not closed cleanly, which loses nothing: {error}");
        }
        for done in closers {
            let _ = done.send(());
        }
    }

    /// The connection; a new one where the last was given up.
    async fn connected(&mut self) -> Result<&mut Line, StoreError> {
        let line = match self.line.take() {
            Some(line) => line,
            None => {
                self.syncs = Some(true);
                Line::new(self.options.connect().await.map_err(store_error)?)
            }
        };
        Ok(self.line.insert(line))
    }

    async fn read(&mut self, mut job: Box<dyn Job>) {
        let kept = match self.connected().await {
            Ok(line) => guarded(&mut *job, line).await,
            Err(error) => Err(error),
        };
        if matches!(kept, Err(StoreError::Unwritable(_))) {
            self.line = None;
        }
        job.answer(kept);
    }

    async fn write(&mut self, mut group: Group) {
        if group.jobs.is_empty() {
            return;
        }
        let kept = self.commit(&mut group).await;
        for job in group.jobs {
            job.answer(kept.clone());
        }
    }

    /// Runs the group and commits. An error says that nothing was kept of any of them.
    async fn commit(&mut self, group: &mut Group) -> Result<(), StoreError> {
        self.connected().await?;
        let turned = self.syncs != Some(group.synced);
        let line = self.connected().await?;
        if turned {
            line.before_next(if group.synced { FULL } else { NORMAL });
        }
        let kept = match &mut *group.jobs {
            [job] if group.single => guarded(&mut **job, line).await,
            jobs => transaction(line, jobs).await,
        };
        if let Err(error) = &kept
            && !takes_back(line, group.single, error).await
        {
            self.line = None;
        }
        // Of a group that failed nobody knows whether it came as far as the turning.
        self.syncs = kept.is_ok().then_some(group.synced);
        kept
    }
}

/// Waits for orders, awake at first: the use cases of a turn follow each other closely, and to be woken
/// costs more than most of them.
async fn next(orders: &mut mpsc::UnboundedReceiver<Order>, waiting: &mut Vec<Order>) -> usize {
    for _ in 0..AWAKE {
        if !orders.is_empty() || orders.is_closed() {
            break;
        }
        thread::yield_now();
    }
    orders.recv_many(waiting, GROUP).await
}

const FULL: &str = "PRAGMA synchronous = FULL";
const NORMAL: &str = "PRAGMA synchronous = NORMAL";

async fn transaction(line: &mut Line, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    line.before_next("BEGIN IMMEDIATE");
    if let [job] = jobs {
        guarded(&mut **job, line).await?;
    } else {
        for job in jobs {
            line.before_next("SAVEPOINT use_case");
            match guarded(&mut **job, line).await {
                Ok(()) => {}
                Err(StoreError::Unwritable(why)) => return Err(StoreError::Unwritable(why)),
                Err(_) => line.before_next("ROLLBACK TO use_case"),
            }
            line.before_next("RELEASE use_case");
        }
    }
    line.order("COMMIT").await
}

/// Takes back what a group that failed has begun. False where `SQLite` rolled back by itself, or the
/// connection is of no use: a new one is right in both cases.
async fn takes_back(line: &mut Line, single: bool, error: &StoreError) -> bool {
    line.forget();
    if single {
        return !matches!(error, StoreError::Unwritable(_));
    }
    line.order("ROLLBACK").await.is_ok()
}

/// Runs a use case. A bug that one of them meets ends that one: the others keep their database.
async fn guarded(job: &mut dyn Job, line: &mut Line) -> Result<(), StoreError> {
    AssertUnwindSafe(job.run(line)).catch_unwind().await.unwrap_or_else(|_| {
        error!("a bug broke off a use case of the database; nothing of it was kept");
        Err(StoreError::Failed("a bug broke it off".to_owned()))
    })
}
