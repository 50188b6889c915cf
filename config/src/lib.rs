//! The configuration of a home, typed and checked whole.
//!
//! [`load`] reads three layers (defaults, `atlas.toml`, `ATLAS__SECTION__KEY`) and the bots' folders,
//! and answers with a [`Config`] or with all errors at once, each with its line and its cure.
//! [`prepare_home`] makes a home's folder. This crate is the only one that reads the environment;
//! what a configuration is for, it leaves to others.
//!
//! How it goes: `walk` and `environment` hold every key and value to the table in `schema`, `layers`
//! puts them over each other, `check` looks at the whole.
#![warn(missing_docs)]

mod bots;
mod check;
mod duration;
mod environment;
mod error;
mod front_matter;
mod home;
mod keep;
mod layers;
mod mask;
mod nearest;
mod place;
mod places;
mod rate;
mod schema;
mod secrets;
mod source;
mod types;
mod value;
mod walk;
mod wrong_key;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

pub use crate::duration::parse_duration;
pub use crate::error::{Error, Errors};
pub use crate::home::{EXAMPLE, HomeError, HomeReport, prepare_home};
pub use crate::keep::{KeepError, Kept, NewAccount, keep_account};
pub use crate::place::Place;
pub use crate::secrets::one_secret;
pub use crate::source::Source;
pub use crate::types::{
    Account, AccountPlatform, BotConfig, CacheTtl, Config, Conversations, Model, Provider,
    RouteConfig,
};

/// The exit code for a broken configuration: the system's word for it, which a service manager can
/// be told not to restart on.
pub const EX_CONFIG: u8 = 78;

/// The configuration's file in the home.
pub const FILE: &str = "atlas.toml";

/// The key of the model that stands in where none is configured, and of the one that bots have
/// which name none.
pub const DEFAULT_MODEL: &str = "default";

/// The model that is asked for where there is an `OPENAI_API_KEY` and no `[models]`: the provider's
/// small one that can use tools, so that a first try costs little.
pub const DEFAULT_OPENAI_MODEL: &str = "gpt-5-mini";

/// The same where there is only an `ANTHROPIC_API_KEY`.
pub const DEFAULT_ANTHROPIC_MODEL: &str = "claude-sonnet-5";

/// Loads the configuration of a home. A home without `atlas.toml`, or without anything, has the
/// defaults.
///
/// # Errors
///
/// Everything that is wrong, sorted by file and line.
pub fn load(source: &Source) -> Result<Config, Errors> {
    whole(source, read(&source.home))
}

/// The configuration of a home whose `atlas.toml` says `text`.
pub(crate) fn whole(
    source: &Source,
    text: Result<Option<String>, Error>,
) -> Result<Config, Errors> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let bots = bots::read(&source.home, &mut errors, &mut warnings);
    let file = match text.and_then(|text| walked(text.as_deref())) {
        Ok(found) => Some(found),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let readable = file.is_some();
    let file = file.unwrap_or_default();
    let environment = environment::walk(&source.env, &file.places);
    errors.extend(file.errors);
    errors.extend(environment.errors);
    // Of a file that cannot be read nothing is known: whatever refers to it would seem wrong.
    if !readable {
        return Err(Errors::sorted(errors));
    }
    let mut places = file.places;
    places.lay_over(environment.places);
    let raw = layers::merge(file.values, environment.values).unwrap_or_else(|error| {
        errors.push(Error::new(
            Place::Path(FILE.into()),
            format!("the layers do not fit together: {error}"),
            "This is a mistake in Atlas: please report it with the file, its secrets taken out.",
        ));
        layers::Raw::default()
    });
    let mut check = check::Check { source, places: &places, errors, warnings };
    let config = check.whole(&raw, &bots);
    if check.errors.is_empty() { Ok(config) } else { Err(Errors::sorted(check.errors)) }
}

/// What `atlas.toml` says; nothing where there is none.
fn walked(text: Option<&str>) -> Result<walk::Found, Error> {
    match text {
        Some(text) => walk::walk(&place::Text::new(FILE, without_mark(text))),
        None => Ok(walk::Found::default()),
    }
}

/// The text without the byte order mark that some editors put before it.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text of `atlas.toml`; None where there is none.
pub(crate) fn read(home: &Path) -> Result<Option<String>, Error> {
    let path = home.join(FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::new(
                Place::Path(path),
                format!("the configuration cannot be read: {error}"),
                "It is a file, and belongs to the user that runs Atlas.",
            ));
        }
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        Error::new(
            place::Text::new(FILE, &text).place(Some(good..good)),
            "this is no UTF-8 text",
            "Save the file as UTF-8.",
        )
    })
}
