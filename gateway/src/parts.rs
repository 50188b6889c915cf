//! The parts, each made from its section of the configuration. Putting them together is `app`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas_adapters::discord::{self, DiscordAccount};
use atlas_adapters::http::{ClientError, MODEL_IDLE, client_for};
use atlas_adapters::model::{
    Anthropic, AnthropicConfig, CacheTtl, Offline, OpenAi, OpenAiConfig, anthropic, openai,
};
use atlas_adapters::store::SqliteStore;
use atlas_adapters::telegram::{self, TelegramAccount};
use atlas_adapters::terminal::{self, TERMINAL, Terminal};
use atlas_config::{AccountPlatform, Config, Model, Provider};
use atlas_core::bot::Bot;
use atlas_core::home::{Home, Models};
use atlas_core::ids::{AccountId, BotName, ModelName};
use atlas_core::ports::{Clock, ModelClient, Platform, Presence, Source, Store, StoreError};
use atlas_core::router::{Allow, Answer, Route, Router};

use crate::app::Seat;
use crate::commands::{Failure, sentence};
use crate::presence::{HomeLock, HomeLockError, LockPresence};

/// Accounts, as their ways in and out.
type Accounts = (Vec<(AccountId, Arc<dyn Source>)>, BTreeMap<AccountId, Arc<dyn Platform>>);

/// Enters the home: as a terminal, or as its one gateway.
pub(crate) fn enter(
    config: &Config,
    terminal: bool,
) -> Result<(Option<HomeLock>, Arc<LockPresence>), Failure> {
    let lock = if terminal { None } else { Some(lock(config)?) };
    let kind = if terminal { TERMINAL } else { "gateway" };
    let presence = LockPresence::enter(&config.home, kind).map_err(|error| {
        Failure::new(
            format!("{} cannot be written: {error}.", config.home.join("run").display()),
            "See that the folder is yours (`ls -ld`) and the disk has room.",
        )
    })?;
    Ok((lock, Arc::new(presence)))
}

fn lock(config: &Config) -> Result<HomeLock, Failure> {
    let home = config.home.display();
    HomeLock::take(&config.home).map_err(|error| match error {
        HomeLockError::Taken(pid) => {
            let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            Failure::new(
                format!("Another gateway{who} runs the home {home}."),
                "End it first, or choose another home with --home; `atlas chat` works beside it.",
            )
        }
        HomeLockError::Failed(error) => Failure::new(
            format!("The home {home} cannot be locked: {error}."),
            "See that the folder is yours (`ls -ld`) and the disk has room.",
        ),
    })
}

/// Opens the database of the home.
pub(crate) async fn open_store(config: &Config) -> Result<SqliteStore, Failure> {
    SqliteStore::open(&config.home.join("atlas.db")).await.map_err(|error| {
        // Its sentences say what first, and then how to mend it.
        let text = error.to_string();
        let (what, mend) = text.split_once(". ").unwrap_or((&text, ""));
        Failure::new(sentence(what), mend)
    })
}

/// The accounts of this process; none in a terminal.
pub(crate) fn accounts(config: &Config, terminal: bool) -> Result<Accounts, Failure> {
    let mut accounts = Accounts::default();
    let served = if terminal { None } else { Some(&config.accounts) };
    for id in served.into_iter().flatten().map(|(id, _)| id) {
        let (source, platform): (Arc<dyn Source>, Arc<dyn Platform>) = match account(config, id)? {
            Account::Telegram(account) => (account.source(), account.platform()),
            Account::Discord(account) => (account.source(), account.platform()),
        };
        accounts.0.push((id.clone(), source));
        accounts.1.insert(id.clone(), platform);
    }
    Ok(accounts)
}

/// An account on its platform.
pub(crate) enum Account {
    Telegram(TelegramAccount),
    Discord(DiscordAccount),
}

/// The account of this name.
pub(crate) fn account(config: &Config, id: &AccountId) -> Result<Account, Failure> {
    let account = &config.accounts[id];
    let (token, api_base) = (account.token.clone(), account.api_base.clone());
    let made = match account.platform {
        AccountPlatform::Telegram => {
            let settings = telegram::Settings { api_base, backlog: account.backlog };
            TelegramAccount::new(id.clone(), token, settings)
                .map(Account::Telegram)
                .map_err(|error| error.to_string())
        }
        AccountPlatform::Discord => {
            let settings = discord::Settings { api_base, backlog: account.backlog, client: None };
            DiscordAccount::new(id.clone(), token, settings)
                .map(Account::Discord)
                .map_err(|error| error.to_string())
        }
    };
    made.map_err(|error| Failure::new(format!("Account {id}: {error}."), "Mend it in atlas.toml."))
}

/// The terminal of this process.
pub(crate) fn terminal(presence: &LockPresence, seat: &Seat) -> Arc<Terminal> {
    Arc::new(Terminal::new(presence.me(), seat.printer.clone()))
}

/// The configured models.
pub(crate) fn models(
    config: &Config,
) -> Result<BTreeMap<ModelName, Arc<dyn ModelClient>>, Failure> {
    config.models.iter().map(|(name, model)| Ok((name.clone(), client(name, model)?))).collect()
}

pub(crate) fn client(name: &ModelName, model: &Model) -> Result<Arc<dyn ModelClient>, Failure> {
    Ok(match model.provider {
        Provider::Offline => Arc::new(Offline::new(name.clone())),
        Provider::OpenAi => Arc::new(open_ai(name, model)?),
        Provider::Anthropic => Arc::new(anthropic(name, model)?),
    })
}

/// The client of a model behind a chat-completions server.
pub(crate) fn open_ai(name: &ModelName, model: &Model) -> Result<OpenAi, Failure> {
    let config = OpenAiConfig {
        name: name.clone(),
        model: model.model.clone(),
        base_url: model.base_url.clone(),
        api_key: model.api_key.clone(),
        window: model.window,
        max_output: model.max_output,
        strict_roles: model.strict_roles,
    };
    let server = model.base_url.as_deref().unwrap_or(openai::BASE_URL);
    Ok(OpenAi::new(config, client_for(server, MODEL_IDLE).map_err(no_certificates)?))
}

/// The client of a model behind a Messages server.
pub(crate) fn anthropic(name: &ModelName, model: &Model) -> Result<Anthropic, Failure> {
    let config = AnthropicConfig {
        name: name.clone(),
        model: model.model.clone(),
        base_url: model.base_url.clone(),
        api_key: model.api_key.clone(),
        window: model.window,
        max_output: model.max_output,
        cache_ttl: match model.cache_ttl {
            atlas_config::CacheTtl::Hour => CacheTtl::Hour,
            atlas_config::CacheTtl::FiveMinutes => CacheTtl::FiveMinutes,
        },
    };
    let server = model.base_url.as_deref().unwrap_or(anthropic::BASE_URL);
    Ok(Anthropic::new(config, client_for(server, MODEL_IDLE).map_err(no_certificates)?))
}

fn no_certificates(error: ClientError) -> Failure {
    Failure::new(sentence(&error.why), "Install your system's certificates (ca-certificates).")
}

/// The models of a configuration that followed another: the clients of those that stayed as they were.
pub(crate) fn models_anew(
    config: &Config,
    before: &Config,
    models: &Models,
) -> Result<Models, Failure> {
    let client = |(name, model): (&ModelName, &Model)| {
        let stayed = before.models.get(name).filter(|before| before.answers_as(model));
        let known = stayed.and_then(|_| models.get(name)).cloned();
        Ok((name.clone(), known.map_or_else(|| client(name, model), Ok)?))
    };
    config.models.iter().map(client).collect::<Result<_, _>>().map(Models::new)
}

/// The home as core sees it: bots with their identities, routes, owners.
pub(crate) async fn home(
    config: &Config,
    store: &dyn Store,
    clock: &dyn Clock,
    seat: Option<&BotName>,
    models: Models,
) -> Result<Home, StoreError> {
    Ok(Home {
        zone: config.timezone,
        bots: bots(config, store, clock).await?,
        models,
        fallback: config
            .models
            .iter()
            .map(|(name, model)| (name.clone(), model.fallback.clone()))
            .collect(),
        router: router(config, seat),
        owners: config.owner.iter().cloned().chain([terminal::owner()]).collect::<BTreeSet<_>>(),
        deciders: config.deciders.iter().cloned().collect(),
        limits: config.limits,
        join_direct: config.conversations.join_direct,
        compact_at: config.conversations.compact_at,
        patience: config.conversations.patience,
        memory_notice: config.memory_notice,
    })
}

async fn bots(
    config: &Config,
    store: &dyn Store,
    clock: &dyn Clock,
) -> Result<Vec<Bot>, StoreError> {
    let names: Vec<BotName> = config.bots.iter().map(|bot| bot.name.clone()).collect();
    let ids: BTreeMap<_, _> = store.take_up_bots(&names, clock.now()).await?.into_iter().collect();
    let bot = |bot: &atlas_config::BotConfig| {
        let id = *ids.get(&bot.name)?;
        let (name, shown, model) = (bot.name.clone(), bot.shown.clone(), bot.model.clone());
        Some(Bot { id, name, shown, model })
    };
    Ok(config.bots.iter().filter_map(bot).collect())
}

/// One route for each account, those of the configuration, and one for this terminal.
fn router(config: &Config, seat: Option<&BotName>) -> Router {
    let whole = |account: &AccountId, bot: &BotName, allow: Allow| Route {
        account: account.clone(),
        chat: None,
        bot: bot.clone(),
        answer: Answer::default(),
        memory: None,
        allow,
        bots: Allow::Nobody,
    };
    let accounts = config.accounts.iter().map(|(id, a)| whole(id, &a.bot, a.allow.clone()));
    let places = config.routes.iter().map(|route| Route {
        account: route.account.clone(),
        chat: Some(route.chat.clone()),
        bot: route.bot.clone(),
        answer: route.answer,
        memory: route.memory,
        allow: route.allow.clone(),
        bots: route.bots.clone(),
    });
    let seat = seat.map(|bot| whole(&TERMINAL.into(), bot, Allow::Nobody));
    Router::new(accounts.chain(places).chain(seat).collect())
}
