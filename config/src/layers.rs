//! The layers, by the `config` crate: defaults, then the file, then the environment; and the shape
//! they have when they lie over each other. What is in them was checked key by key before.

use std::collections::BTreeMap;

use config::{ConfigError, Map, Source, Value};
use serde::Deserialize;

/// What holds where nothing is written: the one place that says so.
const DEFAULTS: [(&str, &str); 4] = [
    ("conversations.patience", "15m"),
    ("memory.refresh", "append"),
    ("limits.guest", "20/h"),
    ("limits.chat", "60/h"),
];
/// The same for each account.
pub(crate) const BACKLOG: &str = "6h";
const SWITCHES: [(&str, bool); 2] = [("conversations.join_direct", true), ("memory.notice", true)];

/// All layers as one, not yet checked as a whole.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Raw {
    pub(crate) timezone: Option<String>,
    pub(crate) owner: RawOwner,
    pub(crate) models: BTreeMap<String, RawModel>,
    pub(crate) accounts: BTreeMap<String, RawAccount>,
    pub(crate) routes: Vec<RawRoute>,
    pub(crate) conversations: RawConversations,
    pub(crate) memory: RawMemory,
    pub(crate) limits: RawLimits,
    pub(crate) deciders: Vec<RawDecider>,
}

/// An id, or None where what was written is none.
pub(crate) type RawId = Option<String>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawOwner {
    pub(crate) telegram: Vec<RawId>,
    pub(crate) discord: Vec<RawId>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawModel {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) window: Option<u32>,
    pub(crate) max_output: Option<u32>,
    pub(crate) strict_roles: bool,
    pub(crate) cache_ttl: Option<String>,
    pub(crate) fallback: Vec<Option<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawAccount {
    pub(crate) platform: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) bot: Option<String>,
    pub(crate) allow: Option<Vec<RawId>>,
    pub(crate) api_base: Option<String>,
    pub(crate) backlog: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawRoute {
    pub(crate) account: Option<String>,
    pub(crate) chat: Option<String>,
    pub(crate) bot: Option<String>,
    pub(crate) answer: Option<String>,
    pub(crate) memory: Option<String>,
    pub(crate) allow: Option<Vec<RawId>>,
    pub(crate) allow_bots: Option<Vec<RawId>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawConversations {
    pub(crate) join_direct: bool,
    pub(crate) compact_at: Option<u32>,
    pub(crate) patience: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawMemory {
    pub(crate) notice: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawLimits {
    pub(crate) guest: String,
    pub(crate) chat: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawDecider {
    pub(crate) name: Option<String>,
    pub(crate) telegram: Vec<RawId>,
    pub(crate) discord: Vec<RawId>,
}

/// Checked values as a layer. `config`'s own sources would read the text again, and read an
/// environment variable's `0123` as a number if asked for types.
#[derive(Clone, Debug)]
struct Layer(Map<String, Value>);

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        Ok(self.0.clone())
    }
}

/// The layers as one.
///
/// # Errors
///
/// Where a value passed its check and has no place in the shape: a mistake in this crate.
pub(crate) fn merge(
    file: Map<String, Value>,
    environment: Map<String, Value>,
) -> Result<Raw, ConfigError> {
    let mut layers = config::Config::builder();
    for (key, value) in DEFAULTS {
        layers = layers.set_default(key, value)?;
    }
    for (key, value) in SWITCHES {
        layers = layers.set_default(key, value)?;
    }
    layers.add_source(Layer(file)).add_source(Layer(environment)).build()?.try_deserialize()
}
