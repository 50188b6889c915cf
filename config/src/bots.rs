//! The bots of a home: its folders below `bots/`, and `atlas`, which always exists. What their front
//! matter refers to is checked with the rest of the configuration.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use atlas_core::bot::MAIN;

use crate::error::Error;
use crate::front_matter::{self, FrontMatter};
use crate::mask;
use crate::place::{Place, Text};

/// The most characters of a bot's shown name; platforms cut longer ones.
const LONGEST_NAME: usize = 64;

/// A bot's folder as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The folder's name.
    pub(crate) name: String,
    /// What its `BOT.md` says; nothing where that is broken.
    pub(crate) front: FrontMatter,
}

/// Reads all bots, `atlas` first, the others by name.
pub(crate) fn read(home: &Path, errors: &mut Vec<Error>, warnings: &mut Vec<String>) -> Vec<Found> {
    let mut bots = vec![main_agent(home, errors, warnings)];
    for name in folders(home, errors) {
        if let Some(bot) = bot(home, &name, errors, warnings) {
            bots.push(bot);
        }
    }
    bots
}

fn main_agent(home: &Path, errors: &mut Vec<Error>, warnings: &mut Vec<String>) -> Found {
    let folder = home.join("bots").join(MAIN);
    let front = match bot_file(&folder) {
        Ok(None) => FrontMatter::default(),
        Ok(Some(text)) => front_matter(MAIN, &text, errors),
        Err(error) => {
            errors.push(error);
            FrontMatter::default()
        }
    };
    if let Some(place) = &front.body {
        errors.push(Error::new(
            place.clone(),
            "the main agent's BOT.md holds front matter only",
            "Move this text to SOUL.md, which says who the main agent is.",
        ));
    }
    if folder.join("MEMORY.md").exists() {
        warnings.push(format!(
            "bots/{MAIN}/MEMORY.md is not read: the main agent's notes are memory/MEMORY.md. Move what you need there."
        ));
    }
    Found { name: MAIN.to_owned(), front }
}

/// The names of the bots' folders, `atlas` apart. Files and hidden folders are none.
fn folders(home: &Path, errors: &mut Vec<Error>) -> Vec<String> {
    let bots = home.join("bots");
    let entries = match fs::read_dir(&bots).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            errors.push(Error::new(
                Place::Path(bots),
                format!("the bots' folder cannot be read: {error}"),
                "It is a folder, and belongs to the user that runs Atlas.",
            ));
            return Vec::new();
        }
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == MAIN || name.starts_with('.') || !entry.path().is_dir() {
            continue;
        }
        names.push(name);
    }
    names.sort();
    names
}

fn bot(
    home: &Path,
    name: &str,
    errors: &mut Vec<Error>,
    warnings: &mut Vec<String>,
) -> Option<Found> {
    let folder = home.join("bots").join(name);
    if !is_bot_name(name) {
        errors.push(Error::new(
            Place::Path(folder),
            format!("{} cannot be a bot's name", mask::value(name)),
            "Rename the folder: 1 to 32 lower-case letters, digits and dashes, a letter or digit first.",
        ));
        return None;
    }
    let front = match bot_file(&folder) {
        Ok(Some(text)) => {
            let front = front_matter(name, &text, errors);
            if front.body.is_none() {
                warnings.push(format!(
                    "bots/{name}/BOT.md has no text below its front matter: write there what the bot is for."
                ));
            }
            front
        }
        Ok(None) => {
            errors.push(Error::new(
                Place::Path(folder),
                format!("the bot `{name}` has no BOT.md"),
                format!("Write bots/{name}/BOT.md: what the bot is for, in plain words. If no bot is meant, move the folder out of bots/."),
            ));
            FrontMatter::default()
        }
        Err(error) => {
            errors.push(error);
            FrontMatter::default()
        }
    };
    Some(Found { name: name.to_owned(), front })
}

fn is_bot_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The text of a bot's file; None where there is no such file.
fn bot_file(folder: &Path) -> Result<Option<String>, Error> {
    let path = folder.join("BOT.md");
    let error = match fs::read_to_string(&path) {
        Ok(text) => return Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => error,
    };
    let mend = match error.kind() {
        ErrorKind::InvalidData => "Save it as UTF-8 text.",
        ErrorKind::IsADirectory => "A file is meant: rename the folder that stands in its place.",
        _ => "Make it readable for the user that runs Atlas.",
    };
    Err(Error::new(Place::Path(path), format!("this file cannot be read: {error}"), mend))
}

fn front_matter(bot: &str, text: &str, errors: &mut Vec<Error>) -> FrontMatter {
    let file = format!("bots/{bot}/BOT.md");
    let front = front_matter::read(&Text::new(&file, crate::without_mark(text)), errors);
    if let Some((name, place)) = &front.name
        && name.chars().count() > LONGEST_NAME
    {
        errors.push(Error::new(
            place.clone(),
            format!("`name` has more than {LONGEST_NAME} characters"),
            "Write a shorter one; what the bot is for stands below the front matter.",
        ));
    }
    front
}
