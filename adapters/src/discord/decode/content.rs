//! What a message holds, as text: its own words, and readable words in square brackets for what is no
//! text. Files are named with their size, and those that may be text are told apart; fetching them is
//! not done here.

use atlas_core::event::outside::{Said, line_of, size};
use serde_json::{Map, Value};

use super::super::attachment::{files, snapshots};

use super::{Me, Message, Where};

/// Types of messages in which people speak: an ordinary one, a reply, the use of a command.
const SPOKEN: [u8; 4] = [0, 19, 20, 23];
/// The highest type that this version knows. Of those above, what holds words is taken as spoken.
const HIGHEST: u8 = 46;
/// The flag of a message that is somebody's voice.
const VOICE: u64 = 1 << 13;

/// What a message holds.
pub(super) enum Content {
    /// Somebody said or sent something.
    Said(Said),
    /// Discord tells of something that happened.
    Service(String),
}

/// What `message` holds.
pub(super) fn read(message: &Message, me: &Me, place: &Where) -> Content {
    if !SPOKEN.contains(&message.kind) && message.kind <= HIGHEST {
        return Content::Service(format!("a message of type {}", message.kind));
    }
    let mut said = mentions_by_name(&message.content, &message.rest, me);
    if let Some(role) = place.role {
        said = said.replace(&format!("<@&{role}>"), &format!("@{}", me.name));
    }
    let forward = forwarded(&message.rest);
    let (kinds, named) = kinds(&message.rest);
    let outside = named || forward.is_some();
    let parts: Vec<String> =
        forward.into_iter().chain(kinds).chain((!said.trim().is_empty()).then_some(said)).collect();
    let files = files(&message.rest, message.channel_id.get(), message.id.get());
    Content::Said(Said { text: parts.join("\n"), outside, files })
}

/// What a message that is not read as one of its own says; where that is nothing, what its previews and
/// cards say, as programs write.
pub(super) fn words(fields: &Map<String, Value>, me: Option<&Me>) -> String {
    let said = fields.get("content").and_then(Value::as_str).unwrap_or_default();
    let said = match me {
        Some(me) => mentions_by_name(said, fields, me),
        None => said.to_owned(),
    };
    let parts = forwarded(fields).into_iter().chain(kinds(fields).0);
    let parts: Vec<_> = parts.chain((!said.trim().is_empty()).then_some(said)).collect();
    if parts.is_empty() { cards(fields) } else { parts.join("\n") }
}

/// What a forward holds.
fn forwarded(fields: &Map<String, Value>) -> Option<String> {
    let held: Vec<String> = snapshots(fields).map(|held| words(held, None)).collect();
    (!held.is_empty()).then(|| format!("[forwarded from elsewhere]\n{}", held.join("\n")))
}

fn cards(fields: &Map<String, Value>) -> String {
    let cards = fields.get("embeds").and_then(Value::as_array).into_iter().flatten();
    let words = cards.flat_map(|card| [text(card, "title"), text(card, "description")]);
    words.flatten().collect::<Vec<_>>().join("\n")
}

/// `<@1>` as `@name`: a user name is of few characters and no free text. Channels, roles and emoji stay
/// as Discord writes them.
fn mentions_by_name(text: &str, fields: &Map<String, Value>, me: &Me) -> String {
    let mentioned = fields.get("mentions").and_then(Value::as_array).into_iter().flatten();
    let named = mentioned.filter_map(|user| {
        Some((user.get("id")?.as_str()?.to_owned(), user.get("username")?.as_str()?.to_owned()))
    });
    let mut text = text.to_owned();
    for (id, name) in named.chain([(me.id.to_string(), me.name.clone())]) {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if !name.is_empty() && name.chars().all(plain) {
            for mention in [format!("<@{id}>"), format!("<@!{id}>")] {
                text = text.replace(&mention, &format!("@{name}"));
            }
        }
    }
    text
}

/// The words for everything that is no text, and whether anybody's own words are among them (a file's
/// name, a poll's question).
fn kinds(fields: &Map<String, Value>) -> (Vec<String>, bool) {
    let list = |name: &str| fields.get(name).and_then(Value::as_array).into_iter().flatten();
    let voice = fields.get("flags").and_then(Value::as_u64).is_some_and(|flags| flags & VOICE != 0);
    let files: Vec<_> = list("attachments").map(|value| file(value, voice)).collect();
    let stickers = list("sticker_items").map(|value| bracket("sticker", text(value, "name"), &[]));
    let poll = fields.get("poll").filter(|poll| poll.is_object()).map(poll);
    let named = (!files.is_empty() && !voice) || poll.is_some();
    let all = files.into_iter().chain(stickers).chain(poll);
    (all.collect(), named)
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

fn file(value: &Value, voice: bool) -> String {
    let seconds = value.get("duration_secs").and_then(Value::as_f64);
    let details = [
        seconds.map(|seconds| format!("{seconds:.0} s")),
        value.get("size").and_then(Value::as_u64).map(size),
    ];
    let kind = text(value, "content_type").unwrap_or_default();
    let kind = match kind.split('/').next() {
        _ if voice => "voice message",
        Some("image") => "image",
        Some("video") => "video",
        Some("audio") => "audio",
        _ => "file",
    };
    let name = (!voice).then(|| text(value, "filename")).flatten();
    bracket(kind, name, &details)
}

fn poll(value: &Value) -> String {
    let question = value.get("question").and_then(|question| text(question, "text"));
    let answers = value.get("answers").and_then(Value::as_array).into_iter().flatten();
    let answers = answers.filter_map(|answer| text(answer.get("poll_media")?, "text"));
    let answers: Vec<_> = answers.map(|answer| line_of(answer, 200)).collect();
    format!("[poll: {} {}]", line_of(question.unwrap_or_default(), 200), answers.join(" / "))
}

/// `[kind name, details]`, with what is there.
fn bracket(kind: &str, name: Option<&str>, details: &[Option<String>]) -> String {
    let name = name.map(|name| line_of(name, 200)).filter(|name| !name.is_empty());
    let head = name.map_or_else(|| kind.to_owned(), |name| format!("{kind} {name}"));
    let details = details.iter().flatten().cloned();
    format!("[{}]", [head].into_iter().chain(details).collect::<Vec<_>>().join(", "))
}
