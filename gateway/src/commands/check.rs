//! `atlas check`: what of a home does not work, and how to mend it.
//!
//! Each thing is looked at by whoever uses it in earnest: the store checks the store, an account's
//! adapter its token. Here is only the list.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use atlas_adapters::discord::DiscordAccount;
use atlas_adapters::memory_fs::DiskFiles;
use atlas_adapters::telegram::TelegramAccount;
use atlas_config::{BotConfig, Config, Model, Provider};
use atlas_core::bot::MAIN;
use atlas_core::ids::{AccountId, ModelName, PlatformChat};
use atlas_core::message::Body;
use atlas_core::ports::{FileError, MemoryFiles, ModelError, ModelRequest, Store};
use serde_json::json;
use tokio::time::timeout;

use super::{Context, Failure, closed_output, sentence};
use crate::parts;
use crate::presence::{HomeLock, LockPresence};
use crate::reload::RESTART;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
    /// Ask each model a small question too; it costs some tokens
    #[arg(long)]
    ask: bool,
}

/// One thing that was looked at.
struct Row {
    name: String,
    found: Result<String, Fault>,
}

/// What is wrong with it, and how to mend it.
pub(super) struct Fault {
    what: String,
    mend: String,
}

impl Fault {
    fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), mend: mend.into() }
    }

    /// What, and how to mend it.
    pub(super) fn into_parts(self) -> (String, String) {
        (self.what, self.mend)
    }
}

pub(super) async fn run(arguments: Arguments, context: Context) -> Result<ExitCode, Failure> {
    let rows = match context.config() {
        Ok(config) => look(&config, arguments.ask).await,
        Err(failure) => vec![Row {
            name: "configuration".to_owned(),
            found: Err(Fault::new(failure.what, failure.mend)),
        }],
    };
    let right = rows.iter().all(|row| row.found.is_ok());
    let printed = if arguments.json { print_json(&rows) } else { print_lines(&rows) };
    printed.or_else(closed_output)?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn look(config: &Config, ask: bool) -> Vec<Row> {
    let mut rows = vec![
        row("configuration", configuration(config)),
        row("database", database(config).await),
        row("files", files(config).await),
    ];
    for (name, model) in &config.models {
        let found = in_time(check_model(name, model)).await;
        let found = match found {
            Ok(found) if ask => in_time(asked(name, model, found)).await,
            found => found,
        };
        rows.push(row(format!("model {name}"), found));
    }
    for id in config.accounts.keys() {
        rows.push(row(format!("account {id}"), in_time(account(config, id)).await));
    }
    rows
}

fn row(name: impl Into<String>, found: Result<String, Fault>) -> Row {
    Row { name: name.into(), found }
}

async fn in_time(look: impl Future<Output = Result<String, Fault>>) -> Result<String, Fault> {
    timeout(PATIENCE, look).await.unwrap_or_else(|_| {
        let what = format!("there was no answer within {} s", PATIENCE.as_secs());
        Err(Fault::new(what, "Check the network, and the server's address in atlas.toml."))
    })
}

fn configuration(config: &Config) -> Result<String, Fault> {
    let (bots, accounts) = (config.bots.len(), config.accounts.len());
    let running = HomeLock::holder(&config.home).map_or_else(String::new, |pid| {
        // Of a gateway that is gone, what it left says nothing.
        let restart = std::fs::read_to_string(config.home.join(RESTART)).unwrap_or_default();
        let restart =
            if restart.is_empty() { restart } else { format!(", restart it for: {restart}") };
        format!("; a gateway runs it (process {pid}{restart})")
    });
    Ok(format!("{}: bots: {bots}, accounts: {accounts}{running}", config.home.display()))
}

async fn database(config: &Config) -> Result<String, Fault> {
    let path = config.home.join("atlas.db");
    let broken =
        |what: String| Fault::new(what, "Make room on the disk, and see that the file is yours.");
    let store = parts::open_store(config).await.map_err(Fault::from)?;
    store.check().await.map_err(|error| broken(error.to_string()))?;
    Ok(path.display().to_string())
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::new(failure.what, failure.mend)
    }
}

/// Reads what every turn reads, and makes a file where the gateway makes its own.
async fn files(config: &Config) -> Result<String, Fault> {
    let disk = DiskFiles::new(config.home.clone());
    let mut faults = Vec::new();
    for path in config.bots.iter().flat_map(read_by) {
        if let Err(error) = disk.read(&path).await {
            faults.push(error);
        }
    }
    if let Some(fault) = unreadable(&faults) {
        return Err(fault);
    }
    writable(&config.home)?;
    Ok("memory, souls and missions can be read, and the home written".to_owned())
}

fn read_by(bot: &BotConfig) -> Vec<String> {
    if bot.name.as_str() == MAIN {
        let paths = ["SOUL.md", "memory/USER.md", "memory/MEMORY.md", "shared/MEMORY.md"];
        return paths.map(str::to_owned).to_vec();
    }
    ["BOT.md", "MEMORY.md"].map(|file| format!("bots/{}/{file}", bot.name)).to_vec()
}

fn unreadable(faults: &[FileError]) -> Option<Fault> {
    let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let mend = "See that each is a file of yours with UTF-8 text; Atlas never writes over it.";
    (!all.is_empty()).then(|| Fault::new(all.join("; "), mend))
}

fn writable(home: &Path) -> Result<(), Fault> {
    LockPresence::enter(home, "check").map(drop).map_err(|error| {
        let what = format!("{} cannot be written: {error}", home.join("run").display());
        Fault::new(what, "See that the folder is yours (`ls -ld`) and the disk has room.")
    })
}

async fn check_model(name: &ModelName, model: &Model) -> Result<String, Fault> {
    let known = match model.provider {
        Provider::Offline => {
            return Ok("the offline stand-in; [models.default] sets a real one".to_owned());
        }
        Provider::OpenAi => parts::open_ai(name, model)?.check().await,
        Provider::Anthropic => parts::anthropic(name, model)?.check().await,
    };
    let remarks = known.map_err(|error| model_fault(name, model, &error))?;
    Ok(std::iter::once(model.model.clone()).chain(remarks).collect::<Vec<_>>().join("; "))
}

/// Asks a model that answers for its server in earnest; `found` is what is known of it.
async fn asked(name: &ModelName, model: &Model, found: String) -> Result<String, Fault> {
    let request = ModelRequest {
        system: "Answer in one word.".into(),
        tools: Arc::new([]),
        messages: vec![Arc::new(Body::note("Are you there?"))],
        strict_roles: model.strict_roles,
        reasoning: true,
        cache_key: String::new(),
    };
    let answer = parts::client(name, model)?.ask(&request, &mut |_| {}).await;
    let answer = answer.map_err(|error| model_fault(name, model, &error))?;
    if answer.text.trim().is_empty() {
        let mend = format!("Ask it yourself, and see `model` and `max_output` of [models.{name}].");
        return Err(Fault::new(format!("{} answers without a word", model.model), mend));
    }
    let (input, output) = (answer.tokens.input, answer.tokens.output);
    Ok(format!("{found}; it answers ({input} tokens read, {output} written)"))
}

fn model_fault(name: &ModelName, model: &Model, error: &ModelError) -> Fault {
    let mend = match (error, &model.base_url) {
        (ModelError::Unreachable(_), Some(_)) => {
            format!("Start the server, or mend `base_url` of [models.{name}] in atlas.toml.")
        }
        (ModelError::Unreachable(_), None) => "Check the network.".to_owned(),
        (ModelError::Auth(_), _) => {
            format!(
                "Mend `api_key` of [models.{name}] in atlas.toml, or the variable or file with the key."
            )
        }
        (ModelError::Payment(_), _) => "See to the account at the provider.".to_owned(),
        (ModelError::Busy { .. }, _) => "Nothing is wrong here: try again later.".to_owned(),
        _ => format!("Mend [models.{name}] in atlas.toml."),
    };
    Fault::new(error.to_string(), mend)
}

async fn account(config: &Config, id: &AccountId) -> Result<String, Fault> {
    match parts::account(config, id)? {
        parts::Account::Telegram(account) => telegram(&account).await,
        parts::Account::Discord(account) => {
            let routes = config.routes.iter().filter(|route| &route.account == id);
            let routed: Vec<_> = routes.map(|route| route.chat.clone()).collect();
            discord(&account, &routed).await
        }
    }
}

/// An adapter's sentence says after a semicolon how to mend it.
pub(super) fn account_fault(error: impl ToString) -> Fault {
    let text = error.to_string();
    let (what, mend) = text.split_once("; ").unwrap_or((&text, ""));
    let mend = if mend.is_empty() { String::new() } else { sentence(mend) };
    Fault::new(what, mend)
}

async fn discord(account: &DiscordAccount, routed: &[PlatformChat]) -> Result<String, Fault> {
    let bot = account.check(routed).await.map_err(account_fault)?;
    if !bot.lacks.is_empty() {
        let lacks = bot.lacks.iter().map(|lack| format!("{}: {}", lack.place, lack.what));
        let what = format!("@{} lacks in {}", bot.name, lacks.collect::<Vec<_>>().join("; in "));
        let mend = "Give its role these permissions in the server's or channel's settings; where it is not \
                    there at all, invite it, or mend the route's `chat`.";
        return Err(Fault::new(what, mend));
    }
    let content = if bot.reads_content {
        ""
    } else {
        "; in channels it reads only what mentions it (Message Content Intent, in the developer \
         portal at Bot, is off)"
    };
    Ok(format!("@{}{content}", bot.name))
}

async fn telegram(account: &TelegramAccount) -> Result<String, Fault> {
    let bot = account.check().await.map_err(account_fault)?;
    let privacy = if bot.can_read_all_group_messages {
        ""
    } else {
        "; in groups it reads only what is addressed to it (@BotFather, /setprivacy)"
    };
    Ok(format!("@{}{privacy}", bot.username))
}

fn print_lines(rows: &[Row]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for row in rows {
        match &row.found {
            Ok(found) => writeln!(out, "✓ {}: {found}", row.name)?,
            Err(fault) => {
                writeln!(out, "✗ {}: {}", row.name, fault.what)?;
                if !fault.mend.is_empty() {
                    writeln!(out, "  {}", fault.mend)?;
                }
            }
        }
    }
    out.flush()
}

fn print_json(rows: &[Row]) -> io::Result<()> {
    let shown: Vec<_> = rows
        .iter()
        .map(|row| match &row.found {
            Ok(found) => json!({ "name": row.name, "ok": true, "found": found }),
            Err(fault) => {
                json!({ "name": row.name, "ok": false, "found": fault.what, "mend": fault.mend })
            }
        })
        .collect();
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &shown)?;
    writeln!(out)?;
    out.flush()
}
