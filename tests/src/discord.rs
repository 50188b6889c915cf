//! A stand-in for Discord on the wire: its REST interface and its gateway's socket. It refuses what
//! the real one refuses, in its words and codes, and loses, delays or closes what a test tells it to.
//!
//! What people and servers are stands in [`people`]; the world as it stands, in `world`; how calls are
//! answered, in `server`, `messages` and `interactions`; the socket, in `gateway`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_rustls::rustls::ServerConfig;

use crate::bell::{Bell, Gate, Told};
use crate::download::FileFault;

mod files;
mod gateway;
mod interactions;
mod messages;
pub mod people;
mod server;
#[cfg(test)]
mod tests;
mod world;

pub use people::{Channel, Draft, Guild, Kind, User};
use world::State;

/// The token that the stand-in accepts. Looks like one, so that a search of the logs finds it.
pub const TOKEN: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4.Stand1.in-token-of-the-test-kit-for-discord-0001";

/// The bot's own number.
pub const BOT_ID: u64 = 900_000_000_000_000_001;

/// The application's number.
pub const APPLICATION_ID: u64 = 900_000_000_000_000_002;

/// The bot's name.
pub const BOT_NAME: &str = "atlas_test";

/// A message that the bot sent and Discord took.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its place among everything that the bot did, see [`Action::order`].
    pub order: u64,
    /// When it was taken.
    pub at: Instant,
    /// The channel, thread or DM.
    pub channel: u64,
    /// Its number.
    pub id: u64,
    /// What it says now, edits included.
    pub text: String,
    /// Its nonce.
    pub nonce: Option<String>,
    /// Without a push notification (`SUPPRESS_NOTIFICATIONS`).
    pub silent: bool,
    /// Only its addressee sees it (`EPHEMERAL`).
    pub ephemeral: bool,
    /// The command that it answers, by the deferred reply.
    pub answers: Option<u64>,
    /// Names of the files on it.
    pub files: Vec<String>,
    /// What the files hold.
    pub contents: Vec<String>,
    /// How often it was edited.
    pub edits: u32,
    /// The body as it was sent.
    pub body: Value,
}

/// Typing.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its place among everything that the bot did.
    pub order: u64,
    /// When.
    pub at: Instant,
    /// The channel.
    pub channel: u64,
}

/// What becomes of a message on its way out instead of the usual.
#[derive(Clone, Debug)]
pub enum SendFault {
    /// 429, with so many seconds to wait.
    TooMany(f64),
    /// This status, without a body that Discord would write.
    Status(u16),
    /// The message arrives; the answer is lost with the connection.
    LostAnswer,
    /// The connection breaks before the message arrives.
    LostRequest,
    /// Held before the message arrives.
    Hold(Gate),
    /// The message arrives; its answer is held.
    HoldAnswer(Gate),
    /// Refused with this status, Discord's code and its words.
    Refuse(u16, u64, &'static str),
}

/// What becomes of a call of another kind, the next time it is made.
#[derive(Clone, Debug)]
pub enum CallFault {
    /// This status.
    Status(u16),
    /// The connection breaks.
    Cut,
    /// Held before it is answered.
    Hold(Gate),
}

/// What the gateway does at the next IDENTIFY or RESUME instead of the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayFault {
    /// It closes with this code.
    Close(u16),
    /// INVALID SESSION, and whether the session can be resumed.
    Invalid(bool),
    /// It says nothing at all.
    Nothing,
}

/// The stand-in.
#[derive(Clone, Debug)]
pub struct Discord {
    state: Arc<Told<State>>,
    address: SocketAddr,
}

impl Discord {
    /// Starts one. The bot is on no server yet.
    #[must_use]
    pub fn start(bell: &Arc<Bell>) -> Self {
        let state = Arc::new(Told::new(State::default(), bell));
        let address = crate::wire::serve(server::routes(&state));
        state.quietly(|state| {
            state.gateway = format!("ws://{address}");
            state.files.base = format!("http://{address}");
        });
        Self { state, address }
    }

    /// Starts one that is reached as `discord.com`, over TLS: by a client that trusts this certificate
    /// and finds that name at this address.
    ///
    /// # Panics
    ///
    /// Where no certificate can be made.
    #[must_use]
    pub fn start_as_discord_com(bell: &Arc<Bell>) -> (Self, Vec<u8>, SocketAddr) {
        atlas_adapters::http::install_provider();
        let made = rcgen::generate_simple_self_signed(["discord.com".to_owned()]);
        let made = made.expect("a certificate");
        let certificate = made.cert.der().clone();
        let key = made.signing_key.serialize_der().try_into().expect("a key");
        let tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .expect("TLS for the stand-in");
        let state = Arc::new(Told::new(State::default(), bell));
        let address = crate::wire::serve_tls(server::routes(&state), Arc::new(tls));
        (Self { state, address }, certificate.to_vec(), address)
    }

    /// What `api_base` is set to.
    #[must_use]
    pub fn api_base(&self) -> String {
        format!("http://{}", self.address)
    }

    // What people do.

    /// The bot is on this server from now on.
    pub fn join(&self, guild: &Guild) {
        self.state.change(|state| state.join(guild.clone()));
    }

    /// A channel, thread or forum post is there from now on. Returns it.
    pub fn open(&self, channel: &Channel) -> Channel {
        self.state.change(|state| state.open(channel.clone()))
    }

    /// The channel of a person's DMs with the bot.
    #[must_use]
    pub fn dm_of(&self, user: &User) -> u64 {
        self.state.change(|state| state.dm_of(user.id))
    }

    /// Somebody writes. Returns the message's number.
    pub fn write(&self, draft: Draft) -> u64 {
        self.state.change(|state| state.write(draft))
    }

    /// Somebody writes, and the gateway does not tell of it yet: only the history knows.
    pub fn write_unheard(&self, draft: Draft) -> u64 {
        self.state.change(|state| state.keep(draft))
    }

    /// A person writes to the bot in private.
    pub fn dm(&self, user: &User, text: &str) -> u64 {
        let channel = self.dm_of(user);
        self.write(Draft::text(channel, user, text))
    }

    /// A person changes an earlier message.
    pub fn edit(&self, channel: u64, message: u64, text: &str) {
        self.state.change(|state| state.edit(channel, message, Some(text)));
    }

    /// Discord adds a link's preview to a message: an update that is no edit by a person.
    pub fn preview(&self, channel: u64, message: u64) {
        self.state.change(|state| state.edit(channel, message, None));
    }

    /// A file is there from now on. Returns what a message's `attachments` tell of it.
    #[must_use]
    pub fn file(&self, name: &str, media_type: &str, bytes: &[u8]) -> Value {
        self.state.change(|state| {
            let id = state.next_id();
            state.files.keep(id, name, media_type, bytes)
        })
    }

    /// A person takes a message back.
    pub fn unsay(&self, channel: u64, message: u64) {
        self.state.change(|state| state.unsay(channel, message));
    }

    /// A person gives a slash command. Returns its number.
    pub fn command(&self, channel: u64, user: &User, name: &str, rest: &str) -> u64 {
        self.state.change(|state| state.command(channel, user, name, rest))
    }

    /// The person no longer takes messages of the bot.
    pub fn block(&self, user: u64) {
        self.state.change(|state| state.blocked.insert(user));
    }

    /// The bot may not see this channel.
    pub fn hide(&self, channel: u64) {
        self.state.change(|state| state.hidden.insert(channel));
    }

    /// The bot may not write in this channel.
    pub fn mute(&self, channel: u64) {
        self.state.change(|state| state.muted.insert(channel));
    }

    // What the server does.

    /// Discord's clock goes on by so much.
    pub fn turn_clock(&self, by: Duration) {
        self.state.change(|state| state.ahead += by);
    }

    /// The next messages on their way out, in order.
    pub fn plan_sends(&self, faults: impl IntoIterator<Item = SendFault>) {
        self.state.change(|state| state.send_faults.extend(faults));
    }

    /// The next downloads meet these, in order.
    pub fn plan_downloads(&self, faults: impl IntoIterator<Item = FileFault>) {
        self.state.change(|state| state.files.faults.extend(faults));
    }

    /// The addresses of files that were told until now hold no longer.
    pub fn expire_addresses(&self) {
        self.state.change(|state| state.files.issue += 1);
    }

    /// The next calls whose `METHOD path` holds this text.
    pub fn plan_calls(&self, call: &str, faults: impl IntoIterator<Item = CallFault>) {
        let faults = faults.into_iter().map(|fault| (call.to_owned(), fault));
        self.state.change(|state| state.call_faults.extend(faults));
    }

    /// The next identifies and resumes, in order.
    pub fn plan_gateway(&self, faults: impl IntoIterator<Item = GatewayFault>) {
        self.state.change(|state| state.gateway_faults.extend(faults));
    }

    /// Every RESUME is answered by closing, from now on.
    pub fn refuse_resumes(&self, code: u16) {
        self.state.change(|state| state.refuse_resumes = Some(code));
    }

    /// How often a client's heart is to beat.
    pub fn beat_every(&self, interval: Duration) {
        self.state.change(|state| state.heartbeat = interval);
    }

    /// The application may not read messages' content, or may again.
    pub fn allow_content(&self, allowed: bool) {
        self.state.change(|state| state.content_allowed = allowed);
    }

    /// So many identifies are left, until so long from now.
    pub fn leave_identifies(&self, left: u64, until: Duration) {
        self.state.change(|state| state.identifies_left = (left, Some((Instant::now(), until))));
    }

    /// The servers are told of only after this gate is open.
    pub fn hold_guilds(&self, gate: &Gate) {
        self.state.change(|state| state.hold_guilds = Some(gate.clone()));
    }

    /// All sockets break without a word, as networks do it. Sessions can be resumed.
    pub fn drop_sockets(&self) {
        self.state.change(|state| state.each_socket(world::Out::Cut));
    }

    /// All sockets are closed with this code.
    pub fn close_sockets(&self, code: u16) {
        self.state.change(|state| state.each_socket(world::Out::Close(code)));
    }

    /// All sessions are forgotten, as after a long outage: none can be resumed.
    pub fn forget_sessions(&self) {
        self.state.change(|state| state.sessions.clear());
    }

    /// The sockets stay open, and not a byte comes any more. A new one works.
    pub fn go_silent(&self) {
        self.state.change(|state| state.each_socket(world::Out::Silence));
    }

    /// No call is answered and no socket is taken, or all are again.
    pub fn cut_off(&self, cut_off: bool) {
        self.state.change(|state| {
            state.unreachable = cut_off;
            if cut_off {
                state.each_socket(world::Out::Cut);
            }
        });
    }

    /// The gateway says this, whatever it is.
    pub fn say(&self, frame: &str) {
        self.state.change(|state| state.each_socket(world::Out::Text(frame.to_owned())));
    }

    /// The gateway tells of an event in the usual way, with a number of its own.
    pub fn tell(&self, name: &str, data: Value) {
        self.state.change(|state| state.tell(name, &data, None));
    }

    /// Commands that were registered before.
    pub fn register(&self, names: impl IntoIterator<Item = String>) {
        self.state.change(|state| {
            for name in names {
                let id = state.next_id().to_string();
                state
                    .commands
                    .push(json!({"id": id, "name": name, "description": "old", "type": 1}));
            }
        });
    }

    // Facts.

    /// Everything that the bot sent, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.state.look(|state| state.sent.clone())
    }

    /// What was sent to a channel.
    #[must_use]
    pub fn texts(&self, channel: u64) -> Vec<String> {
        let sent = self.sent().into_iter().filter(|sent| sent.channel == channel);
        sent.map(|sent| sent.text).collect()
    }

    /// Typing, in order.
    #[must_use]
    pub fn typing(&self) -> Vec<Action> {
        self.state.look(|state| state.actions.clone())
    }

    /// The names of the files whose download was begun, in order.
    #[must_use]
    pub fn downloads(&self) -> Vec<String> {
        self.state.look(|state| state.files.downloads.clone())
    }

    /// How often somebody tried to send a message.
    #[must_use]
    pub fn tries(&self) -> u64 {
        self.state.look(|state| state.tries)
    }

    /// When each IDENTIFY came, and with which intents.
    #[must_use]
    pub fn identifies(&self) -> Vec<(Instant, u64)> {
        self.state.look(|state| state.identifies.clone())
    }

    /// How often RESUME was tried, and the sequence number of each.
    #[must_use]
    pub fn resumes(&self) -> Vec<u64> {
        self.state.look(|state| state.resumes.clone())
    }

    /// How many sockets are open.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.state.look(|state| state.sockets.len())
    }

    /// How many heartbeats came.
    #[must_use]
    pub fn heartbeats(&self) -> u64 {
        self.state.look(|state| state.heartbeats)
    }

    /// Calls that were made, as `METHOD path` without queries, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.state.look(|state| state.calls.clone())
    }

    /// The names of the registered commands, and how often the set was written.
    #[must_use]
    pub fn commands(&self) -> (Vec<String>, usize) {
        self.state.look(|state| {
            let name = |command: &Value| command["name"].as_str().unwrap_or_default().to_owned();
            (state.commands.iter().map(name).collect(), state.overwrites)
        })
    }

    /// How long after it was given a command was acknowledged; None while it is not.
    #[must_use]
    pub fn acknowledged(&self, command: u64) -> Option<Duration> {
        self.state.look(|state| state.interactions.get(&command)?.acknowledged)
    }

    /// What no real server would have been asked.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.state.look(|state| state.problems.clone())
    }

    /// How it stands, for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        self.state.look(State::describe)
    }
}
