//! How a test waits: for a fact, under one ceiling, woken by whatever happens in a stand-in.
//!
//! What the facts are is left to those who ask; the failure shows the whole state that they give.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::timeout;

/// The longest that a test waits for one fact.
pub const CEILING: Duration = Duration::from_secs(20);

/// How often a fact that rings no bell (a row of the database, a file) is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The runtime that all stand-ins of a test process work on.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime for the stand-ins")
    });
    &RUNTIME
}

/// Rings whenever anything changed in a stand-in or a process under test.
#[derive(Debug)]
pub struct Bell {
    rings: watch::Sender<u64>,
}

impl Bell {
    /// A bell, shared by everything of one test.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self { rings: watch::Sender::new(0) })
    }

    /// Something changed.
    pub fn ring(&self) {
        self.rings.send_modify(|rings| *rings += 1);
    }

    /// For a server's task: waits until `fact` holds.
    pub async fn hold<R>(&self, mut fact: impl FnMut() -> Option<R>) -> R {
        let mut rings = self.rings.subscribe();
        loop {
            rings.mark_unchanged();
            if let Some(found) = fact() {
                return found;
            }
            if rings.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// For a test: waits until `fact` holds, at most `ceiling`. None after that.
    pub fn wait<R>(&self, ceiling: Duration, mut fact: impl FnMut() -> Option<R>) -> Option<R> {
        let mut rings = self.rings.subscribe();
        let deadline = Instant::now() + ceiling;
        loop {
            rings.mark_unchanged();
            if let Some(found) = fact() {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let look_again = left.min(LOOK_AGAIN);
            // A time-out only means that nobody rang.
            let _ = runtime().block_on(async { timeout(look_again, rings.changed()).await });
        }
    }
}

/// Waits until `fact` holds.
///
/// # Panics
///
/// After [`CEILING`], with `what` was waited for and the whole state as `state` tells it.
pub fn until<R>(
    bell: &Bell,
    what: &str,
    state: impl FnOnce() -> String,
    fact: impl FnMut() -> Option<R>,
) -> R {
    match bell.wait(CEILING, fact) {
        Some(found) => found,
        None => panic!("waited {} s for: {what}\n{}", CEILING.as_secs(), state()),
    }
}

/// State that a bell tells of.
#[derive(Debug)]
pub struct Told<T> {
    state: Mutex<T>,
    bell: Arc<Bell>,
}

impl<T> Told<T> {
    /// State of this bell.
    pub fn new(state: T, bell: &Arc<Bell>) -> Self {
        Self { state: Mutex::new(state), bell: bell.clone() }
    }

    /// Looks at it.
    pub fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes it and rings.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.ring();
        result
    }

    /// Changes it without ringing, where nobody waits for it.
    pub fn quietly<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its bell.
    pub fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }
}

/// Holds a server's answer until the test lets it go.
#[derive(Clone, Debug)]
pub struct Gate {
    state: Arc<Told<(bool, bool)>>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new(bell: &Arc<Bell>) -> Self {
        Self { state: Arc::new(Told::new((false, false), bell)) }
    }

    /// Whether somebody came to it.
    #[must_use]
    pub fn reached(&self) -> bool {
        self.state.look(|(reached, _)| *reached)
    }

    /// Lets through whoever waits, and everybody after.
    pub fn open(&self) {
        self.state.change(|(_, open)| *open = true);
    }

    /// For a server's task: waits for the gate to open.
    pub async fn pass(&self) {
        self.state.change(|(reached, _)| *reached = true);
        self.state.bell().hold(|| self.state.look(|(_, open)| open.then_some(()))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_that_never_holds_ends_the_wait_with_nothing() {
        let bell = Bell::new();
        assert_eq!(bell.wait(Duration::from_millis(30), || None::<()>), None);
        assert_eq!(bell.wait(Duration::ZERO, || Some(7)), Some(7));
    }

    #[test]
    fn a_gate_holds_until_it_is_opened() {
        let bell = Bell::new();
        let gate = Gate::new(&bell);
        let passed = Arc::new(Told::new(false, &bell));
        let (waiter, flag) = (gate.clone(), passed.clone());
        runtime().spawn(async move {
            waiter.pass().await;
            flag.change(|passed| *passed = true);
        });
        until(&bell, "the gate is reached", String::new, || gate.reached().then_some(()));
        assert!(!passed.look(|passed| *passed));
        gate.open();
        until(&bell, "the gate is passed", String::new, || {
            passed.look(|passed| passed.then_some(()))
        });
    }
}
