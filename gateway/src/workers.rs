//! Tasks of the process: started, restarted when they break, ended in order.
//!
//! What a worker does is core's. Here is only that one of them never takes the others along.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use atlas_core::engine::Engine;
use atlas_core::ports::StoreError;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// How often another process's commits are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long a broken worker rests.
const REST: Duration = Duration::from_secs(1);

/// A worker's future, made anew for every start.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A running task and the switch that ends it.
pub struct Worker {
    name: String,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Worker {
    /// Starts a task that is started again whenever it breaks. It ends when it is stopped, or when
    /// it returns of itself.
    pub fn start(
        name: impl Into<String>,
        make: impl Fn(watch::Receiver<bool>) -> Work + Send + Sync + 'static,
    ) -> Self {
        Self::start_with_rest(name.into(), REST, make)
    }

    fn start_with_rest(
        name: String,
        rest: Duration,
        make: impl Fn(watch::Receiver<bool>) -> Work + Send + Sync + 'static,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let task = spawn(keep_up(name.clone(), rest, stopped, make));
        Self { name, stop, task }
    }

    /// Tells it to end, without waiting.
    pub fn tell(&self) {
        self.stop.send_replace(true);
    }

    /// Ends it: gives it `patience`, then breaks it off. Whether it ended by itself.
    pub async fn end(mut self, patience: Duration) -> bool {
        self.tell();
        if timeout(patience, &mut self.task).await.is_ok() {
            return true;
        }
        tracing::warn!(worker = self.name, "A worker did not end in time and is broken off");
        self.task.abort();
        false
    }
}

/// Ends workers side by side, within `patience` all together.
pub async fn end_all(workers: Vec<Worker>, patience: Duration) {
    workers.iter().for_each(Worker::tell);
    let deadline = Instant::now() + patience;
    for worker in workers {
        worker.end(deadline.saturating_duration_since(Instant::now())).await;
    }
}

/// Starts a task. Dropping the handle lets it run on.
#[expect(clippy::disallowed_methods, reason = "this is where the gateway's tasks start")]
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work)
}

async fn keep_up(
    name: String,
    rest: Duration,
    mut stopped: watch::Receiver<bool>,
    make: impl Fn(watch::Receiver<bool>) -> Work + Send + Sync,
) {
    loop {
        // A task of its own, so that a panic ends it and not this loop. It dies with the loop.
        let mut run = AbortOnDrop(spawn(make(stopped.clone())));
        if (&mut run.0).await.is_ok() {
            return;
        }
        if *stopped.borrow() {
            return;
        }
        tracing::error!(worker = name, "A worker broke off and is started again");
        let _ = timeout(rest, stopped.wait_for(|stop| *stop)).await;
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Rings this process's bells whenever another process of the home has committed.
pub async fn watch_commits(engine: Arc<Engine>, mut stop: watch::Receiver<bool>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = None;
    let mut trouble = Trouble::default();
    while tick(&mut ticks, &mut stop).await {
        let Some(version) = trouble.heed(engine.store.data_version().await) else { continue };
        if seen.replace(version).is_some_and(|before| before != version) {
            engine.bells.ring_all();
        }
    }
}

async fn tick(ticks: &mut tokio::time::Interval, stop: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => false,
        _ = ticks.tick() => true,
    }
}

/// Says once that the database fails, and once that it works again.
#[derive(Default)]
struct Trouble(bool);

impl Trouble {
    fn heed<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        match (&result, self.0) {
            (Err(error), false) => tracing::warn!(%error, "The database does not answer"),
            (Ok(_), true) => tracing::info!("The database answers again"),
            _ => {}
        }
        self.0 = result.is_err();
        result.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn a_worker_that_breaks_is_started_again() {
        let (starts, mut seen) = watch::channel(0);
        let worker = Worker::start_with_rest("test".to_owned(), MOMENT, move |mut stop| {
            starts.send_modify(|starts| *starts += 1);
            let nth = *starts.borrow();
            Box::pin(async move {
                assert!(nth >= 3, "broken on purpose");
                let _ = stop.wait_for(|stop| *stop).await;
            })
        });
        seen.wait_for(|starts| *starts == 3).await.unwrap();
        assert!(worker.end(Duration::from_secs(60)).await);
        assert_eq!(*seen.borrow(), 3);
    }

    #[tokio::test]
    async fn a_worker_that_hangs_is_broken_off() {
        let worker = Worker::start("test", |_| Box::pin(std::future::pending()));
        assert!(!worker.end(MOMENT).await);
    }

    #[tokio::test]
    async fn a_worker_that_returns_is_not_started_again() {
        let starts = Arc::new(AtomicU32::new(0));
        let counted = starts.clone();
        let mut worker = Worker::start("test", move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async {})
        });
        (&mut worker.task).await.unwrap();
        assert_eq!(starts.load(Ordering::SeqCst), 1);
    }
}
