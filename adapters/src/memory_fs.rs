//! Memory files on a disk: locks, exchange, sync. Mechanism alone; what is written, and when, is
//! decided by core's `MemoryWriter`.
//!
//! Every step goes through a handle of the file's folder, opened below the home component by
//! component without following a symbolic link, so no path and no link leads out of the home.

mod folder;
mod place;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use atlas_core::ports::{FileError, FileState, LockGuard, MemoryFiles, Placed, Stat};

use folder::Folder;

/// What is larger is no memory file, whoever put it there.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The memory files of a home on this machine.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    home: PathBuf,
}

/// A held lock file. The system frees it with the handle, also when the process is killed.
struct Locked {
    _file: File,
}

impl LockGuard for Locked {}

/// A path of a memory file, taken apart.
#[derive(Clone, Debug)]
struct Place {
    path: String,
    folders: Vec<String>,
    name: String,
}

impl DiskFiles {
    /// The files of the home in this folder.
    #[must_use]
    pub fn new(home: PathBuf) -> Self {
        Self { home }
    }

    /// Runs one step on a thread that may wait for the disk.
    async fn step<T: Send + 'static>(
        &self,
        path: &str,
        step: impl FnOnce(&PathBuf, &Place) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, FileError> {
        let place = Place::of(path)?;
        let home = self.home.clone();
        let lost = FileError::Unwritable { path: path.to_owned(), why: "the task was lost".into() };
        tokio::task::spawn_blocking(move || step(&home, &place)).await.unwrap_or(Err(lost))
    }
}

#[async_trait]
impl MemoryFiles for DiskFiles {
    async fn read(&self, path: &str) -> Result<FileState, FileError> {
        self.step(path, |home, place| {
            let Some(folder) = Folder::find(home, place)? else { return Ok(FileState::Missing) };
            folder.read(place, &place.name)
        })
        .await
    }

    async fn stat(&self, path: &str) -> Result<Option<Stat>, FileError> {
        self.step(path, |home, place| {
            let Some(folder) = Folder::find(home, place)? else { return Ok(None) };
            folder.stat(place, &place.name)
        })
        .await
    }

    async fn lock(&self, path: &str) -> Result<Box<dyn LockGuard>, FileError> {
        self.step(path, |home, place| {
            let folder = Folder::make(home, place)?;
            let file = folder.lock_file(&place.lock()).map_err(|why| place.unwritable(&why))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    file.lock().map_err(|why| place.unwritable(&why))?;
                }
                Err(TryLockError::Error(why)) => return Err(place.unwritable(&why)),
            }
            Ok(Box::new(Locked { _file: file }) as Box<dyn LockGuard>)
        })
        .await
    }

    async fn prepare(&self, path: &str, token: &str, text: &str) -> Result<(), FileError> {
        let (token, text) = (token.to_owned(), text.to_owned());
        self.step(path, move |home, place| {
            let folder = Folder::make(home, place)?;
            let prepared = place.prepared(&token);
            folder.write_new(&prepared, &place.name, &text).map_err(|why| {
                // Half a file is worth nothing.
                let _gone = folder.remove(&prepared);
                place.unwritable(&why)
            })
        })
        .await
    }

    async fn place(
        &self,
        path: &str,
        token: &str,
        expect_missing: bool,
    ) -> Result<Placed, FileError> {
        let token = token.to_owned();
        self.step(path, move |home, place| {
            let folder = Folder::make(home, place)?;
            if expect_missing {
                place::new(&folder, place, &token)
            } else {
                place::exchange(&folder, place, &token)
            }
        })
        .await
    }

    async fn left_over(&self, path: &str, token: &str) -> Result<FileState, FileError> {
        let token = token.to_owned();
        self.step(path, move |home, place| {
            let Some(folder) = Folder::find(home, place)? else { return Ok(FileState::Missing) };
            place::take_up(&folder, place, &token)?;
            folder.read(place, &place.prepared(&token))
        })
        .await
    }

    async fn discard(&self, path: &str, token: &str) -> Result<(), FileError> {
        let token = token.to_owned();
        self.step(path, move |home, place| {
            let Some(folder) = Folder::find(home, place)? else { return Ok(()) };
            folder
                .remove(&place.prepared(&token))
                .and_then(|()| folder.remove(&place.displaced(&token)))
                .and_then(|()| folder.sync())
                .map_err(|why| place.unwritable(&why))
        })
        .await
    }

    async fn back_up(&self, path: &str, text: &str, stamp: &str) -> Result<String, FileError> {
        let (text, stamp) = (text.to_owned(), stamp.to_owned());
        self.step(path, move |home, place| {
            let folder = Folder::make(home, place)?;
            let name =
                folder.back_up(place, &text, &stamp).map_err(|why| place.unwritable(&why))?;
            Ok(place.beside(&name))
        })
        .await
    }
}

impl Place {
    /// A relative path of a Markdown file, with `/`, without anything that leads elsewhere.
    fn of(path: &str) -> Result<Self, FileError> {
        let bad = || FileError::BadPath(path.to_owned());
        let is_name = |part: &str| {
            !part.is_empty() && !matches!(part, "." | "..") && !part.contains(['\\', '\0', '\n'])
        };
        let mut folders: Vec<String> = path.split('/').map(str::to_owned).collect();
        let name = folders.pop().ok_or_else(bad)?;
        let plain = folders.iter().chain([&name]).all(|part| is_name(part));
        let stem = name.strip_suffix(".md").unwrap_or_default();
        if !plain || stem.is_empty() {
            return Err(bad());
        }
        Ok(Self { path: path.to_owned(), folders, name })
    }

    fn lock(&self) -> String {
        format!("{}.lock", self.name)
    }

    /// The new text before it is in place, and the displaced one after.
    fn prepared(&self, token: &str) -> String {
        format!(".{}.{token}.tmp", self.name)
    }

    /// The displaced text, for a moment, where the file system knows no exchange.
    fn displaced(&self, token: &str) -> String {
        format!(".{}.{token}.old", self.name)
    }

    /// The path of a file of this name in the same folder.
    fn beside(&self, name: &str) -> String {
        let mut path = self.folders.clone();
        path.push(name.to_owned());
        path.join("/")
    }

    fn unreadable(&self, why: impl std::fmt::Display) -> FileError {
        FileError::Unreadable { path: self.path.clone(), why: why.to_string() }
    }

    fn unwritable(&self, why: &io::Error) -> FileError {
        FileError::Unwritable { path: self.path.clone(), why: why.to_string() }
    }
}

/// The permissions of a file that a new one takes over; a first one is its owner's alone.
fn permissions_like(old: Option<&File>) -> io::Result<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    match old {
        Some(file) => Ok(fs::Permissions::from_mode(file.metadata()?.permissions().mode() & 0o777)),
        None => Ok(fs::Permissions::from_mode(0o600)),
    }
}
