//! Slash commands: the list that people choose from, and the first answer to one of them.

use atlas_core::commands::COMMANDS;
use serde_json::{Value, json};
use serenity::http::Http;
use serenity::model::application::{Command, CommandType};
use serenity::model::id::InteractionId;

use super::decode::Given;
use super::rest::{self, CallError};

/// The flag of an answer that only its addressee sees.
const EPHEMERAL: u64 = 1 << 6;
/// What somebody is told who may give no commands here.
const REFUSAL: &str = "This is not for you to use here.";
/// Discord's code for a command that was acknowledged before.
const ACKNOWLEDGED: isize = 40_060;

/// The first answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The answer proper follows, in the command's place.
    Deferred,
    /// There will be none: a line that nobody else sees.
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
pub(super) async fn register(http: &Http) -> Result<bool, CallError> {
    let set = set();
    if rest::commands(http).await?.iter().map(known).eq(set.iter().cloned()) {
        return Ok(false);
    }
    rest::overwrite_commands(http, &Value::Array(set)).await?;
    Ok(true)
}

/// The commands as they are registered, in order of their names, as Discord lists them.
fn set() -> Vec<Value> {
    let mut commands = COMMANDS;
    commands.sort_unstable();
    let command =
        |(name, what): (&str, &str)| json!({"name": name, "description": what, "type": 1});
    commands.map(command).to_vec()
}

/// A registered command, as far as it is told apart from another.
fn known(command: &Command) -> Value {
    let mut known = json!({
        "name": command.name, "description": command.description, "type": u8::from(command.kind),
    });
    if !command.options.is_empty() || command.kind != CommandType::ChatInput {
        known["options"] = json!(command.options.len());
    }
    known
}
