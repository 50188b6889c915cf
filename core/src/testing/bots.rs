//! Bots of a home that nobody configured.

use crate::bot::Bot;
use crate::ids::{BotId, BotName, ModelName};

/// A bot of this name: `atlas` is the main agent.
#[must_use]
pub fn bot(name: &str) -> Bot {
    Bot {
        id: BotId(if name == crate::bot::MAIN { 1 } else { 2 }),
        name: BotName::from(name),
        shown: name.to_owned(),
        model: ModelName::from("default"),
    }
}
