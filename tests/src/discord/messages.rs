//! Messages as the interface takes, changes and gives them.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use serde_json::{Value, json};

use super::people::{Channel, Kind, User};
use super::server::{Call, Refusal, bare, channel, cut_off, refuse, respond, too_many, unknown};
use super::world::{State, number, timestamp};
use super::{BOT_ID, SendFault, Sent};
use crate::bell::Told;
use crate::wire::Cut;

/// Characters that a message may have.
const LONGEST: usize = 2_000;
/// How long a nonce is remembered.
const NONCE_MS: u64 = 3 * 60 * 1_000;
/// The flags of a message that this stand-in knows.
const EPHEMERAL: u64 = 1 << 6;
const SILENT: u64 = 1 << 12;

/// What a planned fault makes of a call that would change something: the answer before it happens,
/// or what becomes of the answer after.
pub(super) async fn faulted(
    state: &Arc<Told<State>>,
    cut: &Cut,
    take: impl FnOnce(&mut State) -> Result<Value, Refusal>,
) -> Response {
    let fault = state.change(|state| {
        state.tries += 1;
        state.send_faults.pop_front()
    });
    match &fault {
        Some(SendFault::TooMany(seconds)) => return too_many(*seconds),
        Some(SendFault::Status(status)) => return bare(*status),
        Some(SendFault::Refuse(status, code, words)) => {
            return refuse(&(*status, *code, (*words).to_owned()));
        }
        Some(SendFault::LostRequest) => return cut_off(cut),
        Some(SendFault::Hold(gate)) => gate.pass().await,
        _ => {}
    }
    let taken = state.change(take);
    match (&taken, fault) {
        (Ok(_), Some(SendFault::LostAnswer)) => return cut_off(cut),
        (Ok(_), Some(SendFault::HoldAnswer(gate))) => gate.pass().await,
        _ => {}
    }
    respond(taken)
}

pub(super) async fn create(state: &Arc<Told<State>>, cut: &Cut, id: &str, call: &Call) -> Response {
    faulted(state, cut, |state| {
        let channel = channel(state, id)?;
        may_write(state, &channel)?;
        check(&call.body, &call.files)?;
        if let Some(first) = repeated(state, channel.id, &call.body) {
            return Ok(first);
        }
        Ok(take(state, channel.id, call, None))
    })
    .await
}

pub(super) fn may_write(state: &State, channel: &Channel) -> Result<(), Refusal> {
    if channel.with.is_some_and(|user| state.blocked.contains(&user)) {
        return Err((403, 50_007, "Cannot send messages to this user".to_owned()));
    }
    if state.muted.contains(&channel.id) {
        return Err((403, 50_013, "Missing Permissions".to_owned()));
    }
    if channel.kind == Kind::Forum {
        return Err((400, 50_008, "Cannot send messages in a non-text channel".to_owned()));
    }
    Ok(())
}

/// What is refused in every message.
pub(super) fn check(body: &Value, files: &[(String, String)]) -> Result<(), Refusal> {
    let content = body["content"].as_str().unwrap_or_default();
    if content.chars().count() > LONGEST {
        return Err((400, 50_035, "Must be 2000 or fewer in length.".to_owned()));
    }
    if let Some(nonce) = body["nonce"].as_str()
        && nonce.len() > 25
    {
        return Err((400, 50_035, "Must be 25 or fewer in length.".to_owned()));
    }
    let embeds = body["embeds"].as_array().is_some_and(|embeds| !embeds.is_empty());
    if content.trim().is_empty() && files.is_empty() && !embeds {
        return Err((400, 50_006, "Cannot send an empty message".to_owned()));
    }
    Ok(())
}

/// The message of the same nonce, where it is to be enforced and still remembered.
fn repeated(state: &mut State, channel: u64, body: &Value) -> Option<Value> {
    let now = state.now();
    state.nonces.retain(|_, (_, at)| *at + NONCE_MS > now);
    if body["enforce_nonce"] != true {
        return None;
    }
    let (id, _) = *state.nonces.get(&(channel, body["nonce"].as_str()?.to_owned()))?;
    state.message(channel, id).cloned()
}

/// Takes the bot's message. `answers` is the command whose deferred reply it becomes.
pub(super) fn take(state: &mut State, channel: u64, call: &Call, answers: Option<u64>) -> Value {
    let (id, order) = (state.next_id(), state.next_order());
    let body = &call.body;
    let text = body["content"].as_str().unwrap_or_default().to_owned();
    let nonce = body["nonce"].as_str().map(str::to_owned);
    let flags = body["flags"].as_u64().unwrap_or_default();
    let interaction = answers.and_then(|id| state.interactions.get_mut(&id));
    let ephemeral = interaction.as_ref().is_some_and(|interaction| interaction.ephemeral)
        || (answers.is_some() && flags & EPHEMERAL != 0);
    if let Some(interaction) = interaction {
        interaction.reply.get_or_insert(id);
    }
    if let Some(nonce) = &nonce {
        let now = state.now();
        state.nonces.insert((channel, nonce.clone()), (id, now));
    }
    let attachment = |(name, text): &(String, String)| {
        json!({
            "id": id.to_string(), "filename": name, "size": text.len(), "proxy_url": "",
            "url": format!("https://cdn.example/{name}"), "content_type": "text/markdown",
        })
    };
    let mut message = json!({
        "type": 0, "content": text, "author": User::me().json(), "flags": flags,
        "attachments": call.files.iter().map(attachment).collect::<Value>(),
    });
    if let Some(nonce) = &nonce {
        message["nonce"] = json!(nonce);
    }
    if body["message_reference"].is_object() {
        message["message_reference"] = body["message_reference"].clone();
        message["type"] = json!(19);
    }
    state.store(channel, id, message);
    let (files, contents) = call.files.iter().cloned().unzip();
    state.sent.push(Sent {
        order,
        at: Instant::now(),
        channel,
        id,
        text,
        nonce,
        silent: flags & SILENT != 0,
        ephemeral,
        answers,
        files,
        contents,
        edits: 0,
        body: body.clone(),
    });
    let message = state.message(channel, id).cloned().unwrap_or_default();
    if !ephemeral {
        state.tell_message("MESSAGE_CREATE", &message);
    }
    message
}

pub(super) async fn edit(
    state: &Arc<Told<State>>,
    cut: &Cut,
    id: &str,
    message: &str,
    call: &Call,
) -> Response {
    faulted(state, cut, |state| {
        let channel = channel(state, id)?.id;
        change(state, channel, message.parse().unwrap_or_default(), call)
    })
    .await
}

/// Changes a message of the bot's own.
pub(super) fn change(
    state: &mut State,
    channel: u64,
    id: u64,
    call: &Call,
) -> Result<Value, Refusal> {
    check(&call.body, &call.files)?;
    let edited = timestamp(state.next_id());
    let message = state.message_mut(channel, id).ok_or_else(|| unknown("Message", 10_008))?;
    if message["author"]["id"] != BOT_ID.to_string().as_str() {
        return Err((403, 50_005, "Cannot edit a message authored by another user".to_owned()));
    }
    message["content"] = call.body["content"].clone();
    message["edited_timestamp"] = json!(edited);
    let message = message.clone();
    if let Some(sent) = state.sent.iter_mut().find(|sent| sent.id == id) {
        sent.text = call.body["content"].as_str().unwrap_or_default().to_owned();
        sent.edits += 1;
        let (names, contents): (Vec<_>, Vec<_>) = call.files.iter().cloned().unzip();
        sent.files.extend(names);
        sent.contents.extend(contents);
    }
    state.tell_message("MESSAGE_UPDATE", &message);
    Ok(message)
}

pub(super) fn delete(state: &mut State, id: &str, message: &str) -> Result<Value, Refusal> {
    let (channel, message) = (channel(state, id)?.id, message.parse::<u64>().unwrap_or_default());
    let messages = state.messages.entry(channel).or_default();
    let before = messages.len();
    messages.retain(|kept| number(kept) != Some(message));
    if messages.len() == before {
        return Err(unknown("Message", 10_008));
    }
    state.sent.retain(|sent| sent.id != message);
    Ok(Value::Null)
}

/// The newest first. `after` gives the oldest that are newer, also the newest of them first. Nonces
/// are told when a message is made, and never again.
pub(super) fn history(state: &State, id: &str, call: &Call) -> Result<Value, Refusal> {
    let channel = channel(state, id)?;
    let limit = call.query("limit").and_then(|limit| limit.parse().ok()).unwrap_or(50);
    if !(1..=100).contains(&limit) {
        return Err((400, 50_035, "int value should be less than or equal to 100.".to_owned()));
    }
    let bound = |name: &str| call.query(name).and_then(|id| id.parse::<u64>().ok());
    let all = state.messages.get(&channel.id).map(Vec::as_slice).unwrap_or_default();
    let mut page: Vec<Value> = match (bound("after"), bound("before")) {
        (Some(after), _) => {
            all.iter().filter(|one| number(one) > Some(after)).take(limit).cloned().collect()
        }
        (None, before) => {
            let before = before.unwrap_or(u64::MAX);
            let newest = all.iter().rev().filter(|one| number(one) < Some(before)).take(limit);
            let mut newest: Vec<Value> = newest.cloned().collect();
            newest.reverse();
            newest
        }
    };
    page.reverse();
    page.iter_mut().for_each(|message| state.files.sign(message));
    for message in page.iter_mut().filter_map(Value::as_object_mut) {
        message.remove("nonce");
    }
    Ok(Value::Array(page))
}
