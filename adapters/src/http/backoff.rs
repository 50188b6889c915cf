//! How long to wait after a failure, and whether it was told already.

use std::time::Duration;

use uuid::Uuid;

/// How waits grow, and where in them many clients of one server are spread, so that they do not come
/// back in step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The first wait; each is twice the one before.
    pub(crate) first: Duration,
    /// The longest.
    pub(crate) longest: Duration,
    /// The least and the most of a wait that is taken, as parts of it.
    pub(crate) spread: (f64, f64),
}

impl Pace {
    /// The wait after so many failures, before it is spread.
    pub(crate) fn bound(&self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures)).min(self.longest)
    }
}

/// Failures in a row.
#[derive(Debug)]
pub(crate) struct Backoff {
    pace: Pace,
    failures: u32,
    told: Option<String>,
}

impl Backoff {
    /// None yet.
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, failures: 0, told: None }
    }

    /// The wait after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = self.pace.bound(self.failures);
        self.failures = self.failures.saturating_add(1);
        let (least, most) = self.pace.spread;
        // The random bits of a UUID are random enough.
        let random = f64::from(Uuid::new_v4().as_bytes()[0]) / 256.0;
        whole.mul_f64(least + (most - least) * random)
    }

    /// Whether this trouble was not told yet. Another one, or the same after a recovery, is new.
    pub(crate) fn is_new(&mut self, trouble: &str) -> bool {
        if self.told.as_deref() == Some(trouble) {
            return false;
        }
        self.told = Some(trouble.to_owned());
        true
    }

    /// It works. True where something had been told.
    pub(crate) fn recovered(&mut self) -> bool {
        self.failures = 0;
        self.told.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(60),
        spread: (0.5, 1.0),
    };

    #[test]
    fn every_wait_is_within_its_spread() {
        for spread in [(0.5, 1.0), (1.0, 1.25)] {
            let pace = Pace { spread, ..PACE };
            let mut backoff = Backoff::new(pace);
            for failures in 0..100 {
                let (wait, whole) = (backoff.next(), pace.bound(failures));
                let (least, most) = (whole.mul_f64(spread.0), whole.mul_f64(spread.1));
                assert!(wait >= least && wait <= most, "{wait:?} of {whole:?}");
            }
        }
    }

    #[test]
    fn a_trouble_is_told_once_until_it_is_over() {
        let mut backoff = Backoff::new(PACE);
        assert!(!backoff.recovered());
        assert!(backoff.is_new("a") && !backoff.is_new("a") && backoff.is_new("b"));
        assert!(backoff.recovered());
        assert!(backoff.is_new("b"));
    }
}
