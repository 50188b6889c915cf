//! The home as core sees it: who is in it, and what was chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;

use crate::access::Limits;
use crate::bot::Bot;
use crate::ids::{BotId, BotName, ModelName, Person};
use crate::ports::ModelClient;
use crate::router::Router;

/// The configured models, by name.
#[derive(Clone, Default)]
pub struct Models(BTreeMap<ModelName, Arc<dyn ModelClient>>);

impl Models {
    /// These.
    #[must_use]
    pub fn new(models: BTreeMap<ModelName, Arc<dyn ModelClient>>) -> Self {
        Self(models)
    }

    /// The model of this name.
    #[must_use]
    pub fn get(&self, name: &ModelName) -> Option<&Arc<dyn ModelClient>> {
        self.0.get(name)
    }
}

impl<const N: usize> From<[(ModelName, Arc<dyn ModelClient>); N]> for Models {
    fn from(models: [(ModelName, Arc<dyn ModelClient>); N]) -> Self {
        Self(models.into())
    }
}

/// Their names alone: a client holds a key.
impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What a configuration chose. Replaced whole when it changes.
#[derive(Clone, Debug)]
pub struct Home {
    /// The zone in which people are told the time.
    pub zone: Tz,
    /// The bots, the main agent among them.
    pub bots: Vec<Bot>,
    /// The models that bots answer with.
    pub models: Models,
    /// For each model those that answer where it does not, the first first.
    pub fallback: BTreeMap<ModelName, Vec<ModelName>>,
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

    /// The models of a bot, its own first: who is asked, and who where that one does not answer. Empty
    /// where its own is gone.
    #[must_use]
    pub fn chain(&self, bot: &Bot) -> Vec<Arc<dyn ModelClient>> {
        let Some(own) = self.models.get(&bot.model) else { return Vec::new() };
        let others = self.fallback.get(&bot.model).into_iter().flatten();
        [own].into_iter().chain(others.filter_map(|name| self.models.get(name))).cloned().collect()
    }

    /// The model that a bot answers with.
    #[must_use]
    pub fn model_of(&self, id: BotId) -> Option<&ModelName> {
        self.bot(id).map(|bot| &bot.model)
    }
}
