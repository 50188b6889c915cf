//! Slash commands: their registration, how people give them, and how they are acknowledged and
//! answered.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use serde_json::{Value, json};

use super::APPLICATION_ID;
use super::people::User;
use super::server::{Call, Refusal, respond, unknown};
use super::world::{Interaction, State, timestamp};
use super::{messages, server};
use crate::bell::Told;
use crate::wire::Cut;

/// How long a command may wait for its acknowledgement.
const ACKNOWLEDGE_MS: u64 = 3_000;
/// How long a command's token is good.
const TOKEN_MS: u64 = 15 * 60 * 1_000;
/// A bot has no more than so many commands.
const COMMANDS: usize = 100;
const EPHEMERAL: u64 = 1 << 6;

impl State {
    /// A person gives a command; `rest` is its one option, where there is any.
    pub(super) fn command(&mut self, channel: u64, user: &User, name: &str, rest: &str) -> u64 {
        let id = self.next_id();
        let token = format!("interaction-token-{id}");
        let place = self.channels.get(&channel).cloned().expect("a channel");
        let options = match rest {
            "" => json!([]),
            rest => json!([{"type": 3, "name": "text", "value": rest}]),
        };
        let mut told = json!({
            "id": id.to_string(), "application_id": APPLICATION_ID.to_string(), "type": 2,
            "token": token, "version": 1, "channel_id": channel.to_string(),
            "channel": place.json(None), "locale": "en-US", "entitlements": [],
            "app_permissions": "0", "authorizing_integration_owners": {}, "context": 0,
            "attachment_size_limit": 10_485_760,
            "data": {"id": "5", "name": name, "type": 1, "options": options},
        });
        match place.guild {
            Some(guild) => {
                told["guild_id"] = json!(guild.to_string());
                told["member"] = json!({
                    "user": user.json(), "nick": null, "roles": [], "deaf": false, "mute": false,
                    "joined_at": timestamp(1 << 22), "flags": 0, "permissions": "0",
                });
            }
            None => {
                told["user"] = user.json();
                told["context"] = json!(1);
            }
        }
        let interaction = Interaction {
            token,
            channel,
            given_ms: self.now(),
            given: Instant::now(),
            acknowledged: None,
            ephemeral: false,
            reply: None,
        };
        self.interactions.insert(id, interaction);
        self.tell("INTERACTION_CREATE", &told, None);
        id
    }
}

/// Puts the whole set in place of the one before.
pub(super) fn overwrite(state: &mut State, body: &Value) -> Result<Value, Refusal> {
    let commands = body.as_array().cloned().unwrap_or_default();
    if commands.len() > COMMANDS {
        let why = "Maximum number of application commands reached (100)";
        return Err((400, 30_032, why.to_owned()));
    }
    state.overwrites += 1;
    state.commands.clear();
    for mut command in commands {
        command["id"] = json!(state.next_id().to_string());
        command["application_id"] = json!(APPLICATION_ID.to_string());
        command["version"] = json!("1");
        for (field, value) in [
            ("type", json!(1)),
            ("default_member_permissions", Value::Null),
            ("nsfw", json!(false)),
        ] {
            if command.get(field).is_none() {
                command[field] = value;
            }
        }
        state.commands.push(command);
    }
    Ok(Value::Array(state.commands.clone()))
}

/// Everything that is called with a command's token.
pub(super) async fn answer(
    state: &Arc<Told<State>>,
    cut: &Cut,
    path: &[&str],
    call: &Call,
) -> Response {
    match path {
        ["interactions", id, token, "callback"] => {
            respond(state.change(|state| acknowledge(state, id, token, call)))
        }
        ["webhooks", _, token, "messages", "@original"] if call.method == "PATCH" => {
            messages::faulted(state, cut, |state| reply(state, token, call)).await
        }
        ["webhooks", _, token, "messages", "@original"] if call.method == "GET" => {
            respond(state.look(|state| original(state, token)))
        }
        ["webhooks", _, token] if call.method == "POST" => {
            messages::faulted(state, cut, |state| follow_up(state, token, call)).await
        }
        ["webhooks", _, token, "messages", "@original"] if call.method == "DELETE" => {
            respond(state.change(|state| withdraw(state, token)))
        }
        _ => {
            let path = path.first().copied().unwrap_or_default();
            state.change(|state| state.problems.push(format!("no such route below /{path}")));
            server::refuse(&(404, 0, "404: Not Found".to_owned()))
        }
    }
}

fn acknowledge(state: &mut State, id: &str, token: &str, call: &Call) -> Result<Value, Refusal> {
    let (now, id) = (state.now(), id.parse::<u64>().unwrap_or_default());
    let interaction = state.interactions.get_mut(&id).filter(|known| known.token == token);
    let interaction = interaction.ok_or_else(|| unknown("interaction", 10_062))?;
    if interaction.acknowledged.is_some() {
        return Err((400, 40_060, "Interaction has already been acknowledged.".to_owned()));
    }
    if now > interaction.given_ms + ACKNOWLEDGE_MS {
        return Err(unknown("interaction", 10_062));
    }
    interaction.acknowledged = Some(interaction.given.elapsed());
    let flags = call.body["data"]["flags"].as_u64().unwrap_or_default();
    interaction.ephemeral = flags & EPHEMERAL != 0;
    let channel = interaction.channel;
    if call.body["type"] == 4 {
        let call = data_of(call);
        messages::check(&call.body, &call.files)?;
        messages::take(state, channel, &call, Some(id));
    }
    Ok(Value::Null)
}

/// The message inside a callback.
fn data_of(call: &Call) -> Call {
    Call {
        method: call.method.clone(),
        path: Vec::new(),
        query: Vec::new(),
        body: call.body["data"].clone(),
        files: call.files.clone(),
    }
}

fn by_token(state: &State, token: &str) -> Result<(u64, Interaction), Refusal> {
    let now = state.now();
    let known = state.interactions.iter().find(|(_, known)| known.token == token);
    let (id, interaction) = known.ok_or_else(|| unknown("Webhook", 10_015))?;
    if now > interaction.given_ms + TOKEN_MS {
        return Err((401, 50_027, "Invalid Webhook Token".to_owned()));
    }
    if interaction.acknowledged.is_none() {
        return Err(unknown("Webhook", 10_015));
    }
    Ok((*id, interaction.clone()))
}

/// The deferred reply becomes a message, or is changed.
fn reply(state: &mut State, token: &str, call: &Call) -> Result<Value, Refusal> {
    let (id, interaction) = by_token(state, token)?;
    match interaction.reply {
        Some(message) => messages::change(state, interaction.channel, message, call),
        None => {
            messages::check(&call.body, &call.files)?;
            Ok(messages::take(state, interaction.channel, call, Some(id)))
        }
    }
}

/// The answer as it stands.
fn original(state: &State, token: &str) -> Result<Value, Refusal> {
    let (_, interaction) = by_token(state, token)?;
    let message = interaction.reply.and_then(|id| state.message(interaction.channel, id));
    message.cloned().ok_or_else(|| unknown("Message", 10_008))
}

fn follow_up(state: &mut State, token: &str, call: &Call) -> Result<Value, Refusal> {
    let (id, interaction) = by_token(state, token)?;
    messages::check(&call.body, &call.files)?;
    Ok(messages::take(state, interaction.channel, call, Some(id)))
}

fn withdraw(state: &mut State, token: &str) -> Result<Value, Refusal> {
    let (_, interaction) = by_token(state, token)?;
    let message = interaction.reply.map(|id| id.to_string()).unwrap_or_default();
    let channel = interaction.channel.to_string();
    if message.is_empty() { Ok(Value::Null) } else { messages::delete(state, &channel, &message) }
}
