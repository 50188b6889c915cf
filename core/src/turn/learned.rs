//! What was found out about models, read once in the life of a process. What another process finds out
//! later, this one finds out by itself: by one refused request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use crate::ports::{ModelInfo, Store, StoreError};

/// How long a model that did not answer is passed by where another can answer.
const REST: TimeDelta = TimeDelta::minutes(1);

/// What this process knows of models, by their signer.
#[derive(Debug, Default)]
pub struct Learned(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    strict: BTreeMap<String, bool>,
    /// Until when a model rests.
    resting: BTreeMap<String, DateTime<Utc>>,
    /// What the owner was told of a model.
    told: BTreeSet<(String, String)>,
}

impl Learned {
    /// Whether the model's server wants strict roles: as configured, or as was found out.
    pub(super) async fn strict_roles(
        &self,
        store: &dyn Store,
        model: &ModelInfo,
    ) -> Result<bool, StoreError> {
        if model.strict_roles {
            return Ok(true);
        }
        let known = self.known().strict.get(&model.signer).copied();
        if let Some(strict) = known {
            return Ok(strict);
        }
        let strict = store.strict_roles(&model.signer).await?;
        // Who found it out meanwhile is right.
        Ok(*self.known().strict.entry(model.signer.clone()).or_insert(strict))
    }

    /// It was found out that it does.
    pub(super) fn wants_strict_roles(&self, signer: &str) {
        self.known().strict.insert(signer.to_owned(), true);
    }

    /// The model did not answer: the next turns begin with another, for a while.
    pub(super) fn rest(&self, signer: &str, now: DateTime<Utc>) {
        self.known().resting.insert(signer.to_owned(), now + REST);
    }

    /// Whether it rests. A clock that was set back lets nobody rest for longer.
    pub(super) fn rests(&self, signer: &str, now: DateTime<Utc>) -> bool {
        let until = self.known().resting.get(signer).copied();
        until.is_some_and(|until| until > now && until - now <= REST)
    }

    /// Whether the owner is told this of the model for the first time.
    pub(super) fn is_news(&self, signer: &str, reason: &str) -> bool {
        self.known().told.insert((signer.to_owned(), reason.to_owned()))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_ends_after_a_minute_and_when_the_clock_is_set_back() {
        let learned = Learned::default();
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(1);
        learned.rest("a", now);
        let after = |seconds| learned.rests("a", now + TimeDelta::seconds(seconds));
        assert_eq!([after(0), after(59), after(60), after(-3_600)], [true, true, false, false]);
        assert!(!learned.rests("b", now));
    }
}
