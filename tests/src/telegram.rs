//! A stand-in for Telegram's Bot API on the wire: it keeps updates until they are confirmed, refuses
//! what the real server refuses, in its words, and loses or delays what a test tells it to.
//!
//! What people do stands in [`people`]; how the server answers, in `server`; how it reads HTML, in
//! `html`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bell::{Bell, Gate, Told};
use crate::download::FileFault;

mod files;
mod html;
pub mod people;
mod server;
#[cfg(test)]
mod tests;

pub use people::{Chat, Draft, User, utf16};
use server::State;

/// The token that the stand-in accepts. Looks like one, so that a search of the logs finds it.
pub const TOKEN: &str = "7400000001:AAE-stand-in-token-of-the-test-kit-0001";

/// The bot's own number.
pub const BOT_ID: i64 = 7_400_000_001;

/// The bot's name, with which groups call it.
pub const BOT_NAME: &str = "@atlas_test_bot";

/// A message that the bot sent and Telegram took.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its place among everything that the bot did, see [`Action::order`].
    pub order: u64,
    /// When it was taken.
    pub at: Instant,
    /// The chat.
    pub chat: i64,
    /// The topic it was sent to, as Telegram shows it: none outside forums.
    pub thread: Option<i64>,
    /// What people read: tags and entities resolved, the ends trimmed.
    pub text: String,
    /// As it was sent, where it was sent as HTML.
    pub html: Option<String>,
    /// How many entities it holds. Telegram drops those beyond the hundredth.
    pub entities: usize,
    /// Without sound.
    pub silent: bool,
    /// Its number in the chat.
    pub message_id: i64,
    /// The message as the API tells of it, for replies.
    pub message: Value,
}

/// Typing.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its place among everything that the bot did.
    pub order: u64,
    /// When.
    pub at: Instant,
    /// The chat.
    pub chat: i64,
    /// The topic.
    pub thread: Option<i64>,
    /// `typing`.
    pub action: String,
}

/// What becomes of a `sendMessage` instead of the usual.
#[derive(Clone, Debug)]
pub enum SendFault {
    /// 429, with so many seconds to wait.
    TooMany(u64),
    /// This status with the server's short word for it.
    Status(u16),
    /// The message arrives; the answer is lost with the connection.
    LostAnswer,
    /// The connection breaks before the message arrives.
    LostRequest,
    /// Held before the message arrives.
    Hold(Gate),
    /// The message arrives; its answer is held.
    HoldAnswer(Gate),
    /// Refused as if its HTML were broken, whatever it holds. Plain text passes.
    RefuseEntities,
    /// Refused with this status and description.
    Refuse(u16, &'static str),
}

/// What becomes of a `getUpdates` instead of the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollFault {
    /// This status.
    Status(u16),
    /// 409: another poller.
    Conflict,
    /// 200 and a body that is no JSON.
    Malformed,
    /// The connection breaks.
    Cut,
}

/// The stand-in.
#[derive(Clone, Debug)]
pub struct Telegram {
    state: Arc<Told<State>>,
    address: SocketAddr,
}

impl Telegram {
    /// Starts one. It knows no chat yet.
    #[must_use]
    pub fn start(bell: &Arc<Bell>) -> Self {
        let state = Arc::new(Told::new(State::default(), bell));
        let address = crate::wire::serve(server::routes(&state));
        Self { state, address }
    }

    /// What `api_base` is set to.
    #[must_use]
    pub fn api_base(&self) -> String {
        format!("http://{}", self.address)
    }

    // What people do.

    /// The bot is in `chat` from now on.
    pub fn enter(&self, chat: &Chat) {
        self.state.change(|state| state.chats.insert(chat.id, chat.clone()));
    }

    /// Somebody writes. Returns the message's number in its chat.
    pub fn write(&self, draft: Draft) -> i64 {
        self.enter(&draft.chat);
        self.state.change(|state| {
            let Draft { chat, mut body, kind } = draft;
            if body.get("message_id").is_none() {
                body["message_id"] = json!(state.next_message(chat.id));
            }
            if body.get("date").is_none() {
                body["date"] = json!(state.now());
            }
            let number = body["message_id"].as_i64().expect("a message's number");
            state.push(kind, body);
            number
        })
    }

    /// A person writes to the bot in private.
    pub fn dm(&self, user: &User, text: &str) -> i64 {
        self.write(Draft::text(&Chat::dm(user), user, text))
    }

    /// A person changes an earlier message.
    pub fn edit(&self, chat: &Chat, user: &User, message: i64, text: &str) {
        let draft = Draft::text(chat, user, text)
            .as_kind("edited_message")
            .with("message_id", json!(message))
            .with("edit_date", json!(server::now()));
        self.write(draft);
    }

    /// An update of any kind, also of one that no client knows.
    pub fn update(&self, kind: &str, body: Value) {
        self.state.change(|state| state.push(kind, body));
    }

    /// The next update is this, whatever it is; `update_id` is not added.
    pub fn raw_update(&self, update: Value) {
        self.state.change(|state| state.push_raw(update));
    }

    /// The number that the next update gets; after a quiet week Telegram starts at a random one.
    pub fn jump_to_update(&self, number: i64) {
        self.state.change(|state| state.jump(number));
    }

    /// The person blocks the bot.
    pub fn block(&self, chat: i64) {
        self.state.change(|state| state.blocked.insert(chat));
    }

    /// The person lets the bot write again.
    pub fn unblock(&self, chat: i64) {
        self.state.change(|state| state.blocked.remove(&chat));
    }

    /// A file is there from now on. Returns the `document` of a message that it comes with.
    #[must_use]
    pub fn file(&self, name: &str, media_type: &str, bytes: &[u8]) -> Value {
        self.state.change(|state| state.file(name, media_type, bytes))
    }

    /// Every file is gone.
    pub fn lose_files(&self) {
        self.state.change(|state| state.files.clear());
    }

    /// Telegram's clock goes on by so much.
    pub fn turn_clock(&self, by: Duration) {
        self.state.change(|state| state.ahead += by);
    }

    // What goes wrong.

    /// The next downloads meet these, in order.
    pub fn plan_downloads(&self, faults: impl IntoIterator<Item = FileFault>) {
        self.state.change(|state| state.file_faults.extend(faults));
    }

    /// The next sends meet these, in order.
    pub fn plan_sends(&self, faults: impl IntoIterator<Item = SendFault>) {
        self.state.change(|state| state.send_faults.extend(faults));
    }

    /// The next polls meet these, in order.
    pub fn plan_polls(&self, faults: impl IntoIterator<Item = PollFault>) {
        self.state.change(|state| state.poll_faults.extend(faults));
    }

    /// Whether every connection breaks from now on.
    pub fn unreachable(&self, unreachable: bool) {
        self.state.change(|state| state.unreachable = unreachable);
    }

    /// A gate of this server's bell.
    #[must_use]
    pub fn gate(&self) -> Gate {
        Gate::new(self.state.bell())
    }

    /// Another program polls with the same token, once: whoever waits gets the 409.
    pub fn other_poller(&self) {
        self.state.change(|state| state.poller += 1);
    }

    // What the bot did.

    /// Everything that was sent, in order.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.state.look(|state| state.sent.clone())
    }

    /// What was sent to a chat: the texts, in order.
    #[must_use]
    pub fn texts(&self, chat: i64) -> Vec<String> {
        self.state.look(|state| {
            state
                .sent
                .iter()
                .filter(|sent| sent.chat == chat)
                .map(|sent| sent.text.clone())
                .collect()
        })
    }

    /// Typing, in order.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        self.state.look(|state| state.actions.clone())
    }

    /// How many sends were tried, refused ones included.
    #[must_use]
    pub fn tries(&self) -> usize {
        self.state.look(|state| state.tries)
    }

    /// The offset of each poll, in order.
    #[must_use]
    pub fn polls(&self) -> Vec<Option<i64>> {
        self.state.look(|state| state.polls.clone())
    }

    /// The names of the files whose download was begun, in order.
    #[must_use]
    pub fn downloads(&self) -> Vec<String> {
        self.state.look(|state| state.downloads.clone())
    }

    /// Updates that were not confirmed yet.
    #[must_use]
    pub fn unconfirmed(&self) -> usize {
        self.state.look(|state| state.updates.len())
    }

    /// The kinds of updates that the bot asked for.
    #[must_use]
    pub fn allowed_updates(&self) -> Option<Vec<String>> {
        self.state.look(|state| state.allowed.clone())
    }

    /// The lists that `setMyCommands` was given.
    #[must_use]
    pub fn commands(&self) -> Vec<Value> {
        self.state.look(|state| state.commands.clone())
    }

    /// What a well-behaved bot would not have done: unknown methods, parameters that cannot be.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.state.look(|state| {
            let mut problems = state.problems.clone();
            if !state.send_faults.is_empty() {
                problems.push(format!("planned and never met: {:?}", state.send_faults));
            }
            problems
        })
    }

    /// A test that provokes them takes them away.
    pub fn take_problems(&self) -> Vec<String> {
        self.state.change(|state| std::mem::take(&mut state.problems))
    }

    /// The whole state, for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        self.state.look(|state| {
            let mut text = format!(
                "telegram: {} updates unconfirmed, {} polls, {} tries to send, {} typings\n",
                state.updates.len(),
                state.polls.len(),
                state.tries,
                state.actions.len()
            );
            for sent in &state.sent {
                let (chat, thread, silent) = (sent.chat, sent.thread, sent.silent);
                text += &format!("  sent {chat} {thread:?} silent={silent}: {:?}\n", sent.text);
            }
            for problem in &state.problems {
                text += &format!("  problem: {problem}\n");
            }
            text
        })
    }
}
