//! A model that answers at once.

use async_trait::async_trait;

use crate::ports::{Answer, Delta, End, ModelClient, ModelError, ModelInfo, ModelRequest, Tokens};

/// Says the same to everything.
#[derive(Debug)]
pub struct EchoModel {
    info: ModelInfo,
    text: String,
}

impl EchoModel {
    /// A model of this name that always says `text`.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        let info = ModelInfo {
            name: name.into(),
            signer: format!("echo||{name}"),
            window: None,
            strict_roles: false,
        };
        Self { info, text: text.to_owned() }
    }
}

#[async_trait]
impl ModelClient for EchoModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(
        &self,
        _: &ModelRequest,
        deltas: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ModelError> {
        deltas(Delta::Text(self.text.clone()));
        Ok(Answer {
            text: self.text.clone(),
            calls: Vec::new(),
            blocks: None,
            end: End::Finished,
            tokens: Tokens::default(),
        })
    }
}
