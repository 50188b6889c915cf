//! Memory's files without a disk, with what can happen on one: somebody saves in between, a file
//! cannot be read, the disk is full.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::OwnedMutexGuard;

use crate::ports::{FileError, FileState, LockGuard, MemoryFiles, Placed, Stat};

/// What somebody else does at the moment before a file is put in place: saves this, or deletes it.
type Between = VecDeque<(String, Option<String>)>;

#[derive(Debug, Default)]
struct Disk {
    files: BTreeMap<String, String>,
    unreadable: BTreeSet<String>,
    full: bool,
    between: Between,
    mtime_ns: i128,
}

/// Files in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct InMemoryFiles {
    disk: Arc<Mutex<Disk>>,
    locks: Arc<Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

struct Held {
    _guard: OwnedMutexGuard<()>,
}

impl LockGuard for Held {}

impl InMemoryFiles {
    /// An empty home.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this file, as a person would type it.
    #[must_use]
    pub fn with(self, path: &str, text: &str) -> Self {
        self.save(path, text);
        self
    }

    /// Saves a file, as a person would.
    pub fn save(&self, path: &str, text: &str) {
        self.disk().files.insert(path.to_owned(), text.to_owned());
    }

    /// Deletes a file, as a person would.
    pub fn delete(&self, path: &str) {
        self.disk().files.remove(path);
    }

    /// What a file holds.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        self.disk().files.get(path).cloned()
    }

    /// Every file's path, temporary ones among them.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.disk().files.keys().cloned().collect()
    }

    /// From now on another program holds this file.
    pub fn hold(&self, path: &str) {
        self.disk().unreadable.insert(path.to_owned());
    }

    /// From now on the disk is full, or no more.
    pub fn fill(&self, full: bool) {
        self.disk().full = full;
    }

    /// When every file was last saved, in nanoseconds since 1970.
    pub fn touch(&self, mtime_ns: i128) {
        self.disk().mtime_ns = mtime_ns;
    }

    /// At the next moment before a file is put in place, somebody saves this one (None: deletes it).
    /// Queued: one for each such moment.
    pub fn between(&self, path: &str, text: Option<&str>) {
        self.disk().between.push_back((path.to_owned(), text.map(str::to_owned)));
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the temporary file beside `path`.
#[must_use]
pub fn prepared(path: &str, token: &str) -> String {
    format!("{path}.{token}.tmp")
}

impl Disk {
    fn read(&self, path: &str) -> Result<FileState, FileError> {
        if self.unreadable.contains(path) {
            let why = "another program holds it".to_owned();
            return Err(FileError::Unreadable { path: path.to_owned(), why });
        }
        Ok(self.files.get(path).cloned().map_or(FileState::Missing, FileState::Text))
    }

    fn write(&mut self, path: &str, name: String, text: &str) -> Result<(), FileError> {
        if self.full {
            let why = "No space left on device".to_owned();
            return Err(FileError::Unwritable { path: path.to_owned(), why });
        }
        self.files.insert(name, text.to_owned());
        Ok(())
    }

    fn happen(&mut self) {
        if let Some((path, text)) = self.between.pop_front() {
            match text {
                Some(text) => self.files.insert(path, text),
                None => self.files.remove(&path),
            };
        }
    }
}

#[async_trait]
impl MemoryFiles for InMemoryFiles {
    async fn read(&self, path: &str) -> Result<FileState, FileError> {
        self.disk().read(path)
    }

    async fn stat(&self, path: &str) -> Result<Option<Stat>, FileError> {
        let disk = self.disk();
        let size = disk.files.get(path).map(|text| text.len() as u64);
        Ok(size.map(|size| Stat { mtime_ns: disk.mtime_ns, size, inode: 1 }))
    }

    async fn lock(&self, path: &str) -> Result<Box<dyn LockGuard>, FileError> {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(path.to_owned()).or_default())
        };
        Ok(Box::new(Held { _guard: lock.lock_owned().await }))
    }

    async fn prepare(&self, path: &str, token: &str, text: &str) -> Result<(), FileError> {
        self.disk().write(path, prepared(path, token), text)
    }

    async fn place(
        &self,
        path: &str,
        token: &str,
        expect_missing: bool,
    ) -> Result<Placed, FileError> {
        let mut disk = self.disk();
        disk.happen();
        let temporary = prepared(path, token);
        let present = disk.files.get(path).cloned();
        match (present, expect_missing) {
            (Some(_), true) => Ok(Placed::Appeared),
            (None, false) => Ok(Placed::Vanished),
            (None, true) => {
                let text = disk.files.remove(&temporary).unwrap_or_default();
                disk.files.insert(path.to_owned(), text);
                Ok(Placed::New)
            }
            (Some(old), false) => {
                let new = disk.files.insert(temporary, old.clone()).unwrap_or_default();
                disk.files.insert(path.to_owned(), new);
                Ok(Placed::Displaced(old))
            }
        }
    }

    async fn left_over(&self, path: &str, token: &str) -> Result<FileState, FileError> {
        self.disk().read(&prepared(path, token))
    }

    async fn discard(&self, path: &str, token: &str) -> Result<(), FileError> {
        self.disk().files.remove(&prepared(path, token));
        Ok(())
    }

    async fn back_up(&self, path: &str, text: &str, stamp: &str) -> Result<String, FileError> {
        let mut disk = self.disk();
        let prefix = format!("{path}.bak.");
        let copy = disk
            .files
            .iter()
            .find(|(name, held)| name.starts_with(&prefix) && *held == text)
            .map(|(name, _)| name.clone());
        if let Some(copy) = copy {
            return Ok(copy);
        }
        let name = format!("{prefix}{stamp}");
        disk.write(path, name.clone(), text)?;
        Ok(name)
    }
}
