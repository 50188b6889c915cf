//! `atlas pair`: a code whose sender becomes the owner, so that nobody looks up numeric ids.
//!
//! The code is on the screen alone; the store has its hash. Redeeming it is intake's.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use atlas_adapters::store::SqliteStore;
use atlas_config::Config;
use atlas_core::access::{new_pairing_code, pairing_hash};
use atlas_core::ids::Person;
use atlas_core::ports::Store;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Context, Failure, closed_output};
use crate::parts;

/// Minutes for which a code can be used.
pub(super) const MINUTES: i64 = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Do not ask, also when there is an owner already
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(arguments: Arguments, context: Context) -> Result<ExitCode, Failure> {
    let config = context.config()?;
    let store = parts::open_store(&config).await?;
    let owners = owners(&config, &store).await?;
    if let Some(there) = named(&owners)
        && !arguments.yes
        && !agreed(&there)?
    {
        return Ok(ExitCode::from(1));
    }
    let code = offer(&store, context.seams.clock.now()).await?;
    tell(&code, &config).or_else(closed_output)?;
    Ok(ExitCode::SUCCESS)
}

/// A code that counts from now on. An earlier one stops counting.
pub(super) async fn offer(store: &SqliteStore, now: DateTime<Utc>) -> Result<String, Failure> {
    let code = new_pairing_code();
    store.offer_pairing(&pairing_hash(&code), now, now + TimeDelta::minutes(MINUTES)).await?;
    Ok(code)
}

/// All ids of the owner, by the configuration and by pairing.
pub(super) async fn owners(config: &Config, store: &SqliteStore) -> Result<Vec<Person>, Failure> {
    let mut owners = config.owner.clone();
    owners.extend(store.owners().await?);
    Ok(owners)
}

/// A sentence that names them; None where there are none.
pub(super) fn named(owners: &[Person]) -> Option<String> {
    let named: Vec<String> =
        owners.iter().map(|owner| format!("{} {}", owner.platform, owner.id)).collect();
    (!named.is_empty()).then(|| format!("This home has an owner already: {}.", named.join(", ")))
}

/// Asks before somebody else gets everything that an owner has.
fn agreed(there: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(there, "With `--yes`, whoever sends the code is one too."));
    }
    let mut err = io::stderr();
    let _ = write!(err, "{there}\nWhoever sends the code is one too. Go on? [y/N] ");
    let _ = err.flush();
    let mut answer = String::new();
    let heard = io::stdin().lock().read_line(&mut answer).is_ok();
    Ok(heard && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn tell(code: &str, config: &Config) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{code}")?;
    writeln!(out, "Send this code to your bot in a direct message within {MINUTES} minutes.")?;
    writeln!(out, "It works once, and makes its sender the owner of this home.")?;
    if config.accounts.is_empty() {
        let file = Path::new(&config.home).join("atlas.toml");
        writeln!(out, "There is no account yet: `atlas init` adds one to {}", file.display())?;
    } else {
        let accounts: Vec<&str> = config.accounts.keys().map(|name| name.as_str()).collect();
        writeln!(out, "Accounts of this home, while `atlas run` runs: {}", accounts.join(", "))?;
    }
    out.flush()
}
