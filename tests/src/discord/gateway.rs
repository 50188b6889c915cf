//! The gateway's socket: HELLO, IDENTIFY, READY, heartbeats, RESUME with replay, INVALID SESSION and
//! close codes.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::people::User;
use super::world::{Out, Session, State, intent};
use super::{APPLICATION_ID, GatewayFault, TOKEN};
use crate::bell::Told;

/// Serves one socket until it ends.
pub(super) async fn serve(state: Arc<Told<State>>, mut socket: WebSocket) {
    let (out, said) = unbounded_channel();
    let (me, hello) = state.change(|state| {
        let me = state.next_id();
        state.sockets.insert(me, out);
        let interval = u64::try_from(state.heartbeat.as_millis()).unwrap_or(u64::MAX);
        (me, json!({"op": 10, "d": {"heartbeat_interval": interval}, "s": null, "t": null}))
    });
    if socket.send(Message::text(hello.to_string())).await.is_ok() {
        talk(&state, me, &mut socket, said).await;
    }
    state.change(|state| {
        state.sockets.remove(&me);
        for session in &mut state.sessions {
            session.socket = session.socket.filter(|socket| *socket != me);
        }
    });
    // Dropped without a goodbye unless it was closed: the client sees an abnormal end.
}

async fn talk(
    state: &Arc<Told<State>>,
    me: u64,
    socket: &mut WebSocket,
    mut said: UnboundedReceiver<Out>,
) {
    loop {
        let out = tokio::select! {
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(text))) => match hear(state, me, &text).await {
                    Some(out) => out,
                    None => continue,
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            Some(out) = said.recv() => out,
        };
        match out {
            Out::Text(text) => {
                if socket.send(Message::text(text)).await.is_err() {
                    return;
                }
            }
            Out::Close(code) => {
                let frame = CloseFrame { code, reason: "as planned".into() };
                let _ = socket.send(Message::Close(Some(frame))).await;
                return;
            }
            Out::Cut => return,
            Out::Silence => {
                state.change(|state| state.sockets.remove(&me));
                // Until the client has had enough: what it says is read and left unanswered.
                while let Some(Ok(_)) = socket.recv().await {}
                return;
            }
        }
    }
}

/// What a frame of the client's is answered with at once.
async fn hear(state: &Arc<Told<State>>, me: u64, text: &str) -> Option<Out> {
    let Ok(frame) = serde_json::from_str::<Value>(text) else { return Some(Out::Close(4002)) };
    match frame["op"].as_u64() {
        Some(1) => {
            state.change(|state| state.heartbeats += 1);
            Some(Out::Text(json!({"op": 11, "d": null, "s": null, "t": null}).to_string()))
        }
        Some(2) => identify(state, me, &frame["d"]).await,
        Some(6) => state.change(|state| resume(state, me, &frame["d"])),
        Some(3 | 4 | 8) => None,
        _ => Some(Out::Close(4001)),
    }
}

fn fault(state: &mut State) -> Option<Option<Out>> {
    Some(match state.gateway_faults.pop_front()? {
        GatewayFault::Close(code) => Some(Out::Close(code)),
        GatewayFault::Invalid(resumable) => Some(invalid(resumable)),
        GatewayFault::Nothing => None,
    })
}

fn invalid(resumable: bool) -> Out {
    Out::Text(json!({"op": 9, "d": resumable, "s": null, "t": null}).to_string())
}

async fn identify(state: &Arc<Told<State>>, me: u64, asked: &Value) -> Option<Out> {
    let refused = state.change(|state| begin(state, me, asked));
    if let Some(out) = refused {
        return out;
    }
    if let Some(gate) = state.look(|state| state.hold_guilds.clone()) {
        let (state, bell) = (state.clone(), state.bell().clone());
        // Beside the socket, which goes on telling of other things.
        crate::bell::runtime().spawn(async move {
            gate.pass().await;
            state.change(|state| tell_guilds(state, me));
            bell.ring();
        });
    } else {
        state.change(|state| tell_guilds(state, me));
    }
    None
}

/// Begins a session and tells READY, or says why not: `Some(None)` is silence.
fn begin(state: &mut State, me: u64, asked: &Value) -> Option<Option<Out>> {
    let intents = asked["intents"].as_u64().unwrap_or_default();
    state.identifies.push((Instant::now(), intents));
    match state.identifies_left().0.checked_sub(1) {
        Some(left) => state.identifies_left.0 = left,
        None => state.problems.push("an IDENTIFY beyond the session start limit".to_owned()),
    }
    if let Some(out) = fault(state) {
        return Some(out);
    }
    if asked["token"].as_str().map(|token| token.trim_start_matches("Bot ")) != Some(TOKEN) {
        return Some(Some(Out::Close(4004)));
    }
    if intents & intent::MESSAGE_CONTENT != 0 && !state.content_allowed {
        return Some(Some(Out::Close(4014)));
    }
    let id = format!("session-{}", state.next_id());
    let session = Session { id: id.clone(), intents, seq: 0, log: Vec::new(), socket: Some(me) };
    state.sessions.push(session);
    let guild = |guild: &super::Guild| json!({"id": guild.id.to_string(), "unavailable": true});
    let guilds: Vec<Value> = state.guilds.iter().map(guild).collect();
    let ready = json!({
        "v": 10, "user": User::me().json(), "session_id": id, "session_type": "normal",
        "resume_gateway_url": format!("{}/resume", state.gateway), "guilds": guilds,
        "private_channels": [], "relationships": [], "shard": [0, 1],
        "application": {"id": APPLICATION_ID.to_string(), "flags": 0},
    });
    let session = state.sessions.len() - 1;
    state.tell("READY", &ready, Some(session));
    None
}

fn tell_guilds(state: &mut State, me: u64) {
    let session = state.sessions.iter().position(|session| session.socket == Some(me));
    let Some(session) = session else { return };
    if state.sessions[session].intents & intent::GUILDS == 0 {
        return;
    }
    for guild in state.guilds.clone() {
        let told = state.guild_create(&guild);
        state.tell("GUILD_CREATE", &told, Some(session));
    }
}

fn resume(state: &mut State, me: u64, asked: &Value) -> Option<Out> {
    let seq = asked["seq"].as_u64().unwrap_or_default();
    state.resumes.push(seq);
    if let Some(code) = state.refuse_resumes {
        return Some(Out::Close(code));
    }
    if let Some(out) = fault(state) {
        return out;
    }
    let id = asked["session_id"].as_str().unwrap_or_default();
    let Some(nth) = state.sessions.iter().position(|session| session.id == id) else {
        return Some(invalid(false));
    };
    let session = &mut state.sessions[nth];
    session.socket = Some(me);
    let missed: Vec<String> = session
        .log
        .iter()
        .filter(|(number, _)| *number > seq)
        .map(|(_, frame)| frame.clone())
        .collect();
    if let Some(socket) = state.sockets.get(&me) {
        for frame in missed {
            let _ = socket.send(Out::Text(frame));
        }
    }
    state.tell("RESUMED", &json!({}), Some(nth));
    None
}
