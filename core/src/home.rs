//! The home as core sees it: who is in it, and what was chosen.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono_tz::Tz;

use crate::access::Limits;
use crate::bot::Bot;
use crate::ids::{BotId, BotName, ModelName, Person};
use crate::router::Router;

/// What a configuration chose. Replaced whole when it changes.
#[derive(Clone, Debug)]
pub struct Home {
    /// The zone in which people are told the time.
    pub zone: Tz,
    /// The bots, the main agent among them.
    pub bots: Vec<Bot>,
    /// Which bot answers where.
    pub router: Router,
    /// The owner's ids of the configuration. Those of the database are added at run time.
    pub owners: BTreeSet<Person>,
    /// People who may decide besides the owner.
    pub deciders: BTreeSet<Person>,
    /// What everybody but the owner is held to.
    pub limits: Limits,
    /// Whether the owner's DMs with one bot and its terminal are one conversation.
    pub join_direct: bool,
    /// Tokens at which the open episode is cut; None for the smaller of 60 % of the window and 64,000.
    pub compact_at: Option<u32>,
    /// How long an outage of the model is waited for.
    pub patience: Duration,
    /// Whether a turn that wrote memory says so in one line.
    pub memory_notice: bool,
}

impl Home {
    /// The bot of this id.
    #[must_use]
    pub fn bot(&self, id: BotId) -> Option<&Bot> {
        self.bots.iter().find(|bot| bot.id == id)
    }

    /// The bot of this name.
    #[must_use]
    pub fn bot_named(&self, name: &BotName) -> Option<&Bot> {
        self.bots.iter().find(|bot| &bot.name == name)
    }

    /// The model that a bot answers with.
    #[must_use]
    pub fn model_of(&self, id: BotId) -> Option<&ModelName> {
        self.bot(id).map(|bot| &bot.model)
    }
}
