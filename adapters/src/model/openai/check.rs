//! What `atlas check` asks a server: whether it answers, takes the key and knows the model.

use atlas_core::ports::ModelError;
use serde_json::Value;

use super::OpenAi;
use crate::model::host::Failure;

/// A context that a conversation with its instructions, tools and memory soon outgrows.
const SMALL: u64 = 16_384;

impl OpenAi {
    /// Asks the server for its models. Gives what is not wrong but should be known, one sentence
    /// each; empty where all is well.
    ///
    /// # Errors
    ///
    /// [`ModelError::Auth`] for a key that is refused, [`ModelError::Unreachable`] for a server that
    /// does not answer, any other as for a request.
    pub async fn check(&self) -> Result<Vec<String>, ModelError> {
        let response = match self.send(self.host.get("/models")).await {
            Ok(response) => response,
            Err(Failure::Refusal(problem, _)) if matches!(problem.status, 404 | 405 | 501) => {
                return Ok(vec![format!(
                    "{} does not list its models, so whether it has {} shows at the first question \
                     (most servers want `/v1` at the end of `base_url`)",
                    self.host.place(),
                    self.model
                )]);
            }
            Err(failure) => return Err(failure.into()),
        };
        let list = self.host.json(response).await?;
        let models = ["data", "models"].iter().find_map(|key| list.get(key)?.as_array());
        let models = models.or(list.as_array()).map(Vec::as_slice).unwrap_or_default();
        let Some(model) = models.iter().find(|model| self.is_this(model)) else {
            let known: Vec<&str> = models.iter().filter_map(id).collect();
            return Ok(vec![self.host.lacks(&self.model, &known)]);
        };
        let loaded = match context(model) {
            None if model.get("owned_by").and_then(Value::as_str) == Some("library") => {
                self.loaded_in_ollama().await
            }
            loaded => loaded,
        };
        Ok(loaded.and_then(|loaded| self.too_small(loaded)).into_iter().collect())
    }

    /// The context with which Ollama has loaded the model, which its list does not tell. It cuts a
    /// longer conversation without a word.
    async fn loaded_in_ollama(&self) -> Option<u64> {
        let response = self.send(self.host.get_beside("/v1", "/api/ps")?).await.ok()?;
        let list = self.host.json(response).await.ok()?;
        let running = list.get("models")?.as_array()?;
        context(running.iter().find(|model| self.is_this(model))?)
    }

    /// What to say of a context of this many tokens; None where it is enough.
    fn too_small(&self, loaded: u64) -> Option<String> {
        let wanted = self.info.window.map_or(SMALL, u64::from);
        (loaded < wanted).then(|| {
            format!(
                "{} runs {} with a context of {loaded} tokens, fewer than {}: longer \
                 conversations are cut without a word. Load it with more (for Ollama, start it with \
                 OLLAMA_CONTEXT_LENGTH={}), or set window = {loaded}",
                self.host.place(),
                self.model,
                self.info.window.map_or("a conversation soon has".to_owned(), |window| {
                    format!("window = {window}")
                }),
                wanted.max(2 * SMALL),
            )
        })
    }

    /// Ollama leaves out `:latest`, Google's servers put `models/` in front.
    fn is_this(&self, model: &Value) -> bool {
        id(model).is_some_and(|id| {
            let id = id.strip_prefix("models/").unwrap_or(id);
            id == self.model || id.strip_suffix(":latest") == Some(self.model.as_str())
        })
    }
}

/// The context with which a server says that it has loaded the model.
fn context(model: &Value) -> Option<u64> {
    ["/max_model_len", "/loaded_context_length", "/meta/n_ctx", "/context_length"]
        .iter()
        .find_map(|path| model.pointer(path)?.as_u64())
}

fn id(model: &Value) -> Option<&str> {
    ["id", "name"].iter().find_map(|key| model.get(key)?.as_str())
}
