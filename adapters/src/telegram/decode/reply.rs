//! What a message answers. Where the bot does not read along (privacy mode), the answered message
//! reaches it here and nowhere else: "what does he mean?" needs it.

use atlas_core::event::outside::{Answered, line_of};
use serde_json::{Map, Value};
use teloxide::types::{Chat, User};

use super::address::is_me;
use super::content::{document, origin, read_as, string, words};
use super::{BotAccount, Message, chat_name, user_name};

/// What `message` answers. None where it answers nobody, or nothing that has words.
pub(super) fn read(message: &Message, me: &BotAccount) -> Option<Answered> {
    let rest = &message.rest;
    let quote = rest.get("quote").and_then(|quote| string(quote, "text"));
    let Some(replied) = rest.get("reply_to_message").filter(|replied| !opens_topic(replied)) else {
        return elsewhere(rest.get("external_reply")?.as_object()?, quote);
    };
    let author = author(replied);
    let fields = replied.as_object()?;
    let said = quote.map(str::to_owned).or_else(|| words(fields))?;
    if author.as_ref().is_some_and(|user| is_me(user, me)) {
        return Answered::own(&said);
    }
    let same = match (&author, &message.from) {
        (Some(author), Some(from)) => author.id == from.id && message.sender_chat.is_none(),
        _ => false,
    };
    let theirs = replied.get("forward_origin").is_some() || replied.get("text").is_none();
    let answered = Answered::new(&name(replied, author.as_ref()), &said, !same || theirs)?;
    Some(answered.with_files(document(fields)))
}

/// A message of another chat: only its quote and what is no text of it are told, and who wrote it where
/// they do not hide.
fn elsewhere(replied: &Map<String, Value>, quote: Option<&str>) -> Option<Answered> {
    let said = quote.map(str::to_owned).or_else(|| words(replied))?;
    let whom = match replied.get("origin").map(origin).as_deref() {
        None | Some("elsewhere") => "a message elsewhere".to_owned(),
        Some(name) => format!("{}, elsewhere", line_of(name, 50)),
    };
    Some(Answered::new(&whom, &said, true)?.with_files(document(replied)))
}

/// A message in a topic "replies" to the topic's first line wherever it answers nobody.
pub(super) fn opens_topic(replied: &Value) -> bool {
    replied.get("forum_topic_created").is_some()
}

/// The person who wrote it; None where a chat spoke as itself.
fn author(replied: &Value) -> Option<User> {
    let is_chat = replied.get("sender_chat").is_some_and(|chat| !chat.is_null());
    if is_chat { None } else { read_as(replied.get("from")?) }
}

fn name(replied: &Value, author: Option<&User>) -> String {
    let chat = || replied.get("sender_chat").and_then(read_as::<Chat>);
    let name = author.map(user_name).or_else(|| chat().as_ref().and_then(chat_name));
    name.unwrap_or_default()
}
