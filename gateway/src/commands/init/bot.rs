//! What a newcomer must know of a bot on each platform: how it is made, whether its token works, what it
//! may read, and how somebody writes to it.

use std::time::Duration;

use atlas_adapters::{discord, telegram};
use atlas_config::{AccountPlatform, Config};
use atlas_core::ids::{AccountId, PlatformChat};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use super::super::check::account_fault;
use super::super::sentence;
use super::Failure;

/// How long a platform may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A bot whose token works.
pub(super) struct Bot {
    /// `@name`.
    pub(super) name: String,
    /// What it may not, and where that is changed.
    pub(super) notes: Vec<String>,
    /// The address that takes it to a server.
    pub(super) invite: Option<String>,
    /// How somebody writes to it.
    pub(super) way: String,
}

/// Why there is none.
pub(super) enum Refusal {
    /// The token is no good: another one may be.
    Token(Failure),
    /// No token would be.
    Other(Failure),
}

impl Refusal {
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Token(failure) | Self::Other(failure) => failure,
        }
    }
}

/// How a bot is made, in a few lines.
pub(super) fn guide(platform: AccountPlatform) -> &'static str {
    match platform {
        AccountPlatform::Telegram => {
            "\nA bot on Telegram is made by @BotFather (https://t.me/BotFather):\n\
             \x20 1. Write /newbot to it; give a name, and a handle that ends in \"bot\".\n\
             \x20 2. It answers with a token, such as 123456789:AA… Copy the whole of it.\n"
        }
        AccountPlatform::Discord => {
            "\nA bot on Discord is made at https://discord.com/developers/applications:\n\
             \x20 1. New Application; give it a name.\n\
             \x20 2. Bot: switch on Message Content Intent, and save.\n\
             \x20 3. On the same page: Reset Token, and copy the token.\n"
        }
    }
}

/// Asks the platform for the bot behind a token.
pub(super) async fn look(
    platform: AccountPlatform,
    token: &SecretString,
    api_base: Option<&str>,
    config: &Config,
) -> Result<Bot, Refusal> {
    let asked = async {
        match platform {
            AccountPlatform::Telegram => on_telegram(token, api_base).await,
            AccountPlatform::Discord => on_discord(token, api_base, config).await,
        }
    };
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
        let what = format!("{} did not answer within {} s", platform.shown(), PATIENCE.as_secs());
        Err(Refusal::Other(unchanged(&what, "Check the network.")))
    })
}

async fn on_telegram(token: &SecretString, api_base: Option<&str>) -> Result<Bot, Refusal> {
    let api_base = api_base.map(str::to_owned);
    let settings = telegram::Settings { api_base, ..telegram::Settings::default() };
    let account = telegram::TelegramAccount::new("new".into(), token.clone(), settings);
    let account = account.map_err(|error| match error {
        telegram::BadAccount::Token => Refusal::Token(Failure::new(
            "This is not a Telegram bot token.",
            "One looks like 123456789:AA…; @BotFather shows yours (/mybots, the bot, API Token).",
        )),
        other => Refusal::Other(told(&other)),
    })?;
    let bot = account.check().await.map_err(|error| match error {
        telegram::CheckError::TokenRefused => Refusal::Token(Failure::new(
            "Telegram refuses the token.",
            "Copy it again: @BotFather, /mybots, the bot, API Token.",
        )),
        other => Refusal::Other(told(&other)),
    })?;
    let mut notes = Vec::new();
    if !bot.can_join_groups {
        notes
            .push("It cannot be added to groups; @BotFather, /setjoingroups, changes that.".into());
    } else if !bot.can_read_all_group_messages {
        let note = "In groups it reads only what is addressed to it (privacy mode). @BotFather,\n  \
                    /setprivacy, Disable changes that; then add it to its groups anew.";
        notes.push(note.to_owned());
    }
    let way = format!("https://t.me/{}", bot.username);
    Ok(Bot { name: format!("@{}", bot.username), notes, invite: None, way })
}

async fn on_discord(
    token: &SecretString,
    api_base: Option<&str>,
    config: &Config,
) -> Result<Bot, Refusal> {
    let settings =
        discord::Settings { api_base: api_base.map(str::to_owned), ..discord::Settings::default() };
    let account = discord::DiscordAccount::new("new".into(), token.clone(), settings);
    let account = account.map_err(|error| match error {
        discord::BadAccount::Token => Refusal::Token(Failure::new(
            "This is not a Discord bot token.",
            "One has three parts with dots between them. It is on the page Bot (Reset Token); the \
             application's id, public key and client secret are something else.",
        )),
        other => Refusal::Other(told(&other)),
    })?;
    let routed = routed(config, token);
    let bot = account.check(&routed).await.map_err(|error| match error {
        discord::CheckError::TokenRefused => Refusal::Token(Failure::new(
            "Discord refuses the token.",
            "Make a new one: https://discord.com/developers/applications, the application, Bot, \
             Reset Token.",
        )),
        other => Refusal::Other(told(&other)),
    })?;
    let mut notes = Vec::new();
    if !bot.reads_content {
        notes.push(format!(
            "In channels it reads only what mentions it: Message Content Intent is off.\n  Switch it \
             on, and save: {}",
            bot.portal()
        ));
    }
    let lacks = bot.lacks.iter().map(|lack| format!("In {} it lacks: {}", lack.place, lack.what));
    notes.extend(lacks);
    let way = "On that server, click it in the list of members and write to it there.".to_owned();
    Ok(Bot { name: format!("@{}", bot.name), notes, invite: Some(bot.invite()), way })
}

/// The places that are routed on the account with this token.
fn routed(config: &Config, token: &SecretString) -> Vec<PlatformChat> {
    let has = |id: &AccountId| {
        let account = config.accounts.get(id);
        account.is_some_and(|account| account.token.expose_secret() == token.expose_secret())
    };
    let routes = config.routes.iter().filter(|route| has(&route.account));
    routes.map(|route| route.chat.clone()).collect()
}

/// An adapter's sentence, as what and how to mend it.
fn told(error: &impl ToString) -> Failure {
    let (what, mend) = account_fault(error.to_string()).into_parts();
    unchanged(&what, &mend)
}

fn unchanged(what: &str, mend: &str) -> Failure {
    Failure::new(sentence(what), format!("{mend} Nothing was changed.").trim().to_owned())
}
