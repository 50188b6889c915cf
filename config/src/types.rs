//! The configuration of a home, typed. Whoever holds these types has a configuration that was
//! checked whole: keys, values, references and secrets. How it is read and checked is elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use atlas_core::access::Limits;
use atlas_core::audience::SharedMemory;
use atlas_core::ids::{AccountId, BotName, ModelName, Person, PlatformChat};
use atlas_core::router::{Allow, Answer};
use chrono_tz::Tz;
use secrecy::{ExposeSecret, SecretString};

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The home's folder.
    pub home: PathBuf,
    /// `timezone`; the system's where it is not set.
    pub timezone: Tz,
    /// `[owner]`: one person's ids.
    pub owner: Vec<Person>,
    /// `[[deciders]]`: the ids of all of them.
    pub deciders: Vec<Person>,
    /// `[limits]`.
    pub limits: Limits,
    /// `[models.<name>]`, never empty: where none is configured, one from the environment or `offline`.
    pub models: BTreeMap<ModelName, Model>,
    /// The model of bots that name none: `default`, else the only or first one.
    pub default_model: ModelName,
    /// `[accounts.<name>]`.
    pub accounts: BTreeMap<AccountId, Account>,
    /// `[[routes]]`, in the file's order.
    pub routes: Vec<RouteConfig>,
    /// The bots found in `bots/`, and `atlas`, which always exists.
    pub bots: Vec<BotConfig>,
    /// `[conversations]`.
    pub conversations: Conversations,
    /// `memory.notice`.
    pub memory_notice: bool,
    /// What is not wrong but should be known: a literal token, an environment variable that is not read.
    pub warnings: Vec<String>,
}

/// `[models.<name>]`.
#[derive(Clone, Debug)]
pub struct Model {
    /// Which dialect.
    pub provider: Provider,
    /// The provider's name of the model.
    pub model: String,
    /// Where its server is; the provider's own where it is not set.
    pub base_url: Option<String>,
    /// The key.
    pub api_key: Option<SecretString>,
    /// Tokens of input and output together.
    pub window: Option<u32>,
    /// The most tokens of one answer.
    pub max_output: Option<u32>,
    /// The server wants strictly alternating roles.
    pub strict_roles: bool,
    /// How long the server keeps what it has read, from its last use on.
    pub cache_ttl: CacheTtl,
    /// The models that answer where this one does not, the first first.
    pub fallback: Vec<ModelName>,
}

impl Model {
    /// Whether a client of the other would do for this one. Who stands in is no matter of the client.
    #[must_use]
    pub fn answers_as(&self, other: &Self) -> bool {
        let secret =
            |key: &Option<SecretString>| key.as_ref().map(|key| key.expose_secret().to_owned());
        self.provider == other.provider
            && self.model == other.model
            && self.base_url == other.base_url
            && secret(&self.api_key) == secret(&other.api_key)
            && (self.window, self.max_output) == (other.window, other.max_output)
            && self.strict_roles == other.strict_roles
            && self.cache_ttl == other.cache_ttl
    }
}

/// Which dialect a model's server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's messages.
    Anthropic,
    /// Chat completions.
    OpenAi,
    /// The stand-in.
    Offline,
}

/// `cache_ttl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheTtl {
    /// An hour: conversations that never start over have long pauses.
    #[default]
    Hour,
    /// Five minutes, which cost less to write.
    FiveMinutes,
}

/// `[accounts.<name>]`.
#[derive(Clone, Debug)]
pub struct Account {
    /// The platform.
    pub platform: AccountPlatform,
    /// The token.
    pub token: SecretString,
    /// Who answers where no route says otherwise.
    pub bot: BotName,
    /// Another server of the same interface.
    pub api_base: Option<String>,
    /// Who may talk besides the owner, where no route says otherwise.
    pub allow: Allow,
    /// Messages that came while nobody listened are answered up to this age.
    pub backlog: Duration,
}

impl Account {
    /// Whether a connection of the other would do for this one: who answers on it, and whom, is no
    /// part of it; how far back it reads is.
    #[must_use]
    pub fn connects_as(&self, other: &Self) -> bool {
        // Named one by one, so that a new key cannot be forgotten here.
        let Self { platform, token, bot: _, api_base, allow: _, backlog } = self;
        *platform == other.platform
            && token.expose_secret() == other.token.expose_secret()
            && *api_base == other.api_base
            && *backlog == other.backlog
    }
}

/// The platforms that accounts can be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountPlatform {
    /// Telegram's Bot API.
    Telegram,
    /// Discord.
    Discord,
}

impl AccountPlatform {
    /// Its name in the configuration, and in a person's id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
        }
    }

    /// Its name in front of people.
    #[must_use]
    pub fn shown(self) -> &'static str {
        match self {
            Self::Telegram => "Telegram",
            Self::Discord => "Discord",
        }
    }
}

/// `[[routes]]`.
#[derive(Clone, Debug)]
pub struct RouteConfig {
    /// The account.
    pub account: AccountId,
    /// The group, channel, topic or server.
    pub chat: PlatformChat,
    /// Who answers there; the account's bot where it is not set.
    pub bot: BotName,
    /// When.
    pub answer: Answer,
    /// What a shared chat loads.
    pub memory: Option<SharedMemory>,
    /// Who may talk besides the owner.
    pub allow: Allow,
    /// Which bots may talk.
    pub bots: Allow,
}

/// A bot of the home.
#[derive(Clone, Debug)]
pub struct BotConfig {
    /// Its folder.
    pub name: BotName,
    /// `name` of its front matter; the folder's name where it is not set.
    pub shown: String,
    /// Its model.
    pub model: ModelName,
}

/// `[conversations]`.
#[derive(Clone, Debug)]
pub struct Conversations {
    /// The owner's DMs with one bot and its terminal are one conversation.
    pub join_direct: bool,
    /// Tokens at which an episode is cut.
    pub compact_at: Option<u32>,
    /// How long an outage of a model is waited for.
    pub patience: Duration,
}
