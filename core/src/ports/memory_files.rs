//! Memory's files on a disk. The port is mechanism alone; what may be written is decided by the
//! [`MemoryWriter`](crate::memory::MemoryWriter), the only caller that writes.

use async_trait::async_trait;
use thiserror::Error;

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// There is no such file.
    Missing,
    /// Its text, byte for byte.
    Text(String),
}

/// What tells a change of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Bytes.
    pub size: u64,
    /// The file's number on its file system.
    pub inode: u64,
}

/// What stood in the place of a file that was put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Nothing, as expected.
    New,
    /// This text was displaced. It may not be what was read: then somebody else wrote meanwhile.
    Displaced(String),
    /// Expected nothing, but a file has appeared; nothing was changed.
    Appeared,
    /// Expected a file, but there is none any more; nothing was changed.
    Vanished,
}

/// Why a file could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// It is there and cannot be read: another program holds it, no permission, not UTF-8. It is
    /// never written over.
    #[error("{path} exists but cannot be read right now: {why}")]
    Unreadable {
        /// The path in the home.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// The disk is full, the folder cannot be written. Nothing was changed.
    #[error("{path} cannot be written: {why}")]
    Unwritable {
        /// The path in the home.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// A path that leaves the home, or is no path of a memory file.
    #[error("{0} is not a path of this home's memory")]
    BadPath(String),
}

/// What a person can do about a file that is there and cannot be read, by the reason that was given.
#[must_use]
pub fn mend_unreadable(why: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["symbolic link", "no plain file", "no folder"]) {
        "put a plain file in its place"
    } else if says(&["ermission denied"]) {
        "give the user that runs Atlas the right to read it"
    } else if says(&["larger than"]) {
        "shorten the file"
    } else {
        "close the other program, or save the file as UTF-8"
    }
}

/// Holds the lock `<file>.lock` until dropped. Lock files are never deleted.
pub trait LockGuard: Send {}

/// Memory's files. Paths are relative to the home, with `/`.
#[async_trait]
pub trait MemoryFiles: Send + Sync + 'static {
    /// Reads a file whole.
    ///
    /// # Errors
    ///
    /// [`FileError::Unreadable`] for a file that is there and cannot be read as UTF-8 text.
    async fn read(&self, path: &str) -> Result<FileState, FileError>;

    /// A file's stat, None where there is none.
    ///
    /// # Errors
    ///
    /// [`FileError`] where the path cannot be looked at.
    async fn stat(&self, path: &str) -> Result<Option<Stat>, FileError>;

    /// Waits for the file's lock, which holds against every other process of the home too.
    ///
    /// # Errors
    ///
    /// [`FileError::Unwritable`] where the lock file cannot be made.
    async fn lock(&self, path: &str) -> Result<Box<dyn LockGuard>, FileError>;

    /// Writes `text` to a new file beside `path`, named by `token`, and syncs it.
    ///
    /// # Errors
    ///
    /// [`FileError::Unwritable`]; nothing of the temporary file is left then.
    async fn prepare(&self, path: &str, token: &str, text: &str) -> Result<(), FileError>;

    /// Puts the prepared file in place: an exchange where the file exists, without replacing where
    /// `expect_missing`. The displaced file stays under the prepared name until [`Self::discard`].
    ///
    /// # Errors
    ///
    /// [`FileError`]; nothing was changed then.
    async fn place(
        &self,
        path: &str,
        token: &str,
        expect_missing: bool,
    ) -> Result<Placed, FileError>;

    /// What stands under the prepared name: the new text before the exchange, the displaced one
    /// after. [`FileState::Missing`] where nothing is left.
    ///
    /// # Errors
    ///
    /// [`FileError::Unreadable`].
    async fn left_over(&self, path: &str, token: &str) -> Result<FileState, FileError>;

    /// Removes what stands under the prepared name, if anything does, and syncs the folder.
    ///
    /// # Errors
    ///
    /// [`FileError::Unwritable`].
    async fn discard(&self, path: &str, token: &str) -> Result<(), FileError>;

    /// Keeps a copy beside the file as `<file>.bak.<stamp>`, once per content.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    async fn back_up(&self, path: &str, text: &str, stamp: &str) -> Result<String, FileError>;
}
