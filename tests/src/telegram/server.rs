//! How the server answers. Each refusal is worded as Telegram words it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequest, Multipart, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::people::{Chat, Kind, utf16};
use super::{Action, BOT_ID, BOT_NAME, PollFault, SendFault, Sent, TOKEN};
use super::{files, html};
use crate::bell::Told;
use crate::download::FileFault;
use crate::wire::Cut;

/// Kinds of updates that are sent only to those who ask for them.
const ONLY_ON_REQUEST: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

const CONFLICT: &str = "Conflict: terminated by other getUpdates request; make sure that only one \
                        bot instance is running";

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) ahead: Duration,
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) blocked: BTreeSet<i64>,
    pub(super) updates: VecDeque<(i64, Value)>,
    next_update: i64,
    next_message: BTreeMap<i64, i64>,
    pub(super) allowed: Option<Vec<String>>,
    /// Counts pollers; one who finds a newer one gives way.
    pub(super) poller: u64,
    pub(super) polls: Vec<Option<i64>>,
    pub(super) sent: Vec<Sent>,
    pub(super) actions: Vec<Action>,
    pub(super) commands: Vec<Value>,
    pub(super) tries: usize,
    order: u64,
    /// Names and contents, by their ids.
    pub(super) files: BTreeMap<String, (String, Vec<u8>)>,
    pub(super) file_faults: VecDeque<FileFault>,
    pub(super) downloads: Vec<String>,
    pub(super) send_faults: VecDeque<SendFault>,
    pub(super) poll_faults: VecDeque<PollFault>,
    pub(super) unreachable: bool,
    pub(super) problems: Vec<String>,
}

impl State {
    pub(super) fn next_message(&mut self, chat: i64) -> i64 {
        let next = self.next_message.entry(chat).or_insert(0);
        *next += 1;
        *next
    }

    pub(super) fn push(&mut self, kind: &str, body: Value) {
        let asked_for = match &self.allowed {
            Some(allowed) => allowed.iter().any(|allowed| allowed == kind),
            None => !ONLY_ON_REQUEST.contains(&kind),
        };
        let id = self.take_update_id();
        if asked_for {
            let mut update = Map::new();
            update.insert("update_id".into(), json!(id));
            update.insert(kind.into(), body);
            self.updates.push_back((id, Value::Object(update)));
        }
    }

    pub(super) fn push_raw(&mut self, update: Value) {
        let id = self.take_update_id();
        self.updates.push_back((id, update));
    }

    fn take_update_id(&mut self) -> i64 {
        if self.next_update == 0 {
            self.next_update = 1000;
        }
        self.next_update += 1;
        self.next_update
    }

    /// Telegram's clock, in seconds since 1970.
    pub(super) fn now(&self) -> i64 {
        now() + i64::try_from(self.ahead.as_secs()).unwrap_or_default()
    }

    /// The next update gets this number.
    pub(super) fn jump(&mut self, number: i64) {
        self.next_update = number - 1;
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }
}

#[expect(clippy::disallowed_methods, reason = "Telegram has a clock of its own")]
pub(super) fn now() -> i64 {
    chrono::Utc::now().timestamp()
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
    let path = request.uri().path().to_owned();
    if let Some(file) = path.strip_prefix("/file/bot") {
        return files::give(state, file);
    }
    let known = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/'));
    let Some((token, method)) = known else {
        return unknown(state, &path);
    };
    if token != TOKEN {
        return refuse(401, "Unauthorized");
    }
    let parameters = match parameters(request).await {
        Ok(parameters) => parameters,
        Err(why) => return refuse(400, &format!("Bad Request: {why}")),
    };
    match method.to_lowercase().as_str() {
        "getme" => ok(me()),
        "getupdates" => get_updates(state, &cut, &parameters).await,
        "getfile" => files::tell(state, &parameters),
        "sendmessage" => send_message(state, &cut, &parameters).await,
        "sendchataction" => send_chat_action(state, &parameters),
        "editmessagetext" => edit_message_text(state, &parameters),
        "setmycommands" => {
            let commands = parameters.get("commands").cloned().unwrap_or(Value::Null);
            state.change(|state| state.commands.push(commands));
            ok(json!(true))
        }
        "deletewebhook" | "deletemycommands" => ok(json!(true)),
        "getwebhookinfo" => ok(json!({
            "url": "", "has_custom_certificate": false, "pending_update_count": 0,
        })),
        _ => unknown(state, &path.replace(TOKEN, "<token>")),
    }
}

fn unknown(state: &Arc<Told<State>>, path: &str) -> Response {
    state.change(|state| state.problems.push(format!("no such route: {path}")));
    refuse(404, "Not Found")
}

fn me() -> Value {
    json!({
        "id": BOT_ID, "is_bot": true, "first_name": "Atlas", "username": &BOT_NAME[1..],
        "can_join_groups": true, "can_read_all_group_messages": true,
        "supports_inline_queries": false, "can_connect_to_business": false,
        "has_main_web_app": false,
    })
}

pub(super) fn ok(result: Value) -> Response {
    respond(200, json!({"ok": true, "result": result}))
}

pub(super) fn refuse(code: u16, description: &str) -> Response {
    respond(code, json!({"ok": false, "error_code": code, "description": description}))
}

fn respond(code: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn cut_off(cut: &Cut) -> Response {
    cut.now();
    Response::new(Body::empty())
}

/// The parameters of a call, from its query, its JSON or its form; the form's are strings.
async fn parameters(request: Request) -> Result<Map<String, Value>, String> {
    let mut parameters = Map::new();
    let query = axum::extract::Query::<BTreeMap<String, String>>::try_from_uri(request.uri());
    for (key, value) in query.map(|query| query.0).unwrap_or_default() {
        parameters.insert(key, Value::String(value));
    }
    let kind = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    if kind.starts_with("multipart/form-data") {
        let mut form =
            Multipart::from_request(request, &()).await.map_err(|error| error.to_string())?;
        while let Some(field) = form.next_field().await.map_err(|error| error.to_string())? {
            let name = field.name().unwrap_or_default().to_owned();
            let text = field.text().await.map_err(|error| error.to_string())?;
            parameters.insert(name, Value::String(text));
        }
        return Ok(parameters);
    }
    let body = axum::body::to_bytes(request.into_body(), 64 << 20)
        .await
        .map_err(|error| error.to_string())?;
    if !body.is_empty() {
        match serde_json::from_slice(&body) {
            Ok(Value::Object(more)) => parameters.extend(more),
            _ => return Err("Can't parse request body".to_owned()),
        }
    }
    Ok(parameters)
}

fn number(parameters: &Map<String, Value>, key: &str) -> Option<i64> {
    match parameters.get(key)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn flag(parameters: &Map<String, Value>, key: &str) -> bool {
    matches!(parameters.get(key), Some(Value::Bool(true)))
        || parameters.get(key).and_then(Value::as_str).is_some_and(|text| text == "true")
}

async fn get_updates(
    state: &Arc<Told<State>>,
    cut: &Cut,
    parameters: &Map<String, Value>,
) -> Response {
    let offset = number(parameters, "offset");
    let (poller, fault) = state.change(|state| {
        state.polls.push(offset);
        state.poller += 1;
        (state.poller, state.poll_faults.pop_front())
    });
    match fault {
        Some(PollFault::Status(code)) => return refuse(code, word_for(code)),
        Some(PollFault::Conflict) => return refuse(409, CONFLICT),
        Some(PollFault::Malformed) => {
            return (StatusCode::OK, "{\"ok\":true,\"resu").into_response();
        }
        Some(PollFault::Cut) => return cut_off(cut),
        None => {}
    }
    state.change(|state| {
        if let Some(allowed) = allowed_updates(parameters) {
            state.allowed = Some(allowed);
        }
        confirm(state, offset.unwrap_or(0));
    });
    let limit = number(parameters, "limit").unwrap_or(100).clamp(1, 100);
    let timeout = number(parameters, "timeout").unwrap_or(0).clamp(0, 50);
    let held = state.bell().hold(|| {
        state.look(|state| {
            if state.unreachable {
                return Some(Err(true));
            }
            if state.poller != poller {
                return Some(Err(false));
            }
            let batch: Vec<Value> = state
                .updates
                .iter()
                .take(usize::try_from(limit).unwrap_or(100))
                .map(|(_, update)| update.clone())
                .collect();
            (!batch.is_empty()).then_some(Ok(batch))
        })
    });
    let wait = Duration::from_secs(timeout.unsigned_abs()).max(Duration::from_millis(1));
    match tokio::time::timeout(wait, held).await {
        Err(_) => ok(json!([])),
        Ok(Ok(batch)) => ok(Value::Array(batch)),
        Ok(Err(true)) => cut_off(cut),
        Ok(Err(false)) => refuse(409, CONFLICT),
    }
}

/// Forgets what the offset confirms. A negative one keeps that many of the last.
fn confirm(state: &mut State, offset: i64) {
    if offset < 0 {
        let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        let drop = state.updates.len().saturating_sub(keep);
        state.updates.drain(..drop);
    } else {
        state.updates.retain(|(id, _)| *id >= offset);
    }
}

fn allowed_updates(parameters: &Map<String, Value>) -> Option<Vec<String>> {
    let list = match parameters.get("allowed_updates")? {
        Value::String(text) => serde_json::from_str(text).ok()?,
        list => list.clone(),
    };
    let list: Vec<String> = serde_json::from_value(list).ok()?;
    Some(list).filter(|list| !list.is_empty())
}

fn word_for(code: u16) -> &'static str {
    match code {
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Internal Server Error",
    }
}

async fn send_message(
    state: &Arc<Told<State>>,
    cut: &Cut,
    parameters: &Map<String, Value>,
) -> Response {
    let fault = state.change(|state| {
        state.tries += 1;
        state.send_faults.pop_front()
    });
    match &fault {
        Some(SendFault::TooMany(seconds)) => return too_many(*seconds),
        Some(SendFault::Status(code)) => return refuse(*code, word_for(*code)),
        Some(SendFault::Refuse(code, description)) => return refuse(*code, description),
        Some(SendFault::LostRequest) => return cut_off(cut),
        Some(SendFault::Hold(gate)) => gate.pass().await,
        Some(SendFault::RefuseEntities) if parameters.contains_key("parse_mode") => {
            let why = "Bad Request: can't parse entities: Unsupported start tag \"planned\" at \
                       byte offset 0";
            return refuse(400, why);
        }
        _ => {}
    }
    let taken = state.change(|state| take_message(state, parameters));
    match (taken, fault) {
        (Err((code, description)), _) => refuse(code, &description),
        (Ok(_), Some(SendFault::LostAnswer)) => cut_off(cut),
        (Ok(message), Some(SendFault::HoldAnswer(gate))) => {
            gate.pass().await;
            ok(message)
        }
        (Ok(message), _) => ok(message),
    }
}

fn too_many(seconds: u64) -> Response {
    let body = json!({
        "ok": false, "error_code": 429,
        "description": format!("Too Many Requests: retry after {seconds}"),
        "parameters": {"retry_after": seconds},
    });
    respond(429, body)
}

type Refusal = (u16, String);

fn bad(why: &str) -> Refusal {
    (400, format!("Bad Request: {why}"))
}

/// Takes a message as the real server does, or says why not.
fn take_message(state: &mut State, parameters: &Map<String, Value>) -> Result<Value, Refusal> {
    if parameters.get("reply_markup").is_some_and(Value::is_null) {
        return Err(bad("object expected as reply markup"));
    }
    let (text, html, entities) = read_text(parameters)?;
    let chat = find_chat(state, parameters)?;
    let thread = find_thread(&chat, parameters)?;
    let message_id = state.next_message(chat.id);
    let mut message = json!({
        "message_id": message_id, "date": now(), "text": text, "chat": chat.json(),
        "from": {
            "id": BOT_ID, "is_bot": true, "first_name": "Atlas", "username": &BOT_NAME[1..],
        },
    });
    if let Some(thread) = thread {
        message["message_thread_id"] = json!(thread);
        message["is_topic_message"] = json!(true);
    }
    let sent = Sent {
        order: state.next_order(),
        at: Instant::now(),
        chat: chat.id,
        thread,
        text,
        html,
        entities,
        silent: flag(parameters, "disable_notification"),
        message_id,
        message: message.clone(),
    };
    state.sent.push(sent);
    Ok(message)
}

/// The text that people would read, what it was sent as, and its entities.
fn read_text(parameters: &Map<String, Value>) -> Result<(String, Option<String>, usize), Refusal> {
    let raw = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
    let (text, html, entities) = match parameters.get("parse_mode") {
        None => (raw.to_owned(), None, 0),
        Some(Value::String(mode)) if mode.is_empty() => (raw.to_owned(), None, 0),
        Some(Value::String(mode)) if mode.eq_ignore_ascii_case("html") => {
            let parsed = html::parse(raw).map_err(|why| bad(&why))?;
            (parsed.text, Some(raw.to_owned()), parsed.entities)
        }
        Some(_) => return Err(bad("unsupported parse_mode")),
    };
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(bad("message text is empty"));
    }
    if utf16(&text) > 4096 {
        return Err(bad("message is too long"));
    }
    Ok((text, html, entities))
}

fn find_chat(state: &State, parameters: &Map<String, Value>) -> Result<Chat, Refusal> {
    if !parameters.contains_key("chat_id") {
        return Err(bad("chat_id is empty"));
    }
    let id = number(parameters, "chat_id");
    let chat = id.and_then(|id| state.chats.get(&id)).ok_or_else(|| bad("chat not found"))?;
    if state.blocked.contains(&chat.id) {
        let why = match chat.kind {
            Kind::Private(_) => "Forbidden: bot was blocked by the user",
            _ => "Forbidden: bot was kicked from the supergroup chat",
        };
        return Err((403, why.to_owned()));
    }
    Ok(chat.clone())
}

/// The thread of a message. Outside forums the parameter is ignored; in one, the general topic is
/// not to be named.
fn find_thread(chat: &Chat, parameters: &Map<String, Value>) -> Result<Option<i64>, Refusal> {
    let Kind::Forum { topics, .. } = &chat.kind else { return Ok(None) };
    match number(parameters, "message_thread_id") {
        None => Ok(None),
        Some(thread) if topics.contains(&thread) && thread != 1 => Ok(Some(thread)),
        Some(_) => Err(bad("message thread not found")),
    }
}

fn send_chat_action(state: &Arc<Told<State>>, parameters: &Map<String, Value>) -> Response {
    state.change(|state| {
        let found = find_chat(state, parameters)
            .and_then(|chat| find_thread(&chat, parameters).map(|thread| (chat, thread)));
        let (chat, thread) = match found {
            Ok(found) => found,
            Err((code, why)) => return refuse(code, &why),
        };
        let action =
            parameters.get("action").and_then(Value::as_str).unwrap_or_default().to_owned();
        let order = state.next_order();
        state.actions.push(Action { order, at: Instant::now(), chat: chat.id, thread, action });
        ok(json!(true))
    })
}

fn edit_message_text(state: &Arc<Told<State>>, parameters: &Map<String, Value>) -> Response {
    let edited = state.change(|state| {
        let (text, html, entities) = read_text(parameters)?;
        let chat = find_chat(state, parameters)?;
        let number = number(parameters, "message_id");
        let sent = state
            .sent
            .iter_mut()
            .find(|sent| sent.chat == chat.id && Some(sent.message_id) == number)
            .ok_or_else(|| bad("message to edit not found"))?;
        if sent.text == text && sent.html == html {
            return Err(bad(
                "message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            ));
        }
        sent.message["text"] = json!(text);
        sent.message["edit_date"] = json!(now());
        (sent.text, sent.html, sent.entities) = (text, html, entities);
        Ok(sent.message.clone())
    });
    match edited {
        Ok(message) => ok(message),
        Err((code, why)) => refuse(code, &why),
    }
}
