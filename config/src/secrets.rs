//! Secrets: a value names where one is (`env:NAME`, `secret:NAME`, `file:PATH`) or is one. What is
//! read here is shown nowhere.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use secrecy::SecretString;

use crate::home::HomeError;
use crate::mask;
use crate::source::Source;
use crate::value::Refusal;

/// A token has a hundred characters. What is larger is another file than was meant.
const LARGEST: u64 = 16 * 1024;

/// A secret and where it came from.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) secret: SecretString,
    /// It stands in the configuration itself.
    pub(crate) literal: bool,
}

/// Finds the secret that `text` means.
///
/// # Errors
///
/// The variable or file that is missing, empty, or open to others, by its name.
pub(crate) fn resolve(source: &Source, text: &str) -> Result<Resolved, Refusal> {
    let found = |secret: String| Resolved { secret: secret.into(), literal: false };
    if let Some(name) = text.strip_prefix("env:") {
        return from_environment(source, name.trim()).map(found);
    }
    if let Some(name) = text.strip_prefix("secret:") {
        return from_vault(&source.home, name.trim()).map(found);
    }
    if let Some(path) = text.strip_prefix("file:") {
        let path = source.home.join(path.trim());
        return read(&path, false).map(found);
    }
    if let Some(name) = text.strip_prefix('$') {
        return Err((
            "variables are not written with a dollar sign here".to_owned(),
            format!(
                "Write \"env:{}\".",
                mask::value(name.trim_matches(['{', '}'])).trim_matches('`')
            ),
        ));
    }
    let secret = clean(text, "the value")?;
    Ok(Resolved { secret: secret.into(), literal: true })
}

fn from_environment(source: &Source, name: &str) -> Result<String, Refusal> {
    if name.is_empty() {
        return Err(("env: names no variable".to_owned(), "Write \"env:NAME\".".to_owned()));
    }
    let shown = mask::value(name);
    match source.env.get(name) {
        None => Err((
            format!("the environment variable {shown} is not set"),
            "Set it where Atlas is started, or keep the value in the home's vault and write \"secret:NAME\"."
                .to_owned(),
        )),
        Some(value) => clean(value, &format!("the environment variable {shown}")),
    }
}

fn from_vault(home: &Path, name: &str) -> Result<String, Refusal> {
    if !is_name(name) {
        return Err((
            format!("{} is no name of a secret", mask::value(name)),
            "Names have letters, digits, dashes, underscores and dots; the value stands in vault/NAME."
                .to_owned(),
        ));
    }
    read(&home.join("vault").join(name), true)
}

/// Whether it can name a file of the vault. A token written here by mistake has a colon or is longer than
/// any name.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

/// Reads a secret's file. `private`: nobody but its owner may be able to read it.
fn read(path: &Path, private: bool) -> Result<String, Refusal> {
    let shown = mask::value(&path.display().to_string());
    let fail = |why: &str, mend: String| (format!("the secret's file {shown} {why}"), mend);
    let write_it = || format!("Write the secret into {shown}, in one line, with mode 0600.");
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => fail("does not exist", write_it()),
        _ => fail(&format!("cannot be read: {error}"), "Make it readable for Atlas.".to_owned()),
    })?;
    if !metadata.is_file() {
        return Err(fail("is no file", write_it()));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if private && mode & 0o077 != 0 {
        return Err(fail(
            &format!("can be read by others (mode {mode:04o})"),
            format!("Close it: chmod 600 {}", shown.trim_matches('`')),
        ));
    }
    if metadata.len() > LARGEST {
        return Err(fail("is too large to hold one secret", write_it()));
    }
    let mut text = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_string(&mut text))
        .map_err(|error| fail(&format!("cannot be read: {error}"), write_it()))?;
    clean(&text, &format!("the secret's file {shown}"))
}

/// The one secret that `text` holds, as somebody typed or piped it: without what surrounds it. `whose` is
/// what the error calls it: "the variable `TOKEN`".
///
/// # Errors
///
/// There is none, or more than one, or characters that no secret has. The text is not in the error.
pub fn one_secret(text: &str, whose: &str) -> Result<SecretString, HomeError> {
    clean(text, whose).map(Into::into).map_err(|(what, mend)| HomeError { what, mend })
}

/// The secret without the newline that editors and `echo` end it with.
fn clean(text: &str, whose: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err((format!("{whose} is empty"), "Put the secret there.".to_owned()));
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || !c.is_ascii()) {
        return Err((
            format!("{whose} holds more than one secret, or characters that no secret has"),
            "Put the secret there alone, in one line, without spaces.".to_owned(),
        ));
    }
    Ok(text.to_owned())
}
