//! What `atlas check` asks a server: whether it answers, takes the key and knows the model.

use atlas_core::ports::ModelError;
use serde_json::Value;

use super::{Failure, OpenAi};

/// The most bytes of a list of models that are read.
const LIST: usize = 16 << 20;

impl OpenAi {
    /// Asks the server for its models. Gives what is not wrong but should be known, one sentence
    /// each; empty where all is well.
    ///
    /// # Errors
    ///
    /// [`ModelError::Auth`] for a key that is refused, [`ModelError::Unreachable`] for a server that
    /// does not answer, any other as for a request.
    pub async fn check(&self) -> Result<Vec<String>, ModelError> {
        let request = self.client.get(format!("{}/models", self.base_url));
        let mut response = match self.send(request).await {
            Ok(response) => response,
            Err(Failure::Error(error)) => return Err(error),
            Err(Failure::Refusal(problem, _)) if matches!(problem.status, 404 | 405 | 501) => {
                return Ok(vec![format!(
                    "{} does not list its models, so whether it has {} shows at the first question",
                    self.place(),
                    self.model
                )]);
            }
            Err(Failure::Refusal(problem, wait)) => return Err(problem.into_error(wait)),
        };
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.lost(&error))? {
            if body.len() + bytes.len() > LIST {
                return Err(ModelError::Refused(self.no_list()));
            }
            body.extend_from_slice(&bytes);
        }
        let list = serde_json::from_slice::<Value>(&body)
            .map_err(|_| ModelError::Refused(self.no_list()))?;
        Ok(self.judge(&list))
    }

    fn no_list(&self) -> String {
        format!("{} answers, but not with a list of models; is base_url right?", self.place())
    }

    fn judge(&self, list: &Value) -> Vec<String> {
        let models = ["data", "models"].iter().find_map(|key| list.get(key)?.as_array());
        let models = models.or(list.as_array()).map(Vec::as_slice).unwrap_or_default();
        let Some(model) = models.iter().find(|model| self.is_this(model)) else {
            return vec![self.missing(models)];
        };
        let loaded = ["/max_model_len", "/loaded_context_length", "/meta/n_ctx"]
            .iter()
            .find_map(|path| model.pointer(path)?.as_u64());
        match (loaded, self.info.window) {
            (Some(loaded), Some(window)) if loaded < u64::from(window) => vec![format!(
                "{} has loaded {} with a context of {loaded} tokens, but window = {window}; \
                 load it with more, or set window = {loaded}",
                self.place(),
                self.model
            )],
            _ => Vec::new(),
        }
    }

    /// Ollama leaves out `:latest`, Google's servers put `models/` in front.
    fn is_this(&self, model: &Value) -> bool {
        id(model).is_some_and(|id| {
            let id = id.strip_prefix("models/").unwrap_or(id);
            id == self.model || id.strip_suffix(":latest") == Some(self.model.as_str())
        })
    }

    fn missing(&self, models: &[Value]) -> String {
        let known: Vec<&str> = models.iter().filter_map(id).take(5).collect();
        let known = match known.as_slice() {
            [] => "it lists none".to_owned(),
            some if some.len() == models.len() => format!("it has {}", some.join(", ")),
            some => format!("it has {} models, among them {}", models.len(), some.join(", ")),
        };
        format!("{} does not list the model {}; {known}", self.place(), self.model)
    }
}

fn id(model: &Value) -> Option<&str> {
    ["id", "name"].iter().find_map(|key| model.get(key)?.as_str())
}
