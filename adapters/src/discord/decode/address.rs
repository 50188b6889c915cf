//! Whether a message speaks to the bot, and the command at its start.

use atlas_core::event::{Addressed, CommandLine};
use serde_json::Value;

use super::{Me, Message, Where};

/// How `message` speaks to `me`, and its command if it has one.
pub(super) fn read(message: &Message, me: &Me, place: &Where) -> (Addressed, Option<CommandLine>) {
    let addressed = addressed(message, me, place);
    if addressed == Addressed::No || message.is_forwarded() {
        return (addressed, None);
    }
    // Typed as text: a slash command proper comes as an event of its own.
    match command(without_mention(&message.content, me)) {
        Some(line) if place.direct => (Addressed::Directly, Some(line)),
        Some(line) => (Addressed::Commanded, Some(line)),
        None => (addressed, None),
    }
}

fn addressed(message: &Message, me: &Me, place: &Where) -> Addressed {
    if place.direct {
        return Addressed::Directly;
    }
    if message.is_forwarded() {
        return Addressed::No;
    }
    // A reply with its ping on names the one it answers as mentioned, too.
    if names(&message.content, me) || mentions_role(message, place) {
        return Addressed::Mentioned;
    }
    if answers(message, me) {
        return Addressed::Replied;
    }
    if mentions(message, me) { Addressed::Mentioned } else { Addressed::No }
}

/// Whether the words themselves name the bot.
fn names(content: &str, me: &Me) -> bool {
    [format!("<@{}>", me.id), format!("<@!{}>", me.id)].iter().any(|name| content.contains(name))
}

fn ids<'a>(message: &'a Message, list: &str) -> impl Iterator<Item = &'a str> {
    let list = message.rest.get(list).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|one| one.get("id").unwrap_or(one).as_str())
}

fn mentions(message: &Message, me: &Me) -> bool {
    let id = me.id.to_string();
    ids(message, "mentions").any(|mentioned| mentioned == id)
}

/// The role that Discord made for this bot; never one that people share with it, nor everyone's.
fn mentions_role(message: &Message, place: &Where) -> bool {
    let Some(role) = place.role.map(|role| role.to_string()) else { return false };
    ids(message, "mention_roles").any(|mentioned| mentioned == role)
}

fn answers(message: &Message, me: &Me) -> bool {
    let author = message.rest.get("referenced_message").and_then(|replied| replied.get("author"));
    let id = author.and_then(|author| author.get("id")).and_then(Value::as_str);
    id.is_some_and(|id| id == me.id.to_string())
}

/// The words behind the bot's name, where they begin with it.
fn without_mention<'a>(content: &'a str, me: &Me) -> &'a str {
    let content = content.trim_start();
    let names = [format!("<@{}>", me.id), format!("<@!{}>", me.id)];
    let rest = names.iter().find_map(|name| content.strip_prefix(name.as_str()));
    rest.unwrap_or(content).trim_start()
}

/// Reads `/name rest`. What merely begins with a slash (`/usr/bin`) is no command.
fn command(text: &str) -> Option<CommandLine> {
    let line = text.strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > 32 || !name.chars().all(word) {
        return None;
    }
    Some(CommandLine { name: name.to_ascii_lowercase(), rest: rest.trim().to_owned() })
}
