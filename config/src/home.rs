//! The home's folder: made at the first start, looked at on every other. What people wrote in it is
//! never written over.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

/// The folders that are there after a start. `memory` is the last: while it is missing, the home
/// has not been begun, whatever else is there already.
const FOLDERS: [&str; 7] = ["shared", "knowledge", "bots", "vault", "files", "run", "memory"];

/// The commented example, which is also what a new home's `atlas.toml` says.
pub const EXAMPLE: &str = include_str!("../atlas.example.toml");

/// What was made of a home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HomeReport {
    /// It was not a home before.
    pub first_start: bool,
    /// The folders and files that were made, by their paths below the home, in order.
    pub made: Vec<String>,
    /// What is not wrong but should be known.
    pub warnings: Vec<String>,
}

/// A home that cannot be used: one line of what, one of how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeError {
    /// What is wrong, in one line.
    pub what: String,
    /// How to mend it, in one line.
    pub mend: String,
}

impl fmt::Display for HomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  {}", self.what, self.mend)
    }
}

impl std::error::Error for HomeError {}

/// Makes what is missing of the home: its folders (0700), at the first start `SOUL.md` with
/// `default_soul`, and `atlas.toml` with [`EXAMPLE`], all of it commented out. Nothing that exists
/// is changed. Two processes may do it at once.
///
/// # Errors
///
/// The folder cannot be made, read or written: it is a file, belongs to somebody else, lies on a
/// read-only or a full disk.
pub fn prepare_home(home: &Path, default_soul: &str) -> Result<HomeReport, HomeError> {
    let mut report = HomeReport::default();
    folder(home, home, &mut report)?;
    let entries = fs::read_dir(home).map_err(|error| refused(home, home, &error))?;
    drop(entries);
    writable(home)?;
    report.first_start = !home.join("memory").exists();
    if report.first_start {
        file(home, "SOUL.md", default_soul, &mut report)?;
    }
    file(home, crate::FILE, EXAMPLE, &mut report)?;
    for name in FOLDERS {
        folder(home, &home.join(name), &mut report)?;
    }
    let vault = fs::metadata(home.join("vault"))
        .map_err(|error| refused(home, &home.join("vault"), &error))?;
    let mode = vault.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        report.warnings.push(format!(
            "the vault is open to others (mode {mode:04o}). Close it: chmod 700 {}",
            home.join("vault").display()
        ));
    }
    Ok(report)
}

fn folder(home: &Path, path: &Path, report: &mut HomeReport) -> Result<(), HomeError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => return Err(in_the_way(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(refused(home, path, &error)),
    }
    // Recursive for the home itself, and no error where another process was faster.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| refused(home, path, &error))?;
    report.made.push(below(home, path));
    Ok(())
}

/// Writes a file that does not exist, whole or not at all.
fn file(home: &Path, name: &str, text: &str, report: &mut HomeReport) -> Result<(), HomeError> {
    let path = home.join(name);
    // A link to nothing is something that somebody put there.
    if fs::symlink_metadata(&path).is_ok() {
        return Ok(());
    }
    let write = || -> io::Result<bool> {
        let mut new = NamedTempFile::new_in(home)?;
        new.write_all(text.as_bytes())?;
        new.as_file().sync_all()?;
        match new.persist_noclobber(&path) {
            Ok(_) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(error.error),
        }
        fs::File::open(home)?.sync_all()?;
        Ok(true)
    };
    if write().map_err(|error| refused(home, &path, &error))? {
        report.made.push(name.to_owned());
    }
    Ok(())
}

/// Finds out now, and not at the first message, that nothing can be written.
fn writable(home: &Path) -> Result<(), HomeError> {
    NamedTempFile::new_in(home).map(drop).map_err(|error| refused(home, home, &error))
}

fn in_the_way(path: &Path) -> HomeError {
    HomeError {
        what: format!("{} is a file; Atlas needs a folder there", path.display()),
        mend: "Move the file away, or choose another home with --home or ATLAS_HOME.".to_owned(),
    }
}

/// What the operating system's refusal means to the person who must mend it.
pub(crate) fn refused(home: &Path, path: &Path, error: &io::Error) -> HomeError {
    let shown = path.display();
    let elsewhere = "or choose another home with --home or ATLAS_HOME";
    let (what, mend) = match error.kind() {
        ErrorKind::PermissionDenied => (
            format!("{shown} cannot be used: permission denied{}", belongs(path)),
            format!(
                "Start Atlas as the user it belongs to, or give it to yours (chown -R \"$(id -u)\" {0}; chmod -R u+rwX {0}), {elsewhere}.",
                home.display()
            ),
        ),
        ErrorKind::ReadOnlyFilesystem => (
            format!("{shown} cannot be written: its file system is read-only"),
            format!("Mount it writable, {elsewhere}."),
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => (
            format!("{shown} cannot be written: no space is left"),
            format!("Make room on the disk, {elsewhere}."),
        ),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            let file = path.ancestors().find(|above| above.is_file()).unwrap_or(path);
            return in_the_way(file);
        }
        _ => (format!("{shown} cannot be used: {error}"), format!("Mend that, {elsewhere}.")),
    };
    HomeError { what, mend }
}

/// Whose it is, of the nearest folder above that can be asked.
fn belongs(path: &Path) -> String {
    let owner =
        path.ancestors().find_map(|above| fs::metadata(above).ok().map(|m| (above, m.uid())));
    match owner {
        Some((above, uid)) => format!(" ({} belongs to user {uid})", above.display()),
        None => String::new(),
    }
}

fn below(home: &Path, path: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if !rest.as_os_str().is_empty() => rest.display().to_string(),
        _ => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_told_with_whose_it_is_and_the_cure() {
        let home = tempfile::TempDir::new().unwrap();
        let (path, uid) = (home.path(), fs::metadata(home.path()).unwrap().uid());
        let shown = path.display();
        let told = |kind| refused(path, &path.join("memory"), &io::Error::from(kind)).to_string();
        assert_eq!(
            told(ErrorKind::PermissionDenied),
            format!(
                "{shown}/memory cannot be used: permission denied ({shown} belongs to user {uid})\n  Start \
                 Atlas as the user it belongs to, or give it to yours (chown -R \"$(id -u)\" {shown}; chmod -R u+rwX {shown}), or \
                 choose another home with --home or ATLAS_HOME."
            )
        );
        assert_eq!(
            told(ErrorKind::ReadOnlyFilesystem),
            format!(
                "{shown}/memory cannot be written: its file system is read-only\n  Mount it writable, or \
                 choose another home with --home or ATLAS_HOME."
            )
        );
        assert_eq!(
            told(ErrorKind::StorageFull),
            format!(
                "{shown}/memory cannot be written: no space is left\n  Make room on the disk, or choose \
                 another home with --home or ATLAS_HOME."
            )
        );
    }
}
