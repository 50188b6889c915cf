//! A clock that is set by hand.

use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::ports::Clock;

/// Stands still until it is moved.
#[derive(Debug)]
pub struct FakeClock {
    now: Mutex<DateTime<Utc>>,
}

impl FakeClock {
    /// A clock that shows this instant.
    #[must_use]
    pub fn at(now: DateTime<Utc>) -> Self {
        Self { now: Mutex::new(now) }
    }

    /// Moves it on.
    pub fn advance(&self, by: TimeDelta) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> DateTime<Utc> {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
