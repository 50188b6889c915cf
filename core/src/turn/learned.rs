//! What was found out about models, read once in the life of a process. What another process finds out
//! later, this one finds out by itself: by one refused request.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ports::{ModelInfo, Store, StoreError};

/// What this process knows of models, by their signer.
#[derive(Debug, Default)]
pub struct Learned(Mutex<BTreeMap<String, bool>>);

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
        let known = self.known().get(&model.signer).copied();
        if let Some(strict) = known {
            return Ok(strict);
        }
        let strict = store.strict_roles(&model.signer).await?;
        // Who found it out meanwhile is right.
        Ok(*self.known().entry(model.signer.clone()).or_insert(strict))
    }

    /// It was found out that it does.
    pub(super) fn wants_strict_roles(&self, signer: &str) {
        self.known().insert(signer.to_owned(), true);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
