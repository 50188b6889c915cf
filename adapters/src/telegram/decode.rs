//! A raw update as core's [`Envelope`]. Pure: the same update gives the same envelope.
//!
//! The parts of a message are read one by one, the leaves as teloxide's types: a kind of content, an
//! entity or a field that this version does not know costs only itself, never the text beside it.
//! What still cannot be read is an [`Event::Unreadable`] with its bytes kept.

use std::collections::BTreeMap;

use atlas_core::event::outside::Said;
use atlas_core::event::{Addressed, ChatKind, Envelope, Event, Inbound, Sender};
use atlas_core::ids::{AccountId, Person, PersonId, PlatformChat, PlatformMessage, PlatformName};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use teloxide::types::{Chat, User};

use super::place::Place;
use super::{BotAccount, PLATFORM};

mod address;
mod content;
mod reply;

/// Updates are asked for, and read, in this kind alone. A group's migration comes in it too.
pub(super) const KINDS: [&str; 1] = ["message"];

/// The number of an update: the next poll's offset acknowledges up to it. None where it has none.
pub(super) fn update_id(raw: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Numbered {
        update_id: i64,
    }
    serde_json::from_str::<Numbered>(raw).ok().map(|update| update.update_id)
}

/// What `raw`, received by `account`, means for the bot `me`.
pub(super) fn decode(account: &AccountId, me: &BotAccount, raw: &str) -> Envelope {
    let (key, event) = match Update::read(raw) {
        Ok(update) => update.event(me, raw),
        Err(why) => (update_key(None, raw), Event::Unreadable { why }),
    };
    Envelope {
        account: account.clone(),
        platform: PlatformName(PLATFORM.to_owned()),
        key,
        raw: raw.to_owned(),
        event,
    }
}

/// An update without its number: one field, named by its kind.
struct Update {
    id: i64,
    kind: String,
    body: Box<RawValue>,
}

impl Update {
    fn read(raw: &str) -> Result<Self, String> {
        let mut fields: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(raw).map_err(|error| why("the update", &error))?;
        let id = fields.remove("update_id").and_then(|id| id.get().parse().ok());
        let known = KINDS.iter().find_map(|kind| fields.remove_entry(*kind));
        match (id, known.or_else(|| fields.pop_first())) {
            (Some(id), Some((kind, body))) => Ok(Self { id, kind, body }),
            _ => Err("the update has no number or no content".to_owned()),
        }
    }

    fn event(&self, me: &BotAccount, raw: &str) -> (String, Event) {
        if !KINDS.contains(&self.kind.as_str()) {
            return (update_key(Some(self.id), raw), Event::Nothing { kind: self.kind.clone() });
        }
        match serde_json::from_str::<Message>(self.body.get()) {
            Ok(message) => (message.key(), message.event(me)),
            Err(error) => {
                let event = Event::Unreadable { why: why("the message", &error) };
                (update_key(Some(self.id), raw), event)
            }
        }
    }
}

/// Where reading failed. serde's own words may quote the content.
fn why(what: &str, error: &serde_json::Error) -> String {
    format!("{what} has an unknown form at column {} of line {}", error.column(), error.line())
}

/// The key of what is no message: numbers of updates start anew after a quiet week.
fn update_key(id: Option<i64>, raw: &str) -> String {
    let id = id.map_or_else(|| "?".to_owned(), |id| id.to_string());
    format!("update/{id}/{}", hash(&[raw]))
}

/// Sixteen hex digits of what `parts` say.
fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A message as the Bot API gives it: what is needed of every kind, and the rest by name.
#[derive(Deserialize)]
struct Message {
    message_id: i64,
    date: i64,
    edit_date: Option<i64>,
    chat: Chat,
    message_thread_id: Option<i32>,
    #[serde(default)]
    is_topic_message: bool,
    from: Option<User>,
    sender_chat: Option<Chat>,
    text: Option<String>,
    caption: Option<String>,
    migrate_to_chat_id: Option<i64>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Message {
    /// One and the same for one version of one message, however often it comes.
    fn key(&self) -> String {
        let edited = self.edit_date.unwrap_or_default();
        let said = [self.text.as_deref(), self.caption.as_deref()].map(Option::unwrap_or_default);
        format!("{}/{}/{edited}/{}", self.chat.id, self.message_id, hash(&said))
    }

    fn event(&self, me: &BotAccount) -> Event {
        if let Some(to) = self.migrate_to_chat_id {
            let id = |chat| Place { chat, thread: None }.id();
            return Event::ChatMoved { from: id(self.chat.id.0), to: id(to) };
        }
        let Some(sent_at) = DateTime::<Utc>::from_timestamp(self.date, 0) else {
            return Event::Unreadable { why: "the message's date is no date".to_owned() };
        };
        match content::read(self) {
            content::Content::Said(said) => Event::Message(self.inbound(me, said, sent_at)),
            content::Content::Service(kind) => Event::Nothing { kind },
            content::Content::Unknown(why) => Event::Unreadable { why },
        }
    }

    fn inbound(&self, me: &BotAccount, said: Said, sent_at: DateTime<Utc>) -> Inbound {
        let kind = if self.chat.is_private() { ChatKind::Direct } else { ChatKind::Group };
        let (addressed, command) = address::read(self, me);
        let addressed = if kind == ChatKind::Direct { Addressed::Directly } else { addressed };
        let Said { text, outside, files } = said.answering(reply::read(self, me), addressed);
        Inbound {
            lineage: self.lineage(),
            kind,
            chat_name: chat_name(&self.chat),
            message: PlatformMessage(self.message_id.to_string()),
            order: self.message_id,
            sender: self.sender(),
            text,
            outside,
            files,
            addressed,
            command,
            sent_at,
        }
    }

    /// A thread counts only as a forum's topic: outside forums Telegram numbers chains of replies.
    fn lineage(&self) -> Vec<PlatformChat> {
        let chat = Place { chat: self.chat.id.0, thread: None };
        let topic = self.message_thread_id.filter(|_| self.is_topic_message);
        let topic = topic.map(|thread| Place { thread: Some(thread), ..chat }.id());
        topic.into_iter().chain([chat.id()]).collect()
    }

    /// A chat that speaks as itself is nobody; its `from` is a stand-in account of Telegram's.
    fn sender(&self) -> Sender {
        match (&self.sender_chat, &self.from) {
            (Some(chat), _) => {
                let name = chat_name(chat).unwrap_or_else(|| "a chat".to_owned());
                Sender { person: None, name, is_bot: false }
            }
            (None, Some(user)) => Sender {
                person: Some(Person {
                    platform: PlatformName(PLATFORM.to_owned()),
                    id: PersonId(user.id.0.to_string()),
                }),
                name: user_name(user),
                is_bot: user.is_bot,
            },
            (None, None) => Sender { person: None, name: "somebody".to_owned(), is_bot: false },
        }
    }

    /// What others said cannot be a command or speak to the bot.
    fn is_forwarded(&self) -> bool {
        self.rest.contains_key("forward_origin")
    }
}

fn user_name(user: &User) -> String {
    let name = user.full_name();
    match (name.trim(), &user.username) {
        ("", Some(username)) => username.clone(),
        ("", None) => "somebody".to_owned(),
        (name, _) => name.to_owned(),
    }
}

fn chat_name(chat: &Chat) -> Option<String> {
    let person = [chat.first_name(), chat.last_name()].into_iter().flatten().collect::<Vec<_>>();
    let name = chat.title().map(str::to_owned).unwrap_or_else(|| person.join(" "));
    Some(name).filter(|name| !name.trim().is_empty())
}

#[cfg(test)]
mod tests;
