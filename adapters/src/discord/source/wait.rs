//! How long to wait before a new session, and whether a trouble was told already.

use std::time::Duration;

use uuid::Uuid;

/// The first wait: Discord takes no two IDENTIFYs closer to each other.
const FIRST: Duration = Duration::from_secs(5);
/// The longest.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    told: Option<String>,
}

impl Backoff {
    /// The wait after one more failure: 5, 10, 20, … seconds, at most 15 minutes, and up to a quarter
    /// more, so that many clients do not come back in step.
    pub(super) fn next(&mut self) -> Duration {
        let wait = bound(self.failures);
        self.failures = self.failures.saturating_add(1);
        // The random bits of a UUID are random enough.
        wait + wait.mul_f64(f64::from(Uuid::new_v4().as_bytes()[0]) / 1024.0)
    }

    /// Whether this trouble was not told yet. Another one, or the same after a recovery, is new.
    pub(super) fn is_new(&mut self, trouble: &str) -> bool {
        if self.told.as_deref() == Some(trouble) {
            return false;
        }
        self.told = Some(trouble.to_owned());
        true
    }

    /// It works.
    pub(super) fn recovered(&mut self) {
        *self = Self::default();
    }
}

fn bound(failures: u32) -> Duration {
    FIRST.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_five_seconds_to_a_quarter_of_an_hour() {
        let bounds: Vec<_> = [0, 1, 2, 7, 8, 40].map(|n| bound(n).as_secs()).into();
        assert_eq!(bounds, [5, 10, 20, 640, 900, 900]);
        let mut backoff = Backoff::default();
        for failures in 0..100 {
            let (wait, least) = (backoff.next(), bound(failures));
            assert!(wait >= least && wait <= least.mul_f64(1.25), "{wait:?} of {least:?}");
        }
    }

    #[test]
    fn a_trouble_is_told_once_until_it_is_over() {
        let mut backoff = Backoff::default();
        assert!(backoff.is_new("a") && !backoff.is_new("a") && backoff.is_new("b"));
        backoff.recovered();
        assert!(backoff.is_new("b"));
    }
}
