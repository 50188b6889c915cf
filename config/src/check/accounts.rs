//! The accounts and the routes on them: who answers where, and who may talk.

use std::collections::BTreeMap;

use atlas_core::audience::SharedMemory;
use atlas_core::bot::MAIN;
use atlas_core::ids::{AccountId, BotName};
use atlas_core::router::{Allow, Answer};
use secrecy::ExposeSecret;

use super::{Check, no_such};
use crate::duration::parse_duration;
use crate::error::Error;
use crate::layers::{BACKLOG, Raw, RawAccount, RawId, RawRoute};
use crate::mask;
use crate::types::{Account, AccountPlatform, BotConfig, RouteConfig};

impl Check<'_> {
    pub(super) fn accounts(
        &mut self,
        raw: &Raw,
        bots: &[BotConfig],
    ) -> BTreeMap<AccountId, Account> {
        let mut accounts: BTreeMap<AccountId, Account> = BTreeMap::new();
        for (name, raw) in &raw.accounts {
            let Some(account) = self.account(name, raw, bots) else { continue };
            let twin = accounts.iter().find(|(_, other)| {
                other.token.expose_secret() == account.token.expose_secret()
                    && other.api_base == account.api_base
            });
            if let Some((twin, _)) = twin {
                let what = format!("the accounts `{twin}` and `{name}` have the same token");
                self.fail(
                    &["accounts", name, "token"],
                    what,
                    "A platform gives each message to one of them only: take one account out.",
                );
            }
            accounts.insert(name.as_str().into(), account);
        }
        accounts
    }

    /// An account; None where its platform or its token is missing, which is reported.
    fn account(&mut self, name: &str, raw: &RawAccount, bots: &[BotConfig]) -> Option<Account> {
        let at = |key| ["accounts", name, key];
        let header = format!("[accounts.{name}]");
        if raw.platform.is_none() {
            let line = "`platform = \"telegram\"`, or \"discord\"";
            self.missing(&at("platform"), &header, line);
        }
        let platform = match raw.platform.as_deref() {
            Some("discord") => AccountPlatform::Discord,
            _ => AccountPlatform::Telegram,
        };
        // Of a platform that is not known, neither is what a token of it is.
        if raw.token.is_none() && (raw.platform.is_some() || !self.places.written(&at("platform")))
        {
            let line = match platform {
                AccountPlatform::Telegram => {
                    "`token = \"env:TELEGRAM_TOKEN\"`, as BotFather gave it"
                }
                AccountPlatform::Discord => {
                    "`token = \"env:DISCORD_TOKEN\"`, from the developer portal's page Bot"
                }
            };
            self.missing(&at("token"), &header, line);
        }
        let bot = self.bot(&at("bot"), raw.bot.as_deref(), bots).unwrap_or_else(|| MAIN.into());
        let allow = self.allow(&at("allow"), raw.allow.as_deref(), platform).unwrap_or_default();
        let token = self.secret(&at("token"), raw.token.as_deref());
        // Checked as a value; the default is one.
        let backlog = parse_duration(raw.backlog.as_deref().unwrap_or(BACKLOG)).unwrap_or_default();
        Some(Account {
            platform: raw.platform.as_ref().map(|_| platform)?,
            token: token?,
            bot,
            api_base: raw.api_base.clone(),
            allow,
            backlog,
        })
    }

    pub(super) fn routes(
        &mut self,
        all: &Raw,
        accounts: &BTreeMap<AccountId, Account>,
        bots: &[BotConfig],
    ) -> Vec<RouteConfig> {
        let mut routes: Vec<(usize, RouteConfig)> = Vec::new();
        for (n, raw) in all.routes.iter().enumerate() {
            let Some(route) = self.route(n, raw, &all.accounts, accounts, bots) else { continue };
            let twin = routes
                .iter()
                .find(|(_, other)| other.account == route.account && other.chat == route.chat);
            if let Some((first, _)) = twin {
                let first = self.at(&["routes", &first.to_string(), "chat"]);
                self.fail(
                    &["routes", &n.to_string(), "chat"],
                    format!(
                        "the chat {} of account `{}` has two routes",
                        mask::value(route.chat.as_str()),
                        route.account
                    ),
                    &format!("Keep one; the other is at {first}."),
                );
            }
            routes.push((n, route));
        }
        routes.into_iter().map(|(_, route)| route).collect()
    }

    /// A route; None where what it is about is missing or wrong, which is reported.
    fn route(
        &mut self,
        n: usize,
        raw: &RawRoute,
        all: &BTreeMap<String, RawAccount>,
        accounts: &BTreeMap<AccountId, Account>,
        bots: &[BotConfig],
    ) -> Option<RouteConfig> {
        let n = n.to_string();
        let at = |key| ["routes", n.as_str(), key];
        if raw.account.is_none() {
            self.missing(
                &at("account"),
                "this [[routes]]",
                "the account it is on: `account = \"tg\"`",
            );
        }
        if raw.chat.is_none() {
            self.missing(
                &at("chat"),
                "this [[routes]]",
                "the chat it is about: `chat = \"-1001234567890\"`",
            );
        }
        let bot = self.bot(&at("bot"), raw.bot.as_deref(), bots);
        // A platform that is not known is taken for the one with the narrower ids of people.
        let platform = raw.account.as_deref().and_then(|name| platform_of(all, name));
        let on = platform.unwrap_or(AccountPlatform::Telegram);
        let allow = self.allow(&at("allow"), raw.allow.as_deref(), on);
        let bots = self.allow(&at("allow_bots"), raw.allow_bots.as_deref(), on);
        if let Some((chat, on)) = raw.chat.as_deref().zip(platform)
            && !is_chat(on, chat)
        {
            self.fail(
                &at("chat"),
                format!("{} is no chat's id on {}", mask::value(chat), on.shown()),
                chat_s_form(on),
            );
        }
        let name = raw.account.as_deref()?;
        let known = self.places.names("accounts");
        if !known.iter().any(|known| known == name) {
            let known = known.iter().map(String::as_str);
            let error =
                no_such(self.at(&at("account")), "account", name, known, "[accounts.<name>]");
            self.errors.push(error);
            return None;
        }
        // An account that is broken was reported; its routes are not wrong for it.
        let account = accounts.get(&AccountId::from(name))?;
        Some(RouteConfig {
            account: name.into(),
            chat: raw.chat.as_deref()?.into(),
            bot: bot.unwrap_or_else(|| account.bot.clone()),
            answer: match raw.answer.as_deref() {
                Some("all") => Answer::All,
                _ => Answer::Mentioned,
            },
            memory: raw.memory.as_deref().map(|memory| match memory {
                "all" => SharedMemory::All,
                "notes" => SharedMemory::Notes,
                _ => SharedMemory::None,
            }),
            allow: allow.unwrap_or_else(|| account.allow.clone()),
            bots: bots.unwrap_or_default(),
        })
    }

    /// The bot of this name; None where none is named, or none is there, which is reported.
    fn bot(&mut self, path: &[&str], name: Option<&str>, bots: &[BotConfig]) -> Option<BotName> {
        let name = name?;
        if bots.iter().any(|bot| bot.name.as_str() == name) {
            return Some(name.into());
        }
        let known = bots.iter().map(|bot| bot.name.as_str());
        let error: Error =
            no_such(self.at(path), "bot", name, known, "the folder bots/<name>/ with a BOT.md");
        self.errors.push(error);
        None
    }

    fn allow(
        &mut self,
        path: &[&str],
        ids: Option<&[RawId]>,
        on: AccountPlatform,
    ) -> Option<Allow> {
        let ids = ids?;
        let everybody = |id: &RawId| id.as_deref() == Some("*");
        if !ids.iter().any(everybody) {
            let people = self.people(path, ids, on);
            return Some(if people.is_empty() { Allow::Nobody } else { Allow::These(people) });
        }
        if ids.len() > 1 {
            self.fail(
                path,
                format!("`{}` names everybody and somebody", path.last().unwrap_or(&"allow")),
                "Write [\"*\"] for everybody, or the ids of those who may talk.",
            );
        }
        Some(Allow::Everybody)
    }
}

/// The platform that an account was written with; None where none was, or an unknown one.
fn platform_of(accounts: &BTreeMap<String, RawAccount>, name: &str) -> Option<AccountPlatform> {
    match accounts.get(name)?.platform.as_deref()? {
        "discord" => Some(AccountPlatform::Discord),
        _ => Some(AccountPlatform::Telegram),
    }
}

fn is_chat(on: AccountPlatform, chat: &str) -> bool {
    match on {
        AccountPlatform::Telegram => is_telegram_chat(chat),
        // Servers, channels and threads alike, written as Discord writes them.
        AccountPlatform::Discord => {
            chat.parse::<u64>().is_ok_and(|id| id > 0 && id.to_string() == chat)
        }
    }
}

fn chat_s_form(on: AccountPlatform) -> &'static str {
    match on {
        AccountPlatform::Telegram => {
            "A group's id is a number such as -1001234567890, a topic's is the group's and its own: -1001234567890:7."
        }
        AccountPlatform::Discord => {
            "A server's, channel's or thread's id is a number such as 1234567890123456789: switch on Developer Mode in Discord (Settings, Advanced), then right-click and Copy ID."
        }
    }
}

/// A group's or channel's id, or a topic's: both numbers with a colon between them, written as the
/// platform writes them, since ids are compared as texts.
fn is_telegram_chat(chat: &str) -> bool {
    let number = |text: &str| text.parse::<i64>().is_ok_and(|id| id.to_string() == text);
    match chat.split_once(':') {
        None => number(chat),
        Some((group, topic)) => number(group) && number(topic),
    }
}
