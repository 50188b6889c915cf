//! `atlas allow`: who may talk besides the owner, decided on the machine. It works beside a running
//! gateway, which sends the word of welcome.

use std::io::{self, Write};
use std::process::ExitCode;

use atlas_config::Config;
use atlas_core::access::{looks_like_pairing_code, pairing_hash};
use atlas_core::commands::allow::{WELCOME, named};
use atlas_core::ids::Person;
use atlas_core::ports::{Admission, Guests, Store};
use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Context, Failure, closed_output};
use crate::parts;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The code that somebody was told and gave you; without one, the list
    code: Option<String>,
    /// Take somebody's leave back, by the id that the list shows
    #[arg(long, value_name = "ID", conflicts_with = "code")]
    remove: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with_all = ["code", "remove"])]
    json: bool,
}

pub(super) async fn run(arguments: Arguments, context: Context) -> Result<ExitCode, Failure> {
    let config = context.config()?;
    let store = parts::open_store(&config).await?;
    let now = context.seams.clock.now();
    let said = match (&arguments.code, &arguments.remove) {
        (Some(code), _) => allow(&store, &config, code, now).await?,
        (None, Some(id)) => remove(&store, id, now).await?,
        (None, None) => {
            let guests = store.guests(now).await?;
            let printed =
                if arguments.json { as_json(&guests) } else { as_lines(&guests, &config) };
            printed.or_else(closed_output)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    writeln!(io::stdout(), "{said}").or_else(closed_output)?;
    Ok(ExitCode::SUCCESS)
}

async fn allow(
    store: &dyn Store,
    config: &Config,
    code: &str,
    now: DateTime<Utc>,
) -> Result<String, Failure> {
    let mend = "It has eight letters and digits, such as ABCD2345, and counts for an hour after the \
                bot told it; `atlas allow` lists who waits.";
    if !looks_like_pairing_code(code) {
        return Err(Failure::new("This is no code of somebody who waits.", mend));
    }
    match store.allow_guest(&pairing_hash(code), None, WELCOME, now).await? {
        Admission::LetIn(guest) => {
            let owner = if config.owner.is_empty() && store.owners().await?.is_empty() {
                "\nThis home has no owner yet: `atlas pair` makes you one."
            } else {
                ""
            };
            Ok(format!("{} may talk with your bots now.{owner}", shown(&guest.name, &guest.person)))
        }
        Admission::Wrong | Admission::LockedOut => {
            Err(Failure::new("Nobody waits with this code.", mend))
        }
    }
}

async fn remove(store: &dyn Store, id: &str, now: DateTime<Utc>) -> Result<String, Failure> {
    let all = store.guests(now).await?.let_in;
    let found: Vec<_> = all.iter().filter(|guest| named(&guest.person, id)).collect();
    match found[..] {
        [guest] => {
            store.remove_guest(&guest.person).await?;
            Ok(format!(
                "{} may not talk with your bots any more.",
                shown(&guest.name, &guest.person)
            ))
        }
        [] => Err(Failure::new(
            "Nobody of that id was let in by a code.",
            "`atlas allow` lists the ids. Who stands in atlas.toml is taken out there.",
        )),
        _ => Err(Failure::new(
            "Two have that id.",
            "Name the platform too, as the list does: `telegram:123456789`.",
        )),
    }
}

fn shown(name: &str, person: &Person) -> String {
    format!("{name} ({}:{})", person.platform, person.id)
}

fn as_lines(guests: &Guests, config: &Config) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let time = |at: DateTime<Utc>| at.with_timezone(&config.timezone).format("%Y-%m-%d %H:%M");
    if guests.waiting.is_empty() && guests.let_in.is_empty() {
        writeln!(out, "Nobody waits, and nobody was let in by a code.")?;
    }
    for one in &guests.waiting {
        let since = time(one.since);
        writeln!(out, "waits   {since}  {}", shown(&cut(&one.name), &one.person))?;
    }
    for one in &guests.let_in {
        let since = time(one.since);
        writeln!(out, "let in  {since}  {}", shown(&cut(&one.name), &one.person))?;
    }
    out.flush()
}

/// A name that leaves room for the rest of its line in 80 columns.
fn cut(name: &str) -> String {
    name.chars().take(20).collect()
}

fn as_json(guests: &Guests) -> io::Result<()> {
    let row = |state: &str, name: &str, person: &Person, since: DateTime<Utc>| {
        let (platform, id) = (&person.platform, &person.id);
        json!({"state": state, "name": name, "platform": platform, "id": id, "since": since})
    };
    let waiting = guests.waiting.iter().map(|one| row("waits", &one.name, &one.person, one.since));
    let let_in = guests.let_in.iter().map(|one| row("let_in", &one.name, &one.person, one.since));
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &waiting.chain(let_in).collect::<Vec<_>>())?;
    writeln!(out)?;
    out.flush()
}
