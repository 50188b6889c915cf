//! Crash points and planned failures, by name, as decorators of the ports. They exist only in the
//! process under test; production has no hook.
//!
//! A point is a port's method with `before` or `after`, and which time: `commit_step:after:2`. The
//! process dies there as by SIGKILL: at once, no destructor runs, nothing is flushed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use atlas_core::ports::Clock;
use chrono::{DateTime, TimeDelta, Utc};

mod ports;
mod store;

pub use ports::{PlannedFiles, PlannedModel, PlannedPlatform};
pub use store::PlannedStore;

/// The variable that names the crash point: `commit_step:before:2`.
pub const KILL: &str = "UNDER_TEST_KILL";
/// The variable that names the failures: `commit_step:3,prepare:1`, each for so many times.
pub const FAIL: &str = "UNDER_TEST_FAIL";
/// The variable that names the method that panics, once: `ask`.
pub const PANIC: &str = "UNDER_TEST_PANIC";
/// The variable that says how many seconds the clock is ahead.
pub const LATER: &str = "UNDER_TEST_LATER";

/// What happens where, in this process.
#[derive(Debug, Default)]
pub struct Plan {
    kill: Option<(String, u64)>,
    panic: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    passed: BTreeMap<String, u64>,
    failures: BTreeMap<String, u64>,
    panicked: bool,
}

impl Plan {
    /// A plan as the variables spell it.
    ///
    /// # Panics
    ///
    /// A plan that cannot be read: a test must not run without the fault it was written for.
    #[must_use]
    pub fn new(kill: Option<&str>, fail: Option<&str>, panic: Option<&str>) -> Self {
        let counted = |text: &str| {
            let (point, times) = text.rsplit_once(':').expect("a point, a colon, a number");
            (point.to_owned(), times.parse::<u64>().expect("a number of times"))
        };
        let failures = fail.into_iter().flat_map(|fail| fail.split(',')).map(counted).collect();
        Self {
            kill: kill.map(counted),
            panic: panic.map(str::to_owned),
            state: Mutex::new(State { failures, ..State::default() }),
        }
    }

    /// The point before a method.
    fn before(&self, method: &str) {
        self.reach(method, "before");
        if self.panic.as_deref() == Some(method) && self.panics_now() {
            panic!("planned, in {method}");
        }
    }

    /// The point after a method that did its work.
    fn after(&self, method: &str) {
        self.reach(method, "after");
    }

    fn panics_now(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut state.panicked, true)
    }

    fn reach(&self, method: &str, when: &str) {
        let Some((kill, nth)) = &self.kill else { return };
        let point = format!("{method}:{when}");
        if &point != kill {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = state.passed.entry(point).or_insert(0);
        *passed += 1;
        if *passed == *nth {
            // Like SIGKILL for all that matters: all threads end at once, nothing is run or written.
            std::process::abort();
        }
    }

    /// Whether this method fails now.
    fn fails(&self, method: &str) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.failures.get_mut(method) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// A clock that is ahead.
pub struct Ahead {
    inner: Arc<dyn Clock>,
    by: TimeDelta,
}

impl Ahead {
    /// So many seconds ahead of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Clock>, seconds: i64) -> Self {
        Self { inner, by: TimeDelta::seconds(seconds) }
    }
}

impl Clock for Ahead {
    fn now(&self) -> DateTime<Utc> {
        self.inner.now() + self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_comes_as_often_as_planned() {
        let plan = Plan::new(None, Some("commit_step:2,prepare:1"), None);
        let fails = |method| plan.fails(method);
        assert_eq!([fails("commit_step"), fails("commit_step")], [true, true]);
        assert_eq!([fails("commit_step"), fails("prepare"), fails("accept")], [false, true, false]);
    }

    #[test]
    fn other_points_do_not_kill() {
        let plan = Plan::new(Some("commit_step:before:2"), None, None);
        plan.before("commit_step");
        plan.after("commit_step");
        plan.before("accept");
    }
}
