//! How the server speaks: a stream of events in the dialect that it is asked in.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request as HttpRequest};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::{Value, json};

use super::check::{self, Dialect, Request};
use super::messages::{self, Refusal as Refused};
use super::reply::{Kind, Reason, Reply};
use super::signing::Signing;
use super::{KEY, Takes, chat};
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
    pub(super) signing: Signing,
    /// The last request of each conversation to each model, for the prefix rule.
    latest: BTreeMap<(String, String), Arc<Request>>,
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
    fn take(
        &mut self,
        dialect: Dialect,
        body: Value,
        headers: &HeaderMap,
    ) -> Result<Taken, Refusal> {
        let request = Request::new(dialect, body);
        let model =
            |request: &Request| request.body["model"].as_str().unwrap_or_default().to_owned();
        let key = (request.cache_key().to_owned(), model(&request));
        let same = self.requests.iter();
        let same = same.filter(|earlier| earlier.cache_key() == key.0 && model(earlier) == key.1);
        let request = Arc::new(request.after(same.map(|earlier| &**earlier)));
        let number = self.requests.len();
        self.requests.push(request.clone());
        self.look(&request, headers, number)?;
        if let Some(earlier) = self.latest.insert(key, request.clone())
            && let Some(broken) = check::prefix_break(&earlier, &request)
        {
            if self.breaks_announced > 0 {
                self.breaks_announced -= 1;
            } else {
                self.failures.push(format!("request {number} breaks the prefix: {broken}"));
            }
        }
        self.answers += 1;
        let reply = self.reply(&request)?;
        Ok(Taken { request, reply, number: self.answers, signing: self.signing })
    }

    /// Refuses what the real server refuses.
    fn look(
        &mut self,
        request: &Request,
        headers: &HeaderMap,
        number: usize,
    ) -> Result<(), Refusal> {
        if request.body["stream"] != true {
            self.failures.push("a request without `stream`".to_owned());
        }
        match request.dialect {
            Dialect::Messages => match messages::look(request, headers, self.signing) {
                Ok(()) => Ok(()),
                Err(Refused::Refused(why)) => Err((400, why)),
                Err(Refused::Fault(why)) => {
                    self.failures.push(format!("request {number}: {why}"));
                    Err((400, why))
                }
            },
            Dialect::Chat => {
                let faults = chat::faults(&request.body);
                if let Some(first) = faults.first().cloned() {
                    let faults = faults.iter().map(|fault| format!("request {number}: {fault}"));
                    self.failures.extend(faults);
                    return Err((400, first));
                }
                if self.strict_roles && !chat::strict_roles(&request.body) {
                    let why = "After the optional system message, conversation roles must \
                               alternate user/assistant/user/assistant/...";
                    return Err((400, why.to_owned()));
                }
                Ok(())
            }
        }
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

/// A request that is answered, and with what.
struct Taken {
    request: Arc<Request>,
    reply: Reply,
    number: u64,
    signing: Signing,
}

pub(super) fn routes(state: &Arc<Told<State>>) -> Router {
    let state = state.clone();
    Router::new().fallback(move |ConnectInfo(cut): ConnectInfo<Cut>, request: HttpRequest| {
        let state = state.clone();
        async move { answer(&state, cut, request).await }
    })
}

/// The dialect that somebody asks in, for each has its own header for the key, and whether the key is
/// right.
fn asker(headers: &HeaderMap) -> (Dialect, bool) {
    let header = |name: &str| headers.get(name).and_then(|key| key.to_str().ok());
    match header("x-api-key") {
        Some(key) => (Dialect::Messages, key == KEY),
        None => {
            let key = header("authorization").and_then(|key| key.strip_prefix("Bearer "));
            (Dialect::Chat, key == Some(KEY))
        }
    }
}

async fn answer(state: &Arc<Told<State>>, cut: Cut, request: HttpRequest) -> Response {
    let (path, method) = (request.uri().path().to_owned(), request.method().clone());
    let (dialect, is_known) = asker(request.headers());
    if !is_known {
        let why = match dialect {
            Dialect::Chat => "Incorrect API key provided",
            Dialect::Messages => "invalid x-api-key",
        };
        return refuse(dialect, 401, why);
    }
    match (method, path.as_str(), dialect) {
        (Method::GET, "/v1/models", _) => json_body(200, models().to_string()),
        (Method::GET, "/v1/models/stand-in", Dialect::Messages) => {
            json_body(200, json!({"type": "model", "id": "stand-in"}).to_string())
        }
        (Method::GET, other, Dialect::Messages) if other.starts_with("/v1/models/") => {
            let name = other.trim_start_matches("/v1/models/");
            refuse(dialect, 404, &format!("model: {name}"))
        }
        (Method::POST, "/v1/chat/completions", Dialect::Chat)
        | (Method::POST, "/v1/messages", Dialect::Messages) => {
            complete(state, cut, dialect, request).await
        }
        (method, path, _) => {
            let problem = format!("no such route: {method} {path}");
            state.change(|state| state.failures.push(problem));
            refuse(dialect, 404, "Not Found")
        }
    }
}

fn models() -> Value {
    let model = json!({"id": "stand-in", "object": "model", "created": 0, "owned_by": "tests"});
    json!({"object": "list", "data": [model]})
}

fn refuse(dialect: Dialect, code: u16, message: &str) -> Response {
    json_body(
        code,
        match dialect {
            Dialect::Chat => chat::refusal(code, message),
            Dialect::Messages => messages::refusal(code, message),
        },
    )
}

fn json_body(code: u16, body: String) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn complete(
    state: &Arc<Told<State>>,
    cut: Cut,
    dialect: Dialect,
    request: HttpRequest,
) -> Response {
    let headers = request.headers().clone();
    let Ok(body) = axum::body::to_bytes(request.into_body(), 256 << 20).await else {
        return refuse(dialect, 400, "the request broke off");
    };
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return refuse(dialect, 400, "the request is no JSON");
    };
    let taken = state.change(|state| state.take(dialect, body, &headers));
    let Taken { request, reply, number, signing } = match taken {
        Ok(taken) => taken,
        Err((code, why)) => return refuse(dialect, code, &why),
    };
    if let Some(gate) = &reply.before {
        gate.pass().await;
    }
    match reply.kind {
        Kind::Status { code, reason, retry_after } => {
            let mut response = match reason {
                Reason::Words(why) => refuse(dialect, code, &why),
                Reason::Body(body) => json_body(code, body),
            };
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            response
        }
        Kind::Raw(body) => streamed(vec![body], None, None),
        Kind::Answer(answer) => {
            let events = match dialect {
                Dialect::Chat => chat::events(&answer, &request, number),
                Dialect::Messages => messages::events(&answer, &request, number, signing),
            };
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
