//! Whether a message speaks to the bot, and the command at its start.

use atlas_core::event::{Addressed, CommandLine};
use serde_json::Value;
use teloxide::types::{MessageEntity, MessageEntityKind, User};

use super::reply::opens_topic;
use super::{BotAccount, Message};

/// How `message` speaks to `me` in a group, and its command if it has one for `me`.
pub(super) fn read(message: &Message, me: &BotAccount) -> (Addressed, Option<CommandLine>) {
    if message.is_forwarded() {
        return (Addressed::No, None);
    }
    let said = message.text.as_deref().or(message.caption.as_deref()).unwrap_or_default();
    match command(said, &me.username) {
        Command::Ours(line) => (Addressed::Commanded, Some(line)),
        Command::Theirs => (Addressed::No, None),
        Command::None if is_mentioned(message, said, me) => (Addressed::Mentioned, None),
        Command::None if is_reply(message, me) => (Addressed::Replied, None),
        Command::None => (Addressed::No, None),
    }
}

enum Command {
    Ours(CommandLine),
    /// It names another bot.
    Theirs,
    None,
}

/// Reads `/name@bot rest`. What merely begins with a slash (`/usr/bin`) is no command.
fn command(text: &str, username: &str) -> Command {
    let Some(line) = text.strip_prefix('/') else { return Command::None };
    let (head, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (name, bot) = head.split_once('@').map_or((head, None), |(name, bot)| (name, Some(bot)));
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > 32 || !name.chars().all(word) {
        return Command::None;
    }
    match bot {
        Some(bot) if !bot.eq_ignore_ascii_case(username) => Command::Theirs,
        _ => Command::Ours(CommandLine {
            name: name.to_ascii_lowercase(),
            rest: rest.trim().to_owned(),
        }),
    }
}

fn is_mentioned(message: &Message, said: &str, me: &BotAccount) -> bool {
    let list = if message.text.is_some() { "entities" } else { "caption_entities" };
    let entities = message.rest.get(list).and_then(Value::as_array);
    let known = entities.into_iter().flatten().filter_map(|entity| {
        // One that is not known is left out; the rest of the message stands.
        serde_json::from_value::<MessageEntity>(entity.clone()).ok()
    });
    known.into_iter().any(|entity| match &entity.kind {
        MessageEntityKind::Mention => utf16_slice(said, entity.offset, entity.length)
            .and_then(|mention| mention.strip_prefix('@'))
            .is_some_and(|name| name.eq_ignore_ascii_case(&me.username)),
        MessageEntityKind::TextMention { user } => is_me(user, me),
        _ => false,
    })
}

/// The part of `text` at these UTF-16 units. None where they cut a character or reach beyond.
fn utf16_slice(text: &str, offset: usize, length: usize) -> Option<&str> {
    let end = offset.checked_add(length)?;
    let (mut units, mut from, mut to) = (0, None, None);
    for (at, c) in text.char_indices().map(|(at, c)| (at, Some(c))).chain([(text.len(), None)]) {
        if units == offset {
            from = from.or(Some(at));
        }
        if units == end {
            to = Some(at);
            break;
        }
        units += c.map_or(0, char::len_utf16);
    }
    text.get(from?..to?)
}

fn is_reply(message: &Message, me: &BotAccount) -> bool {
    let Some(replied) = message.rest.get("reply_to_message") else { return false };
    if opens_topic(replied) {
        return false;
    }
    let author = replied.get("from").cloned().unwrap_or_default();
    serde_json::from_value::<User>(author).is_ok_and(|user| is_me(&user, me))
}

pub(super) fn is_me(user: &User, me: &BotAccount) -> bool {
    i64::try_from(user.id.0).is_ok_and(|id| id == me.id)
}
