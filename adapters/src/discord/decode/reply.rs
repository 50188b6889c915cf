//! What a message answers: in a channel where the bot does not read along, the answered message reaches
//! it here and nowhere else: "what does he mean?" needs it.

use serde_json::Value;

use super::content::{line_of, words};
use super::{Me, Message, User};

/// Characters of the answered message that are carried along.
const MOST: usize = 1_000;

/// What a message answers.
pub(super) struct Answered {
    /// `[in reply to Bo: the words]`, on one line.
    pub(super) line: String,
    /// Somebody else than the sender of the message wrote the words.
    pub(super) outside: bool,
}

/// What `message` answers. None where it answers nobody, or something that the bot itself wrote, which
/// stands in the conversation already.
pub(super) fn read(message: &Message, me: &Me) -> Option<Answered> {
    let replied = message.rest.get("referenced_message")?.as_object()?;
    let author = replied.get("author").cloned().unwrap_or_default();
    let author: Option<User> = serde_json::from_value(author).ok();
    let webhook = replied.get("webhook_id").is_some_and(|id| !id.is_null());
    let by = |id: u64| !webhook && author.as_ref().is_some_and(|author| author.id.get() == id);
    if by(me.id) {
        return None;
    }
    let own_words =
        replied.get("content").and_then(Value::as_str).is_some_and(|said| !said.is_empty())
            && replied.get("message_snapshots").is_none();
    let same = by(message.author.id.get()) && !message.is_by_webhook() && own_words;
    let said = line_of(&words(replied, Some(me)), MOST);
    let whom = author.as_ref().map_or("somebody", User::shown);
    let whom = match line_of(whom, 64) {
        whom if whom.is_empty() => "somebody".to_owned(),
        whom => whom,
    };
    let line = format!("[in reply to {whom}: {said}]");
    (!said.is_empty()).then_some(Answered { line, outside: !same })
}
