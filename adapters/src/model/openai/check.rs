//! What `atlas check` asks a server: whether it answers, takes the key and knows the model.

use atlas_core::ports::ModelError;
use reqwest::Response;
use serde_json::Value;

use super::{Failure, OpenAi};

/// The most bytes of a list that are read.
const LIST: usize = 16 << 20;
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
        let request = self.client.get(format!("{}/models", self.base_url));
        let response = match self.send(request).await {
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
        let list = self.json(response).await?;
        let models = ["data", "models"].iter().find_map(|key| list.get(key)?.as_array());
        let models = models.or(list.as_array()).map(Vec::as_slice).unwrap_or_default();
        let Some(model) = models.iter().find(|model| self.is_this(model)) else {
            return Ok(vec![self.missing(models)]);
        };
        let loaded = match context(model) {
            None if model.get("owned_by").and_then(Value::as_str) == Some("library") => {
                self.loaded_in_ollama().await
            }
            loaded => loaded,
        };
        Ok(loaded.and_then(|loaded| self.too_small(loaded)).into_iter().collect())
    }

    async fn json(&self, mut response: Response) -> Result<Value, ModelError> {
        let no_list = || ModelError::Refused(self.no_list());
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.lost(&error))? {
            if body.len() + bytes.len() > LIST {
                return Err(no_list());
            }
            body.extend_from_slice(&bytes);
        }
        serde_json::from_slice(&body).map_err(|_| no_list())
    }

    /// The context with which Ollama has loaded the model, which its list does not tell. It cuts a
    /// longer conversation without a word.
    async fn loaded_in_ollama(&self) -> Option<u64> {
        let root = self.base_url.strip_suffix("/v1")?;
        let response = self.send(self.client.get(format!("{root}/api/ps"))).await.ok()?;
        let list = self.json(response).await.ok()?;
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
                self.place(),
                self.model,
                self.info.window.map_or("a conversation soon has".to_owned(), |window| {
                    format!("window = {window}")
                }),
                wanted.max(2 * SMALL),
            )
        })
    }

    fn no_list(&self) -> String {
        format!("{} answers, but not with a list of models; is base_url right?", self.place())
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

/// The context with which a server says that it has loaded the model.
fn context(model: &Value) -> Option<u64> {
    ["/max_model_len", "/loaded_context_length", "/meta/n_ctx", "/context_length"]
        .iter()
        .find_map(|path| model.pointer(path)?.as_u64())
}

fn id(model: &Value) -> Option<&str> {
    ["id", "name"].iter().find_map(|key| model.get(key)?.as_str())
}
