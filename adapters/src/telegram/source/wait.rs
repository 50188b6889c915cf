//! How long to wait after a failure, and whether it was told already.

use std::time::Duration;

use uuid::Uuid;

/// The first wait.
const FIRST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_secs(60);

/// Failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    told: Option<String>,
}

impl Backoff {
    /// The wait after one more failure: from half to the whole of 1, 2, 4, … 60 seconds, so that
    /// many clients of one server do not come back in step.
    pub(super) fn next(&mut self) -> Duration {
        let full = bound(self.failures);
        self.failures = self.failures.saturating_add(1);
        full.mul_f64(jitter())
    }

    /// Whether this trouble was not told yet. Another one, or the same after a recovery, is new.
    pub(super) fn is_new(&mut self, trouble: &str) -> bool {
        if self.told.as_deref() == Some(trouble) {
            return false;
        }
        self.told = Some(trouble.to_owned());
        true
    }

    /// It works. True where something had been told.
    pub(super) fn recovered(&mut self) -> bool {
        self.failures = 0;
        self.told.take().is_some()
    }
}

fn bound(failures: u32) -> Duration {
    FIRST.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST)
}

/// Between a half and one. The random bits of a UUID are random enough.
fn jitter() -> f64 {
    0.5 + f64::from(Uuid::new_v4().as_bytes()[0]) / 512.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute() {
        let bounds: Vec<_> = [0, 1, 2, 5, 6, 40].map(|n| bound(n).as_secs()).into();
        assert_eq!(bounds, [1, 2, 4, 32, 60, 60]);
        let mut backoff = Backoff::default();
        for failures in 0..100 {
            let (wait, most) = (backoff.next(), bound(failures));
            assert!(wait >= most / 2 && wait <= most, "{wait:?} of {most:?}");
        }
    }

    #[test]
    fn a_trouble_is_told_once_until_it_is_over() {
        let mut backoff = Backoff::default();
        assert!(!backoff.recovered());
        assert!(backoff.is_new("a") && !backoff.is_new("a") && backoff.is_new("b"));
        assert!(backoff.recovered());
        assert!(backoff.is_new("b"));
    }
}
