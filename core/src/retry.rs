//! How long to rest before something is tried again.

use std::time::Duration;

use uuid::Uuid;

/// The longest rest between two tries.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// 1, 2, 4, … seconds, at most a minute. `tries` counts the ones before.
pub(crate) fn back_off(tries: u32) -> Duration {
    Duration::from_secs(1_u64 << tries.min(6)).min(LONGEST)
}

/// Up to a quarter more, so that many who were refused together do not come back together.
pub(crate) fn jitter(wait: Duration) -> Duration {
    let random = u32::from(Uuid::new_v4().as_bytes()[0]);
    wait + wait * random / (4 * 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_back_off_doubles_up_to_a_minute() {
        let waits: Vec<u64> = (0..9).map(|tries| back_off(tries).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }
}
