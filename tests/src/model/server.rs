//! How the server speaks: chat completions as a stream of events.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request as HttpRequest};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::{Value, json};

use super::check::{self, Request};
use super::reply::{Answer, Kind, Reply};
use super::{KEY, Takes};
use crate::bell::{Gate, Told};
use crate::wire::Cut;

pub(super) type Rule = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

pub(super) struct Lane {
    pub(super) name: String,
    pub(super) takes: Takes,
    pub(super) steps: Steps,
}

pub(super) enum Steps {
    Script(VecDeque<Reply>),
    Rule(Rule),
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Lane {
    fn is_for(&self, request: &Request) -> bool {
        match self.takes {
            Takes::All => true,
            Takes::Model(name) => request.body["model"] == name,
            Takes::Containing(text) => request.text().contains(text),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) lanes: Vec<Lane>,
    pub(super) requests: Vec<Arc<Request>>,
    pub(super) failures: Vec<String>,
    pub(super) breaks_announced: usize,
    pub(super) strict_roles: bool,
    /// The last request of each conversation, for the prefix rule.
    latest: BTreeMap<String, Arc<Request>>,
    answers: u64,
}

impl State {
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.failures.clone();
        for lane in &self.lanes {
            if let Steps::Script(steps) = &lane.steps
                && !steps.is_empty()
            {
                problems.push(format!("{}: {} answers never asked for", lane.name, steps.len()));
            }
        }
        problems
    }

    /// Captures a request and chooses its answer.
    fn take(&mut self, body: Value) -> Result<(Arc<Request>, Reply, u64), Refusal> {
        let key = body["prompt_cache_key"].as_str().unwrap_or_default().to_owned();
        let same = self.requests.iter().filter(|earlier| earlier.cache_key() == key);
        let (input, cached) = check::tokens(&body, same.map(|earlier| &earlier.body));
        let request = Arc::new(Request { body, input, cached });
        let number = self.requests.len();
        self.requests.push(request.clone());
        let faults = check::faults(&request.body);
        if let Some(first) = faults.first().cloned() {
            self.failures.extend(faults.iter().map(|fault| format!("request {number}: {fault}")));
            return Err((400, first));
        }
        if self.strict_roles && !check::strict_roles(&request.body) {
            let why = "After the optional system message, conversation roles must alternate \
                       user/assistant/user/assistant/...";
            return Err((400, why.to_owned()));
        }
        if let Some(earlier) = self.latest.insert(key, request.clone())
            && let Some(broken) = check::prefix_break(&earlier.body, &request.body)
        {
            if self.breaks_announced > 0 {
                self.breaks_announced -= 1;
            } else {
                self.failures.push(format!("request {number} breaks the prefix: {broken}"));
            }
        }
        self.answers += 1;
        let reply = self.reply(&request)?;
        Ok((request, reply, self.answers))
    }

    fn reply(&mut self, request: &Request) -> Result<Reply, Refusal> {
        let lane = self.lanes.iter_mut().find(|lane| lane.is_for(request));
        let reply = match lane.map(|lane| &mut lane.steps) {
            Some(Steps::Script(steps)) => steps.pop_front(),
            Some(Steps::Rule(rule)) => Some(rule.clone()(request)),
            None => None,
        };
        reply.ok_or_else(|| {
            self.failures.push(format!("one call too many: {}", request.describe()));
            (400, "the script holds no answer to this".to_owned())
        })
    }
}

type Refusal = (u16, String);

pub(super) fn routes(state: &Arc<Told<State>>) -> Router {
    let state = state.clone();
    Router::new().fallback(move |ConnectInfo(cut): ConnectInfo<Cut>, request: HttpRequest| {
        let state = state.clone();
        async move { answer(&state, cut, request).await }
    })
}

async fn answer(state: &Arc<Told<State>>, cut: Cut, request: HttpRequest) -> Response {
    let key = request.headers().get(header::AUTHORIZATION).and_then(|key| key.to_str().ok());
    if key.and_then(|key| key.strip_prefix("Bearer ")) != Some(KEY) {
        return refuse(401, "Incorrect API key provided");
    }
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/v1/models") => json_body(200, &models()),
        (&Method::POST, "/v1/chat/completions") => complete(state, cut, request).await,
        (method, path) => {
            let problem = format!("no such route: {method} {path}");
            state.change(|state| state.failures.push(problem));
            refuse(404, "Not Found")
        }
    }
}

fn models() -> Value {
    let model = json!({"id": "stand-in", "object": "model", "created": 0, "owned_by": "tests"});
    json!({"object": "list", "data": [model]})
}

fn refuse(code: u16, message: &str) -> Response {
    let kind = "invalid_request_error";
    json_body(code, &json!({"error": {"message": message, "type": kind, "code": null}}))
}

fn json_body(code: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

async fn complete(state: &Arc<Told<State>>, cut: Cut, request: HttpRequest) -> Response {
    let Ok(body) = axum::body::to_bytes(request.into_body(), 256 << 20).await else {
        return refuse(400, "the request broke off");
    };
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return refuse(400, "the request is no JSON");
    };
    let usage_wanted = body["stream_options"]["include_usage"] == true;
    if body["stream"] != true {
        state.change(|state| state.failures.push("a request without `stream`".to_owned()));
    }
    let (request, reply, number) = match state.change(|state| state.take(body)) {
        Ok(taken) => taken,
        Err((code, why)) => return refuse(code, &why),
    };
    if let Some(gate) = &reply.before {
        gate.pass().await;
    }
    match reply.kind {
        Kind::Status { code, body, retry_after } => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response =
                (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            response
        }
        Kind::Raw(body) => streamed(vec![body], None, None),
        Kind::Answer(answer) => {
            let events = events(&answer, &request, number, usage_wanted);
            streamed(events, reply.midway, answer.truncated.then_some(cut))
        }
    }
}

/// Sends the pieces one by one; the middle one waits for the gate; `cut` breaks it off at the end.
fn streamed(pieces: Vec<String>, midway: Option<Gate>, cut: Option<Cut>) -> Response {
    let middle = pieces.len() / 2;
    let pieces = stream::iter(pieces.into_iter().enumerate()).then(move |(index, piece)| {
        let gate = midway.clone().filter(|_| index == middle);
        async move {
            if let Some(gate) = gate {
                gate.pass().await;
            }
            // Each piece goes out on its own, as a server that generates sends them.
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Bytes::from(piece))
        }
    });
    let end = stream::iter(cut).map(|cut| {
        cut.now();
        Ok(Bytes::new())
    });
    let body = Body::from_stream(pieces.chain(end));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn events(answer: &Answer, request: &Request, number: u64, usage_wanted: bool) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk",
            "created": 1_790_000_000, "model": request.body["model"], "choices": choices,
        });
        if usage_wanted {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    };
    let mut first = json!({"role": "assistant", "content": ""});
    for (key, value) in answer.extra.iter().filter_map(Value::as_object).flatten() {
        first[key] = value.clone();
    }
    let mut events = vec![delta(first)];
    events
        .extend(pieces(&answer.text, 7).into_iter().map(|piece| delta(json!({"content": piece}))));
    for (index, (name, arguments)) in answer.calls.iter().enumerate() {
        let id = format!("call_{number}_{index}");
        let function = json!({"name": name, "arguments": ""});
        let head = json!({"index": index, "id": id, "type": "function", "function": function});
        events.push(delta(json!({"tool_calls": [head]})));
        for piece in pieces(arguments, 11) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(delta(json!({"tool_calls": [more]})));
        }
    }
    if answer.truncated {
        return events;
    }
    let usual = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    let finish = answer.finish.unwrap_or(usual);
    events.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null));
    if usage_wanted {
        let output = answer.text.len() / 4 + 1;
        let usage = json!({
            "prompt_tokens": request.input, "completion_tokens": output,
            "total_tokens": request.input + output as u64,
            "prompt_tokens_details": {"cached_tokens": request.cached},
        });
        events.push(chunk(json!([]), usage));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Pieces of at most `size` characters. A long text still comes in some 200 pieces.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = size.max(characters.len() / 200);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
