//! Servers, channels, messages and sessions as they stand, and how what happens is told of.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::files::Files;
use super::people::{Channel, Draft, Guild, Kind, User};
use super::{Action, BOT_ID, CallFault, GatewayFault, SendFault, Sent};
use crate::bell::Gate;

/// 2015-01-01 in milliseconds since 1970, where Discord's time begins.
const EPOCH: u64 = 1_420_070_400_000;

/// Intents, as their bits.
pub(super) mod intent {
    pub(crate) const GUILDS: u64 = 1;
    pub(crate) const GUILD_MESSAGES: u64 = 1 << 9;
    pub(crate) const DIRECT_MESSAGES: u64 = 1 << 12;
    pub(crate) const MESSAGE_CONTENT: u64 = 1 << 15;
}

/// What goes out on a socket.
#[derive(Clone, Debug)]
pub(super) enum Out {
    Text(String),
    Close(u16),
    /// The connection breaks.
    Cut,
    /// Nothing more is said on it, and nothing heard.
    Silence,
}

/// A session of the gateway. It outlives its sockets until it is forgotten.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) intents: u64,
    pub(super) seq: u64,
    /// What was told, for a RESUME.
    pub(super) log: Vec<(u64, String)>,
    /// The socket that it is on now.
    pub(super) socket: Option<u64>,
}

/// A command that a person gave.
#[derive(Clone, Debug)]
pub(super) struct Interaction {
    pub(super) token: String,
    pub(super) channel: u64,
    /// When, by Discord's clock.
    pub(super) given_ms: u64,
    pub(super) given: Instant,
    pub(super) acknowledged: Option<Duration>,
    pub(super) ephemeral: bool,
    /// The message that the deferred reply became.
    pub(super) reply: Option<u64>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) gateway: String,
    pub(super) ahead: Duration,
    counter: u64,
    order: u64,
    pub(super) guilds: Vec<Guild>,
    pub(super) channels: BTreeMap<u64, Channel>,
    pub(super) messages: BTreeMap<u64, Vec<Value>>,
    pub(super) blocked: BTreeSet<u64>,
    pub(super) hidden: BTreeSet<u64>,
    pub(super) muted: BTreeSet<u64>,
    pub(super) sent: Vec<Sent>,
    pub(super) actions: Vec<Action>,
    pub(super) tries: u64,
    /// Channel and nonce, with the message and when it was made by Discord's clock.
    pub(super) nonces: BTreeMap<(u64, String), (u64, u64)>,
    pub(super) commands: Vec<Value>,
    pub(super) overwrites: usize,
    pub(super) interactions: BTreeMap<u64, Interaction>,
    pub(super) sessions: Vec<Session>,
    pub(super) sockets: BTreeMap<u64, UnboundedSender<Out>>,
    pub(super) identifies: Vec<(Instant, u64)>,
    pub(super) identifies_left: (u64, Option<(Instant, Duration)>),
    pub(super) resumes: Vec<u64>,
    pub(super) heartbeats: u64,
    pub(super) heartbeat: Duration,
    pub(super) content_allowed: bool,
    pub(super) refuse_resumes: Option<u16>,
    pub(super) hold_guilds: Option<Gate>,
    pub(super) unreachable: bool,
    pub(super) send_faults: VecDeque<SendFault>,
    pub(super) call_faults: Vec<(String, CallFault)>,
    pub(super) gateway_faults: VecDeque<GatewayFault>,
    pub(super) files: Files,
    pub(super) calls: Vec<String>,
    pub(super) problems: Vec<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            gateway: String::new(),
            ahead: Duration::ZERO,
            counter: 0,
            order: 0,
            guilds: Vec::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            blocked: BTreeSet::new(),
            hidden: BTreeSet::new(),
            muted: BTreeSet::new(),
            sent: Vec::new(),
            actions: Vec::new(),
            tries: 0,
            nonces: BTreeMap::new(),
            commands: Vec::new(),
            overwrites: 0,
            interactions: BTreeMap::new(),
            sessions: Vec::new(),
            sockets: BTreeMap::new(),
            identifies: Vec::new(),
            identifies_left: (1_000, None),
            resumes: Vec::new(),
            heartbeats: 0,
            heartbeat: Duration::from_millis(41_250),
            content_allowed: true,
            refuse_resumes: None,
            hold_guilds: None,
            unreachable: false,
            send_faults: VecDeque::new(),
            call_faults: Vec::new(),
            gateway_faults: VecDeque::new(),
            files: Files::default(),
            calls: Vec::new(),
            problems: Vec::new(),
        }
    }
}

/// Milliseconds since 1970 of this machine.
#[expect(clippy::disallowed_methods, reason = "Discord has a clock of its own")]
fn now() -> u64 {
    u64::try_from(chrono::Utc::now().timestamp_millis()).unwrap_or_default()
}

/// A snowflake's moment, as the API writes it.
pub(super) fn timestamp(id: u64) -> String {
    let ms = i64::try_from((id >> 22) + EPOCH).unwrap_or_default();
    let at = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Millis, false)
}

impl State {
    /// Discord's clock, in milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        now() + u64::try_from(self.ahead.as_millis()).unwrap_or_default()
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.id_of(Duration::ZERO)
    }

    fn id_of(&mut self, ago: Duration) -> u64 {
        self.counter += 1;
        let ago = u64::try_from(ago.as_millis()).unwrap_or_default();
        ((self.now() - ago - EPOCH) << 22) | (self.counter & 0x3f_ffff)
    }

    /// How many sessions may still be begun, and after how many milliseconds there are more.
    pub(super) fn identifies_left(&self) -> (u64, u64) {
        let (left, renewed) = self.identifies_left;
        let Some((at, until)) = renewed else { return (left, 0) };
        match u64::try_from(until.saturating_sub(at.elapsed()).as_millis()) {
            Ok(after @ 1..) => (left, after),
            _ => (1_000, 0),
        }
    }

    pub(super) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    pub(super) fn join(&mut self, guild: Guild) {
        let told = self.guild_create(&guild);
        self.guilds.push(guild);
        self.tell("GUILD_CREATE", &told, None);
    }

    pub(super) fn open(&mut self, mut channel: Channel) -> Channel {
        if channel.id == 0 {
            channel.id = self.next_id();
        }
        let name = if channel.kind == Kind::Thread { "THREAD_CREATE" } else { "CHANNEL_CREATE" };
        let mut told = channel.json(None);
        if channel.kind == Kind::Thread {
            told["newly_created"] = json!(true);
        }
        self.channels.insert(channel.id, channel.clone());
        self.tell(name, &told, None);
        channel
    }

    /// The DM with this person; it exists from the first time that somebody asks.
    pub(super) fn dm_of(&mut self, user: u64) -> u64 {
        if let Some(dm) = self.channels.values().find(|channel| channel.with == Some(user)) {
            return dm.id;
        }
        let id = self.next_id();
        let (kind, name) = (Kind::Dm, String::new());
        let dm = Channel { id, kind, guild: None, parent: None, name, with: Some(user) };
        self.channels.insert(id, dm);
        id
    }

    pub(super) fn last_message(&self, channel: u64) -> Option<u64> {
        self.messages.get(&channel)?.iter().filter_map(number).max()
    }

    /// A message is there, and the gateway tells of it.
    pub(super) fn write(&mut self, draft: Draft) -> u64 {
        let (channel, id) = (draft.channel, self.keep(draft));
        let message = self.message(channel, id).cloned().expect("a message that is there");
        self.tell_message("MESSAGE_CREATE", &message);
        id
    }

    /// A message is there.
    pub(super) fn keep(&mut self, draft: Draft) -> u64 {
        let Draft { channel, author, mut body, ago, webhook } = draft;
        let id = self.id_of(ago);
        body["author"] = author.json();
        if webhook {
            body["webhook_id"] = json!(author.id.to_string());
        }
        if let Some(replied) = body["message_reference"]["message_id"].as_str() {
            let replied: u64 = replied.parse().expect("a message's number");
            body["message_reference"]["channel_id"] = json!(channel.to_string());
            body["referenced_message"] =
                self.message(channel, replied).cloned().unwrap_or(Value::Null);
        }
        self.store(channel, id, body);
        id
    }

    /// Adds what every message has, and puts it in its place.
    pub(super) fn store(&mut self, channel: u64, id: u64, mut body: Value) {
        let content = body["content"].as_str().unwrap_or_default().to_owned();
        body["id"] = json!(id.to_string());
        body["channel_id"] = json!(channel.to_string());
        body["timestamp"] = json!(timestamp(id));
        for (field, value) in [
            ("edited_timestamp", Value::Null),
            ("tts", json!(false)),
            ("mention_everyone", json!(false)),
            ("mentions", self.mentioned(&content)),
            ("mention_roles", mentioned_roles(&content)),
            ("attachments", json!([])),
            ("embeds", json!([])),
            ("pinned", json!(false)),
            ("flags", json!(0)),
            ("components", json!([])),
        ] {
            if body.get(field).is_none() {
                body[field] = value;
            }
        }
        let messages = self.messages.entry(channel).or_default();
        let at = messages.partition_point(|message| number(message) < Some(id));
        messages.insert(at, body);
    }

    pub(super) fn message(&self, channel: u64, id: u64) -> Option<&Value> {
        self.messages.get(&channel)?.iter().find(|message| number(message) == Some(id))
    }

    pub(super) fn message_mut(&mut self, channel: u64, id: u64) -> Option<&mut Value> {
        let messages = self.messages.get_mut(&channel)?;
        messages.iter_mut().find(|message| number(message) == Some(id))
    }

    /// A person's edit, or without a text the preview of a link.
    pub(super) fn edit(&mut self, channel: u64, id: u64, text: Option<&str>) {
        let edited = timestamp(self.next_id());
        let message = self.message_mut(channel, id).expect("a message that is there");
        match text {
            Some(text) => {
                message["content"] = json!(text);
                message["edited_timestamp"] = json!(edited);
            }
            None => message["embeds"] = json!([{"type": "link", "title": "a preview"}]),
        }
        let message = message.clone();
        self.tell_message("MESSAGE_UPDATE", &message);
    }

    /// A message is there no more.
    pub(super) fn unsay(&mut self, channel: u64, id: u64) {
        let messages = self.messages.entry(channel).or_default();
        messages.retain(|message| number(message) != Some(id));
        let told = json!({"id": id.to_string(), "channel_id": channel.to_string()});
        self.tell("MESSAGE_DELETE", &told, None);
    }

    fn mentioned(&self, content: &str) -> Value {
        let ids = content
            .split("<@")
            .skip(1)
            .filter_map(|rest| rest.trim_start_matches('!').split('>').next()?.parse::<u64>().ok());
        let user =
            |id| if id == BOT_ID { User::me() } else { User::new(id, &format!("user-{id}")) };
        ids.map(|id| user(id).json()).collect()
    }

    // The gateway.

    /// As a session with these intents is shown a message.
    fn as_seen(&self, message: &Value, intents: u64) -> Option<Value> {
        let channel: u64 = message["channel_id"].as_str()?.parse().ok()?;
        let place = self.channels.get(&channel)?;
        let mut seen = message.clone();
        let Some(guild) = place.guild else {
            return (intents & intent::DIRECT_MESSAGES != 0).then_some(seen);
        };
        if intents & intent::GUILD_MESSAGES == 0 || self.hidden.contains(&channel) {
            return None;
        }
        seen["guild_id"] = json!(guild.to_string());
        seen["member"] = json!({
            "nick": null, "roles": [], "joined_at": timestamp(1 << 22), "deaf": false,
            "mute": false, "flags": 0,
        });
        if intents & intent::MESSAGE_CONTENT == 0 && !shows_content(message) {
            for (field, empty) in
                [("content", json!("")), ("attachments", json!([])), ("embeds", json!([]))]
            {
                seen[field] = empty;
            }
        }
        Some(seen)
    }

    pub(super) fn tell_message(&mut self, name: &str, message: &Value) {
        for session in 0..self.sessions.len() {
            let seen = self.as_seen(message, self.sessions[session].intents);
            if let Some(seen) = seen {
                self.tell(name, &seen, Some(session));
            }
        }
    }

    /// Tells one session, or all.
    pub(super) fn tell(&mut self, name: &str, data: &Value, only: Option<usize>) {
        for (nth, session) in self.sessions.iter_mut().enumerate() {
            if only.is_some_and(|only| only != nth) {
                continue;
            }
            session.seq += 1;
            let frame = json!({"op": 0, "t": name, "s": session.seq, "d": data}).to_string();
            session.log.push((session.seq, frame.clone()));
            if let Some(socket) = session.socket.and_then(|socket| self.sockets.get(&socket)) {
                let _ = socket.send(Out::Text(frame));
            }
        }
    }

    pub(super) fn each_socket(&mut self, out: Out) {
        for socket in self.sockets.values() {
            let _ = socket.send(out.clone());
        }
    }

    pub(super) fn guild_create(&self, guild: &Guild) -> Value {
        let of = |thread: bool| -> Value {
            let channels = self.channels.values().filter(|channel| {
                channel.guild == Some(guild.id) && (channel.kind == Kind::Thread) == thread
            });
            channels.map(|channel| channel.json(self.last_message(channel.id))).collect()
        };
        let mut told = guild.json();
        for (field, value) in [
            ("channels", of(false)),
            ("threads", of(true)),
            ("members", json!([])),
            ("member_count", json!(2)),
            ("joined_at", json!(timestamp(1 << 22))),
            ("large", json!(false)),
            ("unavailable", json!(false)),
            ("presences", json!([])),
            ("voice_states", json!([])),
            ("stage_instances", json!([])),
            ("guild_scheduled_events", json!([])),
            ("soundboard_sounds", json!([])),
        ] {
            told[field] = value;
        }
        told
    }

    pub(super) fn describe(&self) -> String {
        let mut text = format!(
            "Discord: {} sockets, {} identifies, {} resumes, {} heartbeats, {} tries to send\n",
            self.sockets.len(),
            self.identifies.len(),
            self.resumes.len(),
            self.heartbeats,
            self.tries
        );
        for sent in &self.sent {
            text += &format!("  sent to {}: {:?}\n", sent.channel, sent.text);
        }
        for call in self.calls.iter().rev().take(20).rev() {
            text += &format!("  call: {call}\n");
        }
        for problem in &self.problems {
            text += &format!("  problem: {problem}\n");
        }
        text
    }
}

/// A message's number.
pub(super) fn number(message: &Value) -> Option<u64> {
    message["id"].as_str()?.parse().ok()
}

/// Without the intent, a session sees what is its own and what mentions the bot itself; a mention of
/// its role alone shows nothing.
fn shows_content(message: &Value) -> bool {
    let me = BOT_ID.to_string();
    let mentions = message["mentions"].as_array();
    message["author"]["id"] == me.as_str()
        || mentions.is_some_and(|all| all.iter().any(|user| user["id"] == me.as_str()))
}

fn mentioned_roles(content: &str) -> Value {
    let ids = content.split("<@&").skip(1).filter_map(|rest| rest.split('>').next());
    ids.filter(|id| id.parse::<u64>().is_ok()).collect()
}
