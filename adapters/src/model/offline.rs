//! The `offline` stand-in: a few rules in a model's place, so that a fresh home answers without key,
//! account or network. It says what it is, keeps facts through the real `memory` tool, and tells how
//! a real model is set up. It obeys the same port as any model and knows only what the request holds.

mod answer;
mod fact;
mod intent;
mod known;

use async_trait::async_trait;
use atlas_core::ids::ModelName;
use atlas_core::message::{Body, Part};
use atlas_core::ports::{
    Answer, Delta, End, ModelClient, ModelError, ModelInfo, ModelRequest, Tokens,
};

/// The stand-in.
pub struct Offline {
    info: ModelInfo,
}

impl Offline {
    /// A stand-in under this name of the configuration.
    #[must_use]
    pub fn new(name: ModelName) -> Self {
        // Its last part is what `/status` calls the model.
        let signer = "offline||offline stand-in".to_owned();
        Self { info: ModelInfo { name, signer, window: None, strict_roles: false } }
    }
}

#[async_trait]
impl ModelClient for Offline {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        let (text, call) = answer::answer(request);
        for piece in text.split_inclusive(' ') {
            deltas(Delta::Text(piece.to_owned()));
        }
        Ok(Answer {
            text,
            calls: call.into_iter().collect(),
            blocks: None,
            end: End::Finished,
            tokens: Tokens::default(),
        })
    }
}

/// What people said since the stand-in last spoke, without headers.
fn said_since_last_answer(messages: &[std::sync::Arc<Body>]) -> Option<String> {
    let since = messages.iter().rev().take_while(|body| !matches!(***body, Body::Assistant { .. }));
    let mut said: Vec<&str> = Vec::new();
    for body in since {
        let Body::User { parts } = &**body else { continue };
        said.extend(parts.iter().rev().filter_map(|part| match part {
            Part::Said { text, .. } => Some(text.trim()),
            _ => None,
        }));
    }
    said.reverse();
    said.retain(|text| !text.is_empty());
    (!said.is_empty()).then(|| said.join("\n"))
}

#[cfg(test)]
#[path = "offline/tests.rs"]
mod tests;
