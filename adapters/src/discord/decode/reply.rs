//! What a message answers: in a channel where the bot does not read along, the answered message reaches
//! it here and nowhere else: "what does he mean?" needs it.

use atlas_core::event::outside::Answered;
use serde_json::Value;

use super::super::attachment::files;
use super::content::words;
use super::{Me, Message, User, place};

/// What `message` answers. None where it answers nobody, or nothing that has words.
pub(super) fn read(message: &Message, me: &Me) -> Option<Answered> {
    let replied = message.rest.get("referenced_message")?.as_object()?;
    let author = replied.get("author").cloned().unwrap_or_default();
    let author: Option<User> = serde_json::from_value(author).ok();
    let webhook = replied.get("webhook_id").is_some_and(|id| !id.is_null());
    let by = |id: u64| !webhook && author.as_ref().is_some_and(|author| author.id.get() == id);
    let words = words(replied, Some(me));
    if by(me.id) {
        return Answered::own(&words);
    }
    let own_words =
        replied.get("content").and_then(Value::as_str).is_some_and(|said| !said.is_empty())
            && replied.get("message_snapshots").is_none();
    let same = by(message.author.id.get()) && !message.is_by_webhook() && own_words;
    let whom = author.as_ref().map_or("", User::shown);
    let number = |field: &str| place::number(replied.get(field)?.as_str()?);
    // It is told without its channel at times, which is then this one.
    let channel = number("channel_id").unwrap_or(message.channel_id.get());
    let files = number("id").map(|id| files(replied, channel, id));
    Some(Answered::new(whom, &words, !same)?.with_files(files.into_iter().flatten()))
}
