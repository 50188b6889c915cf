//! Time, as core takes it.

use chrono::{DateTime, Utc};

/// Tells the time. Everything that compares instants takes one, so that a test can be an hour later.
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place where the clock is read")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}
