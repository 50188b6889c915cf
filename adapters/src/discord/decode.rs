//! What Discord tells as core's [`Envelope`]s. Pure: the same payload in the same place gives the same
//! envelope, whether the gateway told it or the history.
//!
//! The parts of a message are read one by one: a kind of content or a field that this version does not
//! know costs only itself, never the text beside it. What still cannot be read is an
//! [`Event::Unreadable`] with its bytes kept.

use atlas_core::event::outside::Said;
use atlas_core::event::{ChatKind, Envelope, Event, Inbound, Sender};
use atlas_core::ids::{AccountId, Person, PersonId, PlatformChat, PlatformMessage, PlatformName};
use serde::Deserialize;
use serde_json::{Map, Value};
use serenity::model::id::{ChannelId, MessageId, UserId};
use sha2::{Digest, Sha256};

use super::attachment::snapshots;
use super::{PLATFORM, place};

mod address;
mod command;
mod content;
mod reply;
#[cfg(test)]
mod tests;

pub(super) use command::{Given, command};

/// The bot, as READY tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Me {
    /// Its number.
    pub(super) id: u64,
    /// Its user name.
    pub(super) name: String,
}

/// A place that messages stand in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Where {
    /// What contains it, the most specific first: thread, channel, server.
    pub(super) lineage: Vec<u64>,
    /// A DM.
    pub(super) direct: bool,
    /// Its name. Outside text.
    pub(super) name: Option<String>,
    /// The bot's own role on this server.
    pub(super) role: Option<u64>,
}

impl Where {
    /// The DM of this number.
    pub(super) fn dm(channel: u64) -> Self {
        Self { lineage: vec![channel], direct: true, name: None, role: None }
    }

    fn kind(&self) -> ChatKind {
        if self.direct { ChatKind::Direct } else { ChatKind::Group }
    }

    fn chats(&self) -> Vec<PlatformChat> {
        self.lineage.iter().map(|id| place::chat(*id)).collect()
    }
}

/// What is needed to put a message in its place, before it is decoded.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Head {
    id: MessageId,
    channel_id: ChannelId,
    #[serde(default)]
    guild_id: Value,
    #[serde(default)]
    author: Value,
}

impl Head {
    /// Reads it. None where not even this is there.
    pub(super) fn read(raw: &str) -> Option<Self> {
        serde_json::from_str(raw).ok()
    }

    /// The message's number.
    pub(super) fn message(&self) -> u64 {
        self.id.get()
    }

    /// Its channel's.
    pub(super) fn channel(&self) -> u64 {
        self.channel_id.get()
    }

    /// Its server's; None in a DM.
    pub(super) fn guild(&self) -> Option<u64> {
        place::number(self.guild_id.as_str()?)
    }

    /// Whether the bot wrote it.
    pub(super) fn is_by(&self, me: &Me) -> bool {
        let author = self.author.get("id").and_then(Value::as_str);
        author.is_some_and(|author| place::number(author) == Some(me.id))
    }
}

/// A message that was written, as `account` received it in this place for the bot `me`.
///
/// Its key holds no edit and no content: the history shows a message as it was edited later, and it is
/// still the one that the gateway told of.
pub(super) fn written(account: &AccountId, me: &Me, place: &Where, raw: &str) -> Envelope {
    let (key, event) = match read::<Message>("the message", raw) {
        Ok(message) => (message.key(), message.event(me, place)),
        Err(why) => match Head::read(raw) {
            Some(head) => (key_of(head.channel(), head.message()), Event::Unreadable { why }),
            None => (format!("unreadable/{}", hash(&[raw])), Event::Unreadable { why }),
        },
    };
    envelope(account, key, raw, event)
}

/// A person's change of a message, kept for what makes use of it. None for what is no edit by a person:
/// a link's preview, a pin.
pub(super) fn edited(account: &AccountId, raw: &str) -> Option<Envelope> {
    #[derive(Deserialize)]
    struct Edited {
        id: MessageId,
        channel_id: ChannelId,
        edited_timestamp: Option<String>,
        #[serde(default)]
        content: String,
    }
    let edited: Edited = serde_json::from_str(raw).ok()?;
    let at = edited.edited_timestamp?;
    let key = format!("{}/{}/{at}/{}", edited.channel_id, edited.id, hash(&[&edited.content]));
    let kind = "an edited message".to_owned();
    Some(envelope(account, key, raw, Event::Nothing { kind }))
}

/// Something that cannot be read, kept for a version that can.
pub(super) fn unreadable(account: &AccountId, raw: &str, why: String) -> Envelope {
    let key = format!("unreadable/{}", hash(&[raw]));
    envelope(account, key, raw, Event::Unreadable { why })
}

fn envelope(account: &AccountId, key: String, raw: &str, event: Event) -> Envelope {
    let platform = PlatformName(PLATFORM.to_owned());
    Envelope { account: account.clone(), platform, key, raw: raw.to_owned(), event }
}

fn key_of(channel: u64, message: u64) -> String {
    format!("{channel}/{message}/0")
}

/// Where reading failed. serde's own words may quote the content.
fn read<'de, T: Deserialize<'de>>(what: &str, raw: &'de str) -> Result<T, String> {
    serde_json::from_str(raw).map_err(|error| {
        format!("{what} has an unknown form at column {} of line {}", error.column(), error.line())
    })
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

/// A person or a bot.
#[derive(Clone, Debug, Deserialize)]
struct User {
    id: UserId,
    #[serde(default)]
    username: String,
    #[serde(default)]
    global_name: Option<String>,
    #[serde(default)]
    bot: bool,
}

impl User {
    fn shown(&self) -> &str {
        let global = self.global_name.as_deref().filter(|name| !name.trim().is_empty());
        match global.unwrap_or(&self.username) {
            "" => "somebody",
            name => name,
        }
    }

    fn sender(&self, nick: Option<&str>) -> Sender {
        let name = nick.filter(|nick| !nick.trim().is_empty()).unwrap_or(self.shown());
        Sender {
            person: Some(Person {
                platform: PlatformName(PLATFORM.to_owned()),
                id: PersonId(self.id.to_string()),
            }),
            name: name.to_owned(),
            is_bot: self.bot,
        }
    }
}

/// A message as Discord gives it: what is needed of every kind, and the rest by name.
#[derive(Deserialize)]
struct Message {
    id: MessageId,
    channel_id: ChannelId,
    author: User,
    #[serde(default)]
    content: String,
    #[serde(default, rename = "type")]
    kind: u8,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Message {
    fn key(&self) -> String {
        key_of(self.channel_id.get(), self.id.get())
    }

    fn event(&self, me: &Me, place: &Where) -> Event {
        match content::read(self, me, place) {
            content::Content::Said(said) => Event::Message(self.inbound(me, place, said)),
            content::Content::Service(kind) => Event::Nothing { kind },
        }
    }

    fn inbound(&self, me: &Me, place: &Where, said: Said) -> Inbound {
        let (addressed, command) = address::read(self, me, place);
        let Said { text, outside, files } = said.answering(reply::read(self, me), addressed);
        Inbound {
            lineage: place.chats(),
            kind: place.kind(),
            chat_name: place.name.clone(),
            message: PlatformMessage(self.id.to_string()),
            order: place::order(self.id.get()),
            sender: self.sender(),
            text,
            outside,
            files,
            addressed,
            command,
            sent_at: place::made_at(self.id.get()),
        }
    }

    /// A webhook is nobody, and no human being types in it.
    fn sender(&self) -> Sender {
        let nick = self.rest.get("member").and_then(|member| member.get("nick"));
        let sender = self.author.sender(nick.and_then(Value::as_str));
        if self.is_by_webhook() { Sender { person: None, is_bot: true, ..sender } } else { sender }
    }

    fn is_by_webhook(&self) -> bool {
        self.rest.get("webhook_id").is_some_and(|id| !id.is_null())
    }

    /// What others said cannot be a command or speak to the bot.
    fn is_forwarded(&self) -> bool {
        snapshots(&self.rest).next().is_some()
    }
}
