//! Takes an account into the home: its token into the vault, its section into `atlas.toml`. What people
//! wrote there stays as it is, byte by byte; both files are written, or neither.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use atlas_core::ids::{AccountId, BotName};
use secrecy::{ExposeSecret, SecretString};
use tempfile::NamedTempFile;
use toml_edit::{Document, DocumentMut, Item, Table, value};

use crate::error::Errors;
use crate::home::{HomeError, refused};
use crate::secrets::is_name;
use crate::source::Source;
use crate::types::{AccountPlatform, Config};
use crate::{FILE, read, whole, without_mark};

/// What the vault may hold of names that begin alike.
const TWINS: usize = 100;

/// An account that is to be taken in.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Its name in `[accounts]`. An account of this name is given the token.
    pub name: String,
    /// Its platform.
    pub platform: AccountPlatform,
    /// Who answers where no route says otherwise.
    pub bot: BotName,
    /// Another server of the same interface.
    pub api_base: Option<String>,
    /// Its token.
    pub token: SecretString,
}

/// An account that was taken in.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The token's file, by its path below the home.
    pub secret: String,
    /// The configuration as it is now.
    pub config: Config,
}

/// Why an account was not taken in. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepError {
    /// A file cannot be written, or says something else than can be changed here.
    Home(HomeError),
    /// The configuration would be broken with it, or is already.
    Config(Errors),
}

impl From<HomeError> for KeepError {
    fn from(error: HomeError) -> Self {
        Self::Home(error)
    }
}

/// Takes an account in. Nothing is written before the whole was checked as it will be.
///
/// # Errors
///
/// [`KeepError`]; both files are then as they were.
pub fn keep_account(source: &Source, new: &NewAccount) -> Result<Kept, KeepError> {
    let home = &source.home;
    let broken = |error| KeepError::Config(Errors::sorted(vec![error]));
    let text = read(home).map_err(broken)?.unwrap_or_default();
    let before = written(&text, &new.name);
    let secret = match before.token.as_ref().and_then(|(token, _)| token.strip_prefix("secret:")) {
        Some(name) if is_name(name.trim()) => name.trim().to_owned(),
        _ => free_name(home, new),
    };
    let changed = with_account(&text, new, &format!("secret:{secret}"), before)?;
    let vault = Replaced::write(home, &format!("vault/{secret}"), new.token.expose_secret())?;
    match settle(source, new, &text, changed) {
        Ok(config) => Ok(Kept { secret: format!("vault/{secret}"), config }),
        Err(error) => {
            vault.undo();
            Err(error)
        }
    }
}

/// Checks the configuration as it will be, and writes it.
fn settle(
    source: &Source,
    new: &NewAccount,
    text: &str,
    changed: String,
) -> Result<Config, KeepError> {
    let config = whole(source, Ok(Some(changed.clone()))).map_err(KeepError::Config)?;
    let kept = config.accounts.get(&AccountId::from(new.name.as_str()));
    let token = kept.map(|account| account.token.expose_secret());
    if token != Some(new.token.expose_secret()) {
        return Err(KeepError::Home(HomeError {
            what: format!("a variable ATLAS__ACCOUNTS__… goes before what stands in {FILE}"),
            mend: "Take the variable away, or put the token there.".to_owned(),
        }));
    }
    let now = read(&source.home).map_err(|error| KeepError::Config(Errors::sorted(vec![error])))?;
    if now.unwrap_or_default() != text {
        return Err(KeepError::Home(HomeError {
            what: format!("{FILE} was changed by somebody else just now"),
            mend: "Try again.".to_owned(),
        }));
    }
    if changed != text {
        replace(&source.home, &source.home.join(FILE), &changed)?;
    }
    Ok(config)
}

/// What a file says of an account.
#[derive(Debug, Default)]
struct Written {
    /// It has a section.
    there: bool,
    /// Its token as it was written, and where in the text.
    token: Option<(String, Range<usize>)>,
}

/// What the text says of the account `name`. Nothing, where it is no TOML: the check says so.
fn written(text: &str, name: &str) -> Written {
    let mark = text.len() - without_mark(text).len();
    let Ok(document) = Document::parse(without_mark(text)) else { return Written::default() };
    let account = document.get("accounts").and_then(|accounts| accounts.get(name));
    let token = account.and_then(|account| account.get("token"));
    let token = token.and_then(|token| {
        let span = token.span()?;
        Some((token.as_str()?.to_owned(), span.start + mark..span.end + mark))
    });
    Written { there: account.is_some(), token }
}

/// The text with the account in it: its section at the end, or another token in the section that is
/// there. All else is as it was.
fn with_account(
    text: &str,
    new: &NewAccount,
    token: &str,
    before: Written,
) -> Result<String, HomeError> {
    let Written { there, token: at } = before;
    if let Some((written, at)) = at {
        let mut changed = text.to_owned();
        if written != token {
            changed.replace_range(at, &format!("\"{token}\""));
        }
        return Ok(changed);
    }
    let shown = section(new, token);
    let by_hand = || HomeError {
        what: format!("[accounts.{}] cannot be added to {FILE} as it is written", new.name),
        mend: format!("Write it there yourself: {}", shown.trim().replace('\n', ", ")),
    };
    if there {
        return Err(by_hand());
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let added = format!("{gap}{shown}");
    let windows = text.contains("\r\n");
    let changed = text.to_owned() + &if windows { added.replace('\n', "\r\n") } else { added };
    // Behind `accounts = { … }` no section can follow.
    let read = Document::parse(without_mark(&changed)).is_ok();
    let was_read = Document::parse(without_mark(text)).is_ok();
    if was_read && !read { Err(by_hand()) } else { Ok(changed) }
}

/// The account's section.
fn section(new: &NewAccount, token: &str) -> String {
    let mut account = Table::new();
    account.insert("platform", value(new.platform.name()));
    account.insert("token", value(token));
    account.insert("bot", value(new.bot.as_str()));
    if let Some(base) = &new.api_base {
        account.insert("api_base", value(base));
    }
    let mut accounts = Table::new();
    accounts.set_implicit(true);
    accounts.insert(&new.name, Item::Table(account));
    let mut document = DocumentMut::new();
    document.insert("accounts", Item::Table(accounts));
    document.to_string()
}

/// A name in the vault that is not taken: the platform's, or one like it.
fn free_name(home: &Path, new: &NewAccount) -> String {
    let platform = new.platform.name();
    let twins = (2..TWINS).map(|n| format!("{platform}-{n}"));
    let mut names = std::iter::once(platform.to_owned()).chain(twins);
    let free = |name: &String| {
        let path = home.join("vault").join(name);
        // What was begun once and holds the same is this.
        let same = fs::read_to_string(&path);
        let same = same.is_ok_and(|text| text.trim() == new.token.expose_secret());
        same || fs::symlink_metadata(&path).is_err()
    };
    names.find(free).unwrap_or_else(|| format!("{platform}-{}", new.name))
}

/// A file that was written over, and what it held.
struct Replaced {
    path: PathBuf,
    before: Option<Vec<u8>>,
}

impl Replaced {
    /// Writes a line to a file that only its owner can read.
    fn write(home: &Path, name: &str, line: &str) -> Result<Self, HomeError> {
        let path = home.join(name);
        let before = match fs::read(&path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(refused(home, &path, &error)),
        };
        replace(home, &path, &format!("{line}\n"))?;
        Ok(Self { path, before })
    }

    /// Puts back what was there.
    fn undo(self) {
        // Where even that fails, the new token is in a file that nothing names, or that was to hold it.
        let _ = match self.before {
            Some(before) => write_whole(&self.path, &before),
            None => fs::remove_file(&self.path),
        };
    }
}

fn replace(home: &Path, path: &Path, text: &str) -> Result<(), HomeError> {
    write_whole(path, text.as_bytes()).map_err(|error| refused(home, path, &error))
}

/// Writes a file whole or not at all. One that is a link stays one; it keeps its mode, a new one has 0600.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    if let Ok(metadata) = fs::metadata(&path) {
        fs::set_permissions(file.path(), metadata.permissions())?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}
