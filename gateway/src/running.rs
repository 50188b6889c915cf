//! An application at work: started in order, ended in order.
//!
//! What is left undone at the end is in the store, and the next start takes it up; so every wait
//! here has an end. The workers know best how long to finish what they began; the patience here is
//! for one that forgot.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_core::commands::Commands;
use atlas_core::conversation::Conversations;
use atlas_core::courier::Courier;
use atlas_core::engine::Engine;
use atlas_core::typing::Typing;
use sd_notify::NotifyState;
use tokio::sync::watch;

use crate::app::App;
use crate::commands::Failure;
use crate::workers::{Work, Worker, end_all, watch_commits};

/// How long turns may take at the end: 20 s for the step in progress, and a moment to give back.
const TURNS: Duration = Duration::from_secs(22);
/// How long what is due may take to be sent.
const OUTBOX: Duration = Duration::from_secs(12);
/// How long everything else may take, each.
const OTHERS: Duration = Duration::from_secs(5);

/// An application at work.
pub struct Running {
    app: App,
    sources: Vec<Worker>,
    turns: Vec<Worker>,
    courier: Vec<Worker>,
    watchers: Vec<Worker>,
}

impl Running {
    /// Starts all work. From here on the intake is open.
    ///
    /// # Errors
    ///
    /// The database does not answer.
    pub async fn start(app: App) -> Result<Self, Failure> {
        let engine = &app.engine;
        app.presence.tidy(&engine.store.holders().await?);
        // Before the first turn: it must not read a file that a crash left half decided.
        if let Err(error) = app.writer.settle_open_intents().await {
            tracing::error!(%error, "A write to memory is still undecided; its file is left alone");
        }
        let commits =
            worker("commits", engine, |engine, stop| Box::pin(watch_commits(engine, stop)));
        let typing = worker("typing", engine, |engine, stop| {
            Box::pin(async move { Typing::new(engine).run(stop).await })
        });
        let courier = vec![worker("courier", engine, |engine, stop| {
            Box::pin(async move { Courier::new(engine).run(stop).await })
        })];
        let turns = vec![
            worker("conversations", engine, |engine, stop| {
                Box::pin(async move { Conversations::new(engine).run(stop).await })
            }),
            worker("commands", engine, |engine, stop| {
                Box::pin(async move { Commands::new(engine).run(stop).await })
            }),
        ];
        let sources = sources(&app);
        let mut watchers = vec![commits, typing];
        if let Some(reload) = app.reload.clone() {
            watchers.push(Worker::start("configuration", move |stop| {
                let reload = reload.clone();
                Box::pin(async move { reload.run(stop).await })
            }));
        }
        Ok(Self { app, sources, turns, courier, watchers })
    }

    /// The parts at work.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Ends all work: nothing new comes in, steps in progress are finished, what is due is sent.
    pub async fn end(self) {
        self.end_within(TURNS).await;
    }

    /// Like [`Self::end`], with another patience for turns.
    pub async fn end_within(self, turns: Duration) {
        end_all(self.sources, OTHERS).await;
        end_all(self.turns, turns).await;
        end_all(self.courier, OUTBOX.min(turns)).await;
        end_all(self.watchers, OTHERS).await;
    }
}

impl App {
    /// Runs until `stop` is true, and ends cleanly. `started` is when the process was.
    ///
    /// # Errors
    ///
    /// The database does not answer at the start.
    pub async fn run(
        self,
        mut stop: watch::Receiver<bool>,
        started: Instant,
    ) -> Result<(), Failure> {
        let running = Running::start(self).await?;
        let ready_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(ready_ms, "Atlas is ready");
        tell_service_manager(NotifyState::Ready);
        let _ = stop.wait_for(|stop| *stop).await;
        tracing::info!("Atlas is ending; steps in progress are finished first");
        tell_service_manager(NotifyState::Stopping);
        running.end().await;
        tracing::info!("Atlas has ended");
        Ok(())
    }
}

/// Tells systemd, where there is one.
fn tell_service_manager(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "The service manager could not be told");
    }
}

fn worker(
    name: &str,
    engine: &Arc<Engine>,
    work: fn(Arc<Engine>, watch::Receiver<bool>) -> Work,
) -> Worker {
    let engine = engine.clone();
    Worker::start(name, move |stop| work(engine.clone(), stop))
}

fn sources(app: &App) -> Vec<Worker> {
    let start = |(account, source): &(_, Arc<dyn atlas_core::ports::Source>)| {
        let (source, intake) = (source.clone(), app.intake.clone());
        Worker::start(format!("account {account}"), move |stop| {
            let (source, intake) = (source.clone(), intake.clone());
            Box::pin(async move { source.run(intake, stop).await })
        })
    };
    app.sources.iter().map(start).collect()
}
