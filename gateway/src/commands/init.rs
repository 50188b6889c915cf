//! `atlas init`: one bot on one platform, from its token to the code that makes its sender the owner.
//!
//! It asks on a terminal; every answer is a flag too. The token is never an argument, since others can
//! read those, and nothing is written before the platform knew it.

mod ask;
mod bot;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use atlas_config::{
    Account, AccountPlatform, Config, KeepError, NewAccount, Source, keep_account, one_secret,
};
use atlas_core::bot::MAIN;
use atlas_core::ids::AccountId;
use secrecy::{ExposeSecret, SecretString};
use tokio::signal::unix::SignalKind;

use super::run::hear;
use super::{Context, Failure, closed_output, pair};
use crate::parts;
use crate::presence::HomeLock;
use crate::reload::Watched;
use bot::{Bot, Refusal};

/// The exit code of what was typed wrong, as the parser has it.
const USAGE: u8 = 2;

/// The exit code of what somebody left by Ctrl-C.
const LEFT: u8 = 130;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The platform: telegram or discord
    #[arg(long, value_parser = platform)]
    platform: Option<AccountPlatform>,
    /// Where the token is: in a variable, or on standard input. Not given: it is asked for, shown as stars
    #[arg(long, value_name = "env:NAME|-", allow_hyphen_values = true)]
    token_from: Option<String>,
    /// The account's name in atlas.toml: tg or dc, if not given
    #[arg(long)]
    name: Option<String>,
    /// Another server of the same interface
    #[arg(long, value_name = "ADDRESS")]
    api_base: Option<String>,
    /// Give an account of that name the new token, without asking
    #[arg(long)]
    replace: bool,
    /// Print a code that makes its sender the owner, without asking, also where there is an owner
    #[arg(long)]
    pair: bool,
    /// What newcomers write there: the token itself.
    #[arg(hide = true)]
    rest: Vec<String>,
}

fn platform(text: &str) -> Result<AccountPlatform, &'static str> {
    match text {
        "telegram" => Ok(AccountPlatform::Telegram),
        "discord" => Ok(AccountPlatform::Discord),
        _ => Err("it is telegram or discord"),
    }
}

pub(super) async fn run(arguments: Arguments, context: Context) -> Result<ExitCode, Failure> {
    if !arguments.rest.is_empty() {
        return Err(usage("`atlas init` takes flags only.", TOKEN_FLAG));
    }
    let mut interrupt = hear(SignalKind::interrupt())?;
    let mut init = Init { source: None, arguments, context };
    let connected = tokio::select! {
        connected = init.connect() => connected?,
        _ = interrupt.recv() => return Err(left("Stopped; nothing was changed.")),
    };
    let stopped = "Stopped. The account is set up; `atlas pair` makes you its owner.";
    let code = tokio::select! {
        code = init.pairing_code(&connected.config) => code?,
        _ = interrupt.recv() => return Err(left(stopped)),
    };
    init.tell(&connected, code.as_deref()).or_else(closed_output)?;
    Ok(ExitCode::SUCCESS)
}

const TOKEN_FLAG: &str = "The token is no argument, since others on this machine can read those: \
    `--token-from env:NAME` takes it from a variable, `--token-from -` from standard input.";

fn usage(what: impl Into<String>, mend: &str) -> Failure {
    Failure { what: what.into(), mend: mend.to_owned(), code: USAGE }
}

fn left(what: &str) -> Failure {
    Failure { what: format!("\n{what}"), mend: String::new(), code: LEFT }
}

struct Init {
    arguments: Arguments,
    context: Context,
    /// Known as soon as the home was read.
    source: Option<Source>,
}

/// An account that works, in the configuration.
struct Connected {
    config: Config,
    account: AccountId,
    platform: AccountPlatform,
    bot: Bot,
    /// The token's file, where one was written.
    secret: Option<String>,
}

/// What is to become of a token.
enum Plan {
    /// An account of this name is taken in.
    New,
    /// There is one of that name, with another token.
    Taken,
    /// This account has it already.
    Same(AccountId),
}

impl Init {
    /// Asks what is to be known, checks the token, and takes the account in.
    async fn connect(&mut self) -> Result<Connected, Failure> {
        let Watched { source, config, .. } = self.context.watched()?;
        self.source = Some(source.clone());
        let platform = self.platform(&config).await?;
        let default = if platform == AccountPlatform::Telegram { "tg" } else { "dc" };
        let name = self.arguments.name.clone().unwrap_or_else(|| default.to_owned());
        let named = config.accounts.get(&AccountId::from(name.as_str()));
        if let Some(named) = named {
            self.fits(&name, named, platform)?;
        }
        let api_base =
            self.arguments.api_base.clone().or_else(|| named.and_then(|it| it.api_base.clone()));
        let (token, bot) = self.token(&source, &config, platform, api_base.as_deref()).await?;
        let plan = plan(&config, &name, platform, &token);
        if let Plan::Same(account) = plan {
            return Ok(Connected { config, account, platform, bot, secret: None });
        }
        if matches!(plan, Plan::Taken) {
            self.may_replace(&name, &bot).await?;
        }
        let account = AccountId::from(name.as_str());
        let new = NewAccount { name, platform, bot: MAIN.into(), api_base, token };
        let kept = keep_account(&source, &new)?;
        Ok(Connected { config: kept.config, account, platform, bot, secret: Some(kept.secret) })
    }

    async fn platform(&self, config: &Config) -> Result<AccountPlatform, Failure> {
        if let Some(platform) = self.arguments.platform {
            return Ok(platform);
        }
        if !ask::can() {
            let mend = "Say `--platform telegram` or `--platform discord`.";
            return Err(usage("There is no terminal here to ask for the platform.", mend));
        }
        ask::say(&format!("The home is {}.", config.home.display()));
        ask::say("Ctrl-C leaves. Nothing is written before the token was checked.\n");
        ask::say("Where is the bot to be?\n  1  Telegram\n  2  Discord");
        loop {
            match ask::line("1 or 2: ").await?.to_lowercase().as_str() {
                "1" | "telegram" => return Ok(AccountPlatform::Telegram),
                "2" | "discord" => return Ok(AccountPlatform::Discord),
                _ => ask::say("Type 1 or 2, and Enter."),
            }
        }
    }

    /// Whether an account that is there can be given a token of this platform and server.
    fn fits(&self, name: &str, named: &Account, platform: AccountPlatform) -> Result<(), Failure> {
        let mend = "`--name NAME` adds the bot as another account.";
        if named.platform != platform {
            let what = format!("The account `{name}` is on {}.", named.platform.shown());
            return Err(Failure::new(what, mend));
        }
        if self.arguments.api_base.is_some() && self.arguments.api_base != named.api_base {
            let what = format!("The account `{name}` has another `api_base` in atlas.toml.");
            return Err(Failure::new(what, format!("Change it there. {mend}")));
        }
        Ok(())
    }

    /// A token that the platform knows, and whose it is. On a terminal it is asked for again until then.
    async fn token(
        &self,
        source: &Source,
        config: &Config,
        platform: AccountPlatform,
        api_base: Option<&str>,
    ) -> Result<(SecretString, Bot), Failure> {
        let asked = match self.arguments.token_from.as_deref() {
            Some(from) if from != "-" || !ask::can() => {
                let token = token_from(source, from)?;
                let looked = bot::look(platform, &token, api_base, config).await;
                return looked.map(|bot| (token, bot)).map_err(Refusal::into_failure);
            }
            _ => ask::can(),
        };
        if !asked {
            return Err(usage("There is no terminal here to ask for the token.", TOKEN_FLAG));
        }
        ask::say(bot::guide(platform));
        loop {
            let typed = ask::hidden("Token (shown as stars): ").await?;
            let token = match one_secret(typed.expose_secret(), "what was typed") {
                Ok(token) => token,
                Err(error) => {
                    ask::say(&Failure::from(error).to_string());
                    continue;
                }
            };
            ask::say(&format!("Asking {} …", platform.shown()));
            match bot::look(platform, &token, api_base, config).await {
                Ok(bot) => return Ok((token, bot)),
                Err(Refusal::Token(failure)) => ask::say(&failure.to_string()),
                Err(refusal) => return Err(refusal.into_failure()),
            }
        }
    }

    /// Asks before an account becomes another bot's.
    async fn may_replace(&self, name: &str, bot: &Bot) -> Result<(), Failure> {
        let there = format!("There is an account `{name}` already, with another token.");
        if self.arguments.replace {
            return Ok(());
        }
        let another = "`--name NAME` adds the bot as another account.";
        if !ask::can() {
            let mend =
                format!("Nothing was changed. `--replace` gives it the new token; {another}");
            return Err(Failure::new(there, mend));
        }
        let question = format!("{there}\nGive it the token of {}? [y/N] ", bot.name);
        if ask::agreed(&question, false).await? {
            return Ok(());
        }
        Err(Failure::new("Nothing was changed.", another))
    }

    /// A code for who wants to be the owner.
    async fn pairing_code(&self, config: &Config) -> Result<Option<String>, Failure> {
        let store = parts::open_store(config).await?;
        let owners = pair::owners(config, &store).await?;
        let wanted = self.arguments.pair
            || ask::can() && {
                let (there, default) = match pair::named(&owners) {
                    Some(there) => {
                        (format!("\n{there}\nMake a code for one more id of the owner"), false)
                    }
                    None => ("\nMake a code that makes you the owner".to_owned(), true),
                };
                let choice = if default { "[Y/n]" } else { "[y/N]" };
                ask::agreed(&format!("{there}? {choice} "), default).await?
            };
        if !wanted {
            return Ok(None);
        }
        pair::offer(&store, self.context.seams.clock.now()).await.map(Some)
    }

    /// What there is now, and what comes next.
    fn tell(&self, connected: &Connected, code: Option<&str>) -> io::Result<()> {
        let Connected { config, account, bot, platform, secret } = connected;
        let mut out = io::stdout().lock();
        let file = Path::new(&config.home).join(atlas_config::FILE);
        writeln!(out, "{} on {} works.", bot.name, platform.shown())?;
        match secret {
            Some(secret) => {
                writeln!(out, "Its account is [accounts.{account}] in {}", file.display())?;
                writeln!(out, "and its token in {}.", config.home.join(secret).display())?;
            }
            None => writeln!(out, "It is the account `{account}` already; nothing was changed.")?,
        }
        for note in &bot.notes {
            writeln!(out, "- {note}")?;
        }
        writeln!(out, "\nNext:")?;
        for (nth, step) in self.steps(connected, code).iter().enumerate() {
            writeln!(out, "{}. {step}", nth + 1)?;
        }
        out.flush()
    }

    fn steps(&self, connected: &Connected, code: Option<&str>) -> Vec<String> {
        let home = self.context.home.as_ref();
        let atlas = home.map_or_else(|| "atlas".to_owned(), |home| format!("atlas --home {home}"));
        let mut steps = Vec::new();
        if let Some(invite) = &connected.bot.invite {
            steps.push(format!("Invite it to a server of yours:\n   {invite}"));
        }
        match (HomeLock::holder(&connected.config.home), &connected.secret) {
            (Some(pid), Some(_)) => steps.push(format!(
                "Restart the gateway that runs (process {pid}), so that it takes the account up."
            )),
            (Some(pid), None) => steps.push(format!("A gateway runs already (process {pid}).")),
            (None, _) => steps.push(format!("{atlas} run")),
        }
        let bot = &connected.bot;
        steps.push(match code {
            Some(code) => format!(
                "Send it this code as a direct message within {} minutes:\n\n   {code}\n\n   It works \
                 once, and makes its sender the owner.\n   {}",
                pair::MINUTES,
                bot.way
            ),
            None => format!(
                "Write to it. {}\n   `{atlas} pair` prints a code that makes its sender the owner.",
                bot.way
            ),
        });
        steps
    }
}

/// What is to become of this token.
fn plan(config: &Config, name: &str, platform: AccountPlatform, token: &SecretString) -> Plan {
    let has = |account: &Account| {
        account.platform == platform && account.token.expose_secret() == token.expose_secret()
    };
    if let Some((same, _)) = config.accounts.iter().find(|(_, account)| has(account)) {
        return Plan::Same(same.clone());
    }
    let taken = config.accounts.contains_key(&AccountId::from(name));
    if taken { Plan::Taken } else { Plan::New }
}

/// The token that a script gives.
fn token_from(source: &Source, from: &str) -> Result<SecretString, Failure> {
    if from == "-" {
        let text = io::read_to_string(io::stdin().lock()).map_err(|error| {
            Failure::new(format!("Standard input cannot be read: {error}."), "Pipe the token in.")
        })?;
        return Ok(one_secret(&text, "standard input")?);
    }
    // What stands there may be the token itself: it is not shown.
    let name = from.strip_prefix("env:").unwrap_or_default();
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(usage("`--token-from` takes env:NAME or -.", TOKEN_FLAG));
    }
    let whose = format!("the variable {name}");
    match source.env.get(name) {
        Some(text) => Ok(one_secret(text, &whose)?),
        None => {
            let what = format!("The variable {name} is not set.");
            Err(Failure::new(what, "Set it where `atlas init` is started."))
        }
    }
}

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Home(error) => error.into(),
            KeepError::Config(errors) => errors.into(),
        }
    }
}
