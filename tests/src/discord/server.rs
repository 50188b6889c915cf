//! How the REST interface answers: who may call, which routes there are, and the world's facts.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, FromRequest, FromRequestParts, Multipart, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::people::{Channel, User};
use super::world::State;
use super::{
    APPLICATION_ID, Action, BOT_ID, CallFault, TOKEN, files, gateway, interactions, messages,
};
use crate::bell::Told;
use crate::wire::Cut;

/// A refusal: the status, Discord's code, its words.
pub(super) type Refusal = (u16, u64, String);

/// A call: its method, its path below the version, and what it carries.
pub(super) struct Call {
    pub(super) method: String,
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Value,
    /// Names and contents of uploaded files.
    pub(super) files: Vec<(String, String)>,
}

impl Call {
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(super) fn routes(state: &Arc<Told<State>>) -> Router {
    let state = state.clone();
    Router::new().fallback(move |ConnectInfo(cut): ConnectInfo<Cut>, request: Request| {
        let state = state.clone();
        async move { answer(&state, cut, request).await }
    })
}

async fn answer(state: &Arc<Told<State>>, cut: Cut, request: Request) -> Response {
    if state.look(|state| state.unreachable) {
        return cut_off(&cut);
    }
    if request.headers().contains_key(header::UPGRADE) {
        return upgrade(state, request).await;
    }
    if request.uri().path().starts_with(files::FILES) {
        return files::give(state, &request);
    }
    let known = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok())
        == Some(&format!("Bot {TOKEN}"));
    let call = match read(request).await {
        Ok(call) => call,
        Err(why) => return refuse(&(400, 50_109, why)),
    };
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let name = shown(&call.method, &path);
    let fault = state.change(|state| {
        state.calls.push(name.clone());
        let nth = state.call_faults.iter().position(|(call, _)| name.contains(call.as_str()))?;
        Some(state.call_faults.remove(nth).1)
    });
    match fault {
        Some(CallFault::Status(status)) => return bare(status),
        Some(CallFault::Cut) => return cut_off(&cut),
        Some(CallFault::Hold(gate)) => gate.pass().await,
        None => {}
    }
    // What answers a command is known by the command's own token.
    let open = matches!(path.first(), Some(&"interactions" | &"webhooks"));
    if !known && !open {
        return refuse(&(401, 0, "401: Unauthorized".to_owned()));
    }
    match (call.method.as_str(), &path[..]) {
        ("POST", ["channels", channel, "messages"]) => {
            messages::create(state, &cut, channel, &call).await
        }
        ("PATCH", ["channels", channel, "messages", message]) => {
            messages::edit(state, &cut, channel, message, &call).await
        }
        ("POST" | "PATCH" | "GET" | "DELETE", ["interactions" | "webhooks", ..]) => {
            interactions::answer(state, &cut, &path, &call).await
        }
        _ => respond(state.change(|state| plain(state, &path, &call))),
    }
}

/// The call without secrets: an interaction's token is one.
fn shown(method: &str, path: &[&str]) -> String {
    let token = match path {
        ["interactions" | "webhooks", _, token, ..] => Some(*token),
        _ => None,
    };
    let path: Vec<_> =
        path.iter().map(|part| if Some(*part) == token { "…" } else { part }).collect();
    format!("{method} /{}", path.join("/"))
}

async fn upgrade(state: &Arc<Told<State>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    if !query.split('&').any(|pair| pair == "v=10") {
        state.change(|state| state.problems.push(format!("a socket without v=10: {query}")));
    }
    let (mut parts, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => {
            let state = state.clone();
            upgrade.on_upgrade(move |socket| gateway::serve(state, socket))
        }
        Err(refused) => refused.into_response(),
    }
}

async fn read(request: Request) -> Result<Call, String> {
    let method = request.method().to_string();
    let path = request.uri().path().trim_start_matches('/');
    let path = path.strip_prefix("api/v10/").ok_or_else(|| format!("no such version: {path}"))?;
    let path = path.split('/').map(str::to_owned).collect();
    let pairs = request.uri().query().unwrap_or_default().split('&');
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let mut call = Call { method, path, query, body: Value::Null, files: Vec::new() };
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("multipart/form-data")) {
        let mut form =
            Multipart::from_request(request, &()).await.map_err(|error| error.to_string())?;
        while let Some(field) = form.next_field().await.map_err(|error| error.to_string())? {
            let file = field.file_name().map(str::to_owned);
            let text = field.text().await.map_err(|error| error.to_string())?;
            match file {
                Some(file) => call.files.push((file, text)),
                None => {
                    call.body = serde_json::from_str(&text).map_err(|error| error.to_string())?
                }
            }
        }
        return Ok(call);
    }
    let body = axum::body::to_bytes(request.into_body(), 64 << 20).await;
    let body = body.map_err(|error| error.to_string())?;
    if !body.is_empty() {
        call.body = serde_json::from_slice(&body)
            .map_err(|_| "The request body contains invalid JSON.".to_owned())?;
    }
    Ok(call)
}

pub(super) fn cut_off(cut: &Cut) -> Response {
    cut.now();
    Response::new(Body::empty())
}

pub(super) fn respond(result: Result<Value, Refusal>) -> Response {
    match result {
        Ok(Value::Null) => StatusCode::NO_CONTENT.into_response(),
        Ok(value) => json_response(200, &value),
        Err(refusal) => refuse(&refusal),
    }
}

pub(super) fn refuse((status, code, message): &Refusal) -> Response {
    let mut body = json!({"message": message, "code": code});
    if *code == 50_035 {
        body["message"] = json!("Invalid Form Body");
        let error = json!([{"code": "BASE_TYPE_MAX_LENGTH", "message": message}]);
        body["errors"] = json!({"content": {"_errors": error}});
    }
    json_response(*status, &body)
}

/// A status whose body nobody of Discord wrote.
pub(super) fn bare(status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, "<html>upstream</html>").into_response()
}

/// With the headers of a bucket in which there is room.
fn json_response(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        ("content-type", "application/json"),
        ("x-ratelimit-bucket", "stand-in"),
        ("x-ratelimit-limit", "50"),
        ("x-ratelimit-remaining", "49"),
        ("x-ratelimit-reset-after", "1.0"),
    ];
    (status, headers, body.to_string()).into_response()
}

pub(super) fn too_many(seconds: f64) -> Response {
    let body =
        json!({"message": "You are being rate limited.", "retry_after": seconds, "global": false});
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("retry-after", format!("{}", seconds.ceil())),
        ("x-ratelimit-reset-after", format!("{seconds}")),
        ("x-ratelimit-scope", "user".to_owned()),
        ("via", "1.1 stand-in".to_owned()),
    ];
    (StatusCode::TOO_MANY_REQUESTS, headers, body.to_string()).into_response()
}

pub(super) fn unknown(what: &str, code: u64) -> Refusal {
    (404, code, format!("Unknown {what}"))
}

/// The channel, if there is one and the bot may see it.
pub(super) fn channel(state: &State, id: &str) -> Result<Channel, Refusal> {
    let channel = id.parse().ok().and_then(|id: u64| state.channels.get(&id));
    let channel = channel.cloned().ok_or_else(|| unknown("Channel", 10_003))?;
    if state.hidden.contains(&channel.id) {
        return Err((403, 50_001, "Missing Access".to_owned()));
    }
    Ok(channel)
}

fn guild(state: &State, id: &str) -> Result<super::Guild, Refusal> {
    let guild = state.guilds.iter().find(|guild| guild.id.to_string() == id);
    guild.cloned().ok_or_else(|| unknown("Guild", 10_004))
}

fn plain(state: &mut State, path: &[&str], call: &Call) -> Result<Value, Refusal> {
    let application = APPLICATION_ID.to_string();
    match (call.method.as_str(), path) {
        ("GET", ["gateway"]) => Ok(json!({"url": state.gateway})),
        ("GET", ["gateway", "bot"]) => Ok(gateway_bot(state)),
        ("GET", ["users", "@me"]) => Ok(me()),
        ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => Ok(app(state)),
        ("POST", ["users", "@me", "channels"]) => {
            let user = call.body["recipient_id"].as_str().and_then(|id| id.parse().ok());
            let dm = state.dm_of(user.ok_or((400, 50_033, "Invalid Recipient(s)".to_owned()))?);
            Ok(state.channels[&dm].json(state.last_message(dm)))
        }
        ("GET", ["channels", id]) => {
            let channel = channel(state, id)?;
            Ok(channel.json(state.last_message(channel.id)))
        }
        ("GET", ["channels", id, "messages"]) => messages::history(state, id, call),
        ("GET", ["channels", id, "messages", message]) => {
            let (channel, message) = (channel(state, id)?.id, message.parse().unwrap_or_default());
            let found = state.message(channel, message).cloned();
            let mut found = found.ok_or_else(|| unknown("Message", 10_008))?;
            state.files.sign(&mut found);
            Ok(found)
        }
        ("DELETE", ["channels", id, "messages", message]) => messages::delete(state, id, message),
        ("POST", ["channels", id, "typing"]) => {
            let channel = channel(state, id)?.id;
            let order = state.next_order();
            state.actions.push(Action { order, at: std::time::Instant::now(), channel });
            Ok(Value::Null)
        }
        ("GET", ["guilds", id]) => Ok(guild(state, id)?.json()),
        ("GET", ["guilds", id, "roles"]) => Ok(guild(state, id)?.roles()),
        ("GET", ["guilds", id, "channels"]) => {
            let guild = guild(state, id)?;
            Ok(state.guild_create(&guild)["channels"].clone())
        }
        ("GET", ["guilds", id, "members", "@me"]) => Ok(member(&guild(state, id)?)),
        ("GET", ["guilds", id, "members", user]) if *user == BOT_ID.to_string() => {
            Ok(member(&guild(state, id)?))
        }
        ("GET", ["applications", id, "commands"]) if *id == application => {
            Ok(Value::Array(state.commands.clone()))
        }
        ("PUT", ["applications", id, "commands"]) if *id == application => {
            interactions::overwrite(state, &call.body)
        }
        _ => {
            let name = shown(&call.method, path);
            state.problems.push(format!("no such route: {name}"));
            Err((404, 0, "404: Not Found".to_owned()))
        }
    }
}

fn me() -> Value {
    let mut me = User::me().json();
    me["verified"] = json!(true);
    me["mfa_enabled"] = json!(false);
    me["email"] = Value::Null;
    me["locale"] = json!("en-US");
    me
}

/// The application, with the flag that says whether messages' content may be read.
fn app(state: &State) -> Value {
    let flags = if state.content_allowed { 1_u64 << 19 } else { 0 };
    json!({
        "id": APPLICATION_ID.to_string(), "name": "Atlas", "icon": null, "description": "",
        "bot_public": true, "bot_require_code_grant": false, "verify_key": "00", "team": null,
        "owner": User::new(1, "maker").json(), "flags": flags, "summary": "",
        "bot": me(), "install_params": null,
    })
}

fn gateway_bot(state: &State) -> Value {
    let (remaining, reset_after) = state.identifies_left();
    json!({
        "url": state.gateway, "shards": 1,
        "session_start_limit": {
            "total": 1_000, "remaining": remaining, "reset_after": reset_after,
            "max_concurrency": 1,
        },
    })
}

fn member(guild: &super::Guild) -> Value {
    json!({
        "user": me(), "nick": null, "avatar": null, "roles": [guild.role.to_string()],
        "joined_at": "2026-01-01T00:00:00+00:00", "premium_since": null, "deaf": false,
        "mute": false, "flags": 0, "pending": false, "communication_disabled_until": null,
    })
}
