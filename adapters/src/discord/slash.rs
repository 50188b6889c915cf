//! Slash commands: the list that people choose from, and the first answer to one of them.

use atlas_core::commands::{ALLOW, COMMANDS};
use serde_json::{Value, json};
use serenity::http::Http;
use serenity::model::id::{ApplicationId, InteractionId};

use super::decode::Given;
use super::rest::{self, CallError};

/// The flag of an answer that only its addressee sees.
const EPHEMERAL: u64 = 1 << 6;
/// What somebody is told who may not give this command here, or has used up what they are answered.
const REFUSAL: &str = "This is not for you to use here, or not now.";
/// The type of an option that takes text.
const TEXT: u8 = 3;
/// Discord's code for a command that was acknowledged before.
const ACKNOWLEDGED: isize = 40_060;

/// The first answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The answer proper follows, in the command's place.
    Deferred,
    /// A line that nobody else sees. Why may follow in its place, as unseen.
    Refused,
}

/// Whether Discord took it.
pub(super) async fn acknowledge(http: &Http, given: &Given, answer: Answer) -> bool {
    use secrecy::ExposeSecret;
    let answer = match answer {
        Answer::Deferred => json!({"type": 5}),
        Answer::Refused => json!({"type": 4, "data": {"content": REFUSAL, "flags": EPHEMERAL}}),
    };
    let token = given.token.expose_secret();
    for _ in 0..2 {
        match rest::callback(http, InteractionId::new(given.id), token, &answer).await {
            Ok(()) | Err(CallError::Refused { code: ACKNOWLEDGED, .. }) => return true,
            Err(CallError::Passing(_)) => {}
            Err(error) => {
                tracing::warn!(%error, "a command could not be acknowledged; it is answered in the channel");
                return false;
            }
        }
    }
    false
}

/// Makes the list at Discord what it is here. Whether it was another: the whole set is then put in
/// place at once, so that there never are more than Discord takes.
pub(super) async fn register(http: &Http, application: ApplicationId) -> Result<bool, CallError> {
    let set = set();
    let mut listed: Vec<Value> =
        rest::commands(http, application).await?.iter().map(known).collect();
    listed.sort_by_cached_key(ToString::to_string);
    if listed == set {
        return Ok(false);
    }
    rest::overwrite_commands(http, &Value::Array(set)).await?;
    Ok(true)
}

/// The commands as they are registered, in order.
fn set() -> Vec<Value> {
    let command = |(name, what)| {
        let mut command = json!({"name": name, "description": what, "type": 1});
        if name == ALLOW {
            let what = "the code that they were told; nothing: who waits, and who was let in";
            command["options"] = json!([{"type": TEXT, "name": "code", "description": what}]);
        }
        command
    };
    let mut set = COMMANDS.map(command).to_vec();
    set.sort_by_cached_key(ToString::to_string);
    set
}

/// A registered command, as far as it is told apart from another: what Discord adds by itself is left
/// out.
fn known(command: &Value) -> Value {
    let part = |of: &Value, fields: &[&str]| -> Value {
        let given =
            fields.iter().filter_map(|field| Some(((*field).to_owned(), of.get(*field)?.clone())));
        Value::Object(given.collect())
    };
    let mut known = part(command, &["name", "description", "type"]);
    let options = command.get("options").and_then(Value::as_array).into_iter().flatten();
    let option = |option: &Value| {
        let mut known = part(option, &["type", "name", "description"]);
        if option.get("required") == Some(&Value::Bool(true)) {
            known["required"] = json!(true);
        }
        known
    };
    let options: Vec<Value> = options.map(option).collect();
    if !options.is_empty() {
        known["options"] = Value::Array(options);
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_command_is_the_same_however_much_discord_adds_to_it() {
        let listed = |command: &Value| {
            let mut listed = command.clone();
            listed["id"] = json!("7");
            listed["version"] = json!("1");
            match listed["options"].as_array_mut() {
                Some(options) => {
                    options[0]["autocomplete"] = json!(false);
                    options[0]["required"] = json!(false);
                }
                None => listed["options"] = json!([]),
            }
            listed
        };
        let listed: Vec<Value> = set().iter().map(|command| known(&listed(command))).collect();
        assert_eq!(listed, set());
        let mut other = set().remove(0);
        other["options"] = json!([{"type": 4}]);
        assert_ne!(known(&other), set()[0]);
        let allow = set().into_iter().find(|command| command["name"] == ALLOW).unwrap();
        let mut other = allow.clone();
        other["options"][0]["required"] = json!(true);
        assert_ne!(known(&other), allow);
    }
}
