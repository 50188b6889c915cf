//! What a message holds, as text: its own words, and readable words in square brackets for what is
//! no text. Files are named with their size, and documents that may be text are told apart; fetching
//! them is not done here.

use atlas_core::event::files::Attached;
use atlas_core::event::outside::{Said, line_of, size};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use teloxide::types::{Contact, Location, MessageOrigin, Poll, Venue};

use super::{Message, chat_name, user_name};

/// What a message holds.
pub(super) enum Content {
    /// Somebody said or sent something.
    Said(Said),
    /// Telegram tells of something that happened, by its field's name.
    Service(String),
    /// None of the fields is known. Says which.
    Unknown(String),
}

/// A kind of content: its field, and the words for it.
type Kind = (&'static str, fn(&Value) -> String);

/// In the order of looking: an animation is a document too, a venue a location.
const KINDS: [Kind; 18] = [
    ("animation", |value| file("animation", value)),
    ("audio", |value| file("audio", value)),
    ("contact", contact),
    ("dice", dice),
    ("document", |value| file("document", value)),
    ("game", |value| bracket("game", string(value, "title"), &[])),
    ("invoice", |value| bracket("invoice", string(value, "title"), &[])),
    ("paid_media", |_| "[paid media]".to_owned()),
    ("photo", photo),
    ("poll", poll),
    ("checklist", |value| bracket("checklist", string(value, "title"), &[])),
    ("sticker", sticker),
    ("story", |_| "[a story]".to_owned()),
    ("venue", venue),
    ("location", location),
    ("video", |value| file("video", value)),
    ("video_note", |value| file("video message", value)),
    ("voice", |value| file("voice message", value)),
];

/// Fields of what Telegram itself tells of.
const SERVICE: [&str; 44] = [
    "boost_added",
    "channel_chat_created",
    "chat_background_set",
    "chat_owner_changed",
    "chat_owner_left",
    "chat_shared",
    "checklist_tasks_added",
    "checklist_tasks_done",
    "connected_website",
    "delete_chat_photo",
    "direct_message_price_changed",
    "forum_topic_closed",
    "forum_topic_created",
    "forum_topic_edited",
    "forum_topic_reopened",
    "general_forum_topic_hidden",
    "general_forum_topic_unhidden",
    "gift",
    "giveaway",
    "giveaway_completed",
    "giveaway_created",
    "giveaway_winners",
    "group_chat_created",
    "left_chat_member",
    "left_chat_participant",
    "message_auto_delete_timer_changed",
    "migrate_from_chat_id",
    "new_chat_members",
    "new_chat_photo",
    "new_chat_title",
    "paid_message_price_changed",
    "passport_data",
    "pinned_message",
    "proximity_alert_triggered",
    "refunded_payment",
    "successful_payment",
    "suggested_post_approved",
    "supergroup_chat_created",
    "unique_gift",
    "users_shared",
    "video_chat_ended",
    "video_chat_started",
    "web_app_data",
    "write_access_allowed",
];

/// Kinds whose words are the platform's alone. All others hold a name, a title or a question that
/// anybody may have written.
const PLAIN: [&str; 8] =
    ["dice", "location", "paid_media", "photo", "sticker", "story", "video_note", "voice"];

/// What `message` holds.
pub(super) fn read(message: &Message) -> Content {
    let kind = kind(&message.rest);
    let said = message.text.as_ref().or(message.caption.as_ref());
    let parts: Vec<&str> =
        [kind.as_ref().map(|(_, words)| words.as_str()), said.map(String::as_str)]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() {
        return without_content(message);
    }
    let text = parts.join("\n");
    let named = kind.as_ref().is_some_and(|(field, _)| !PLAIN.contains(field));
    let (text, outside) = match message.rest.get("forward_origin").map(origin) {
        Some(name) => (format!("[forwarded from {name}]\n{text}"), true),
        None => (text, named),
    };
    Content::Said(Said { text, outside, files: document(&message.rest).into_iter().collect() })
}

/// The document among these fields, if it may be text. An animation is one too, and is none.
pub(super) fn document(fields: &Map<String, Value>) -> Option<Attached> {
    if fields.contains_key("animation") {
        return None;
    }
    let document = fields.get("document")?;
    let file = Attached {
        name: string(document, "file_name").unwrap_or_default().to_owned(),
        size: number(document, "file_size"),
        media_type: string(document, "mime_type").map(str::to_owned),
        handle: string(document, "file_id")?.to_owned(),
    };
    file.may_be_text().then_some(file)
}

/// The field of what is no text, and the words for it.
fn kind(fields: &Map<String, Value>) -> Option<(&'static str, String)> {
    KINDS.iter().find_map(|(field, words)| Some((*field, words(fields.get(*field)?))))
}

/// What a message that is not read as one of its own says; None where it says nothing.
pub(super) fn words(fields: &Map<String, Value>) -> Option<String> {
    let said = ["text", "caption"].into_iter().find_map(|key| fields.get(key)?.as_str());
    let parts: Vec<String> =
        kind(fields).map(|(_, words)| words).into_iter().chain(said.map(str::to_owned)).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn without_content(message: &Message) -> Content {
    let is_service =
        |field: &&String| SERVICE.contains(&field.as_str()) || field.starts_with("video_chat_");
    match message.rest.keys().find(is_service) {
        Some(field) => Content::Service(field.clone()),
        None => {
            let fields = message.rest.keys().take(20).cloned().collect::<Vec<_>>().join(", ");
            Content::Unknown(format!("a message of an unknown kind, with the fields: {fields}"))
        }
    }
}

/// Whose words these are, by where they come from. A name is outside text: it stays on its line.
pub(super) fn origin(origin: &Value) -> String {
    let name = match read_as(origin) {
        Some(MessageOrigin::User { sender_user, .. }) => user_name(&sender_user),
        Some(MessageOrigin::HiddenUser { sender_user_name, .. }) => sender_user_name,
        Some(
            MessageOrigin::Chat { sender_chat: chat, .. } | MessageOrigin::Channel { chat, .. },
        ) => chat_name(&chat).unwrap_or_default(),
        None => String::new(),
    };
    let name = one_line(&name);
    if name.is_empty() { "elsewhere".to_owned() } else { name }
}

pub(super) fn read_as<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// Names are of any length and may try to end their bracket.
fn one_line(name: &str) -> String {
    line_of(name, 200)
}

/// `[kind name, details]`, with what is there.
fn bracket(kind: &str, name: Option<&str>, details: &[Option<String>]) -> String {
    let name = name.map(one_line).filter(|name| !name.is_empty());
    let head = name.map_or_else(|| kind.to_owned(), |name| format!("{kind} {name}"));
    let details = details.iter().flatten().cloned();
    format!("[{}]", [head].into_iter().chain(details).collect::<Vec<_>>().join(", "))
}

/// Every kind of file tells of itself in the same fields.
fn file(kind: &str, value: &Value) -> String {
    let name = string(value, "title").or_else(|| string(value, "file_name"));
    let duration = number(value, "duration").map(|seconds| format!("{seconds} s"));
    bracket(kind, name, &[duration, number(value, "file_size").map(size)])
}

pub(super) fn string<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

fn number(value: &Value, field: &str) -> Option<u64> {
    value.get(field)?.as_u64()
}

/// A photo comes in several sizes, the largest last.
fn photo(value: &Value) -> String {
    let largest = value.as_array().and_then(|sizes| sizes.last());
    largest.map_or_else(|| "[photo]".to_owned(), |largest| file("photo", largest))
}

fn sticker(value: &Value) -> String {
    bracket("sticker", string(value, "emoji"), &[])
}

fn dice(value: &Value) -> String {
    let shown = number(value, "value").map(|value| format!("shows {value}"));
    bracket("dice", string(value, "emoji"), &[shown])
}

fn contact(value: &Value) -> String {
    let Some(contact) = read_as::<Contact>(value) else { return "[contact]".to_owned() };
    let last = contact.last_name.unwrap_or_default();
    let name = format!("{} {last}", contact.first_name);
    bracket("contact", Some(&name), &[Some(one_line(&contact.phone_number))])
}

fn location(value: &Value) -> String {
    let place = read_as::<Location>(value)
        .map(|place| format!("latitude {}, longitude {}", place.latitude, place.longitude));
    bracket("place", None, &[place])
}

fn venue(value: &Value) -> String {
    let Some(venue) = read_as::<Venue>(value) else { return "[place]".to_owned() };
    let place = venue.location;
    let place = format!("latitude {}, longitude {}", place.latitude, place.longitude);
    bracket("place", Some(&venue.title), &[Some(one_line(&venue.address)), Some(place)])
}

fn poll(value: &Value) -> String {
    let Some(poll) = read_as::<Poll>(value) else { return "[poll]".to_owned() };
    let options: Vec<_> = poll.options.iter().map(|option| one_line(&option.text)).collect();
    format!("[poll: {} {}]", one_line(&poll.question), options.join(" / "))
}
