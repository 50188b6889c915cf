//! What `atlas check` asks a server: whether it answers, takes the key and knows the model.

use atlas_core::ports::ModelError;
use serde_json::Value;

use super::Anthropic;
use crate::model::host::Failure;

impl Anthropic {
    /// Asks the server for the model, and for its list where it does not know it. Gives what is not
    /// wrong but should be known, one sentence each; empty where all is well.
    ///
    /// # Errors
    ///
    /// [`ModelError::Auth`] for a key that is refused, [`ModelError::Refused`] for a model that the
    /// server does not have, [`ModelError::Unreachable`] for a server that does not answer, any other
    /// as for a request.
    pub async fn check(&self) -> Result<Vec<String>, ModelError> {
        let path = format!("/v1/models/{}", self.model);
        match self.send(self.host.get(&path)).await {
            Ok(response) => {
                let model = self.host.json(response).await?;
                Ok(self.too_wide(&model).into_iter().collect())
            }
            Err(Failure::Refusal(problem, _)) if is_unknown(problem.status) => self.listed().await,
            Err(failure) => Err(failure.into()),
        }
    }

    /// What is wrong with a model that the server gives no answer about: it has others, or it tells of
    /// none.
    async fn listed(&self) -> Result<Vec<String>, ModelError> {
        let response = match self.send(self.host.get("/v1/models?limit=1000")).await {
            Ok(response) => response,
            Err(Failure::Refusal(problem, _)) if is_unknown(problem.status) => {
                return Ok(vec![format!(
                    "{} does not list its models, so whether it has {} shows at the first question",
                    self.host.place(),
                    self.model
                )]);
            }
            Err(failure) => return Err(failure.into()),
        };
        let list = self.host.json(response).await?;
        let models = list.get("data").and_then(Value::as_array).map(Vec::as_slice);
        let ids = models.unwrap_or_default().iter().filter_map(|model| model.get("id")?.as_str());
        let known: Vec<&str> = ids.collect();
        if known.contains(&self.model.as_str()) {
            return Ok(Vec::new());
        }
        Err(ModelError::Refused(self.host.lacks(&self.model, &known)))
    }

    /// What to say of a `window` that is wider than the model's.
    fn too_wide(&self, model: &Value) -> Option<String> {
        let reads = model.get("max_input_tokens").and_then(Value::as_u64)?;
        let window = u64::from(self.info.window?);
        (reads < window).then(|| {
            format!(
                "{} reads {reads} tokens, fewer than window = {window}; set window = {reads}",
                self.model
            )
        })
    }
}

fn is_unknown(status: u16) -> bool {
    matches!(status, 404 | 405 | 501)
}
