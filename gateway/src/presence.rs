//! Which processes of this home are alive, told by lock files below `run/`.
//!
//! A process lives as long as it holds the lock on `run/<id>.lock`; the system lets go of it
//! whatever way the process ends, so no clock is asked. What a dead one left behind is freed by the
//! sweep in `workers`, never here.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atlas_core::ids::HolderId;
use atlas_core::ports::Presence;
use uuid::Uuid;

/// This process among those of its home. Its lock is held until it is dropped.
#[derive(Debug)]
pub struct LockPresence {
    me: HolderId,
    folder: PathBuf,
    /// Held, never read.
    lock: File,
}

impl LockPresence {
    /// Enters the home as a new process; `kind` (`gateway`, `terminal`) is for people who look into
    /// `run/`.
    ///
    /// # Errors
    ///
    /// The lock file cannot be made: the folder is not ours, or the disk is full.
    pub fn enter(home: &Path, kind: &str) -> io::Result<Self> {
        let folder = home.join("run");
        fs::create_dir_all(&folder)?;
        let me = HolderId(format!("{kind}-{}", Uuid::now_v7()));
        let lock = lock_new(&lock_path(&folder, &me))?;
        Ok(Self { me, folder, lock })
    }

    /// Removes the lock files of dead processes that `named` does not hold. A missing file means
    /// dead as well, so this is tidiness alone.
    pub fn tidy(&self, named: &[HolderId]) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".lock"));
            let Some(id) = id.filter(|id| is_process(id)) else { continue };
            let id = HolderId::from(id);
            if id != self.me && !named.contains(&id) {
                remove_if_free(&path);
            }
        }
    }
}

impl Presence for LockPresence {
    fn me(&self) -> &HolderId {
        &self.me
    }

    fn alive(&self, holder: &HolderId) -> bool {
        if holder == &self.me {
            return true;
        }
        match File::open(lock_path(&self.folder, holder)) {
            // Shared, so that two who look at once do not take each other for the holder.
            Ok(file) => !matches!(file.try_lock_shared(), Ok(())),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

impl Drop for LockPresence {
    fn drop(&mut self) {
        // Still locked, so nobody can mistake a newcomer's file for this one.
        let _ = fs::remove_file(lock_path(&self.folder, &self.me));
        let _ = self.lock.unlock();
    }
}

fn lock_path(folder: &Path, id: &HolderId) -> PathBuf {
    // An id comes from the database and is one path segment, whatever stands there.
    let name = id.as_str().replace(['/', '\0'], "_");
    folder.join(format!("{name}.lock"))
}

/// Whether a file's name is a process's: a kind and a uuid. `gateway.lock` is none.
fn is_process(id: &str) -> bool {
    id.split_once('-').is_some_and(|(_, uuid)| Uuid::parse_str(uuid).is_ok())
}

/// Makes and locks a file. Somebody who tidies may remove it between the two: then once more.
fn lock_new(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        file.lock()?;
        let at_path = fs::metadata(path).map(|found| found.ino()).ok();
        if at_path == Some(file.metadata()?.ino()) {
            return Ok(file);
        }
    }
}

fn remove_if_free(path: &Path) {
    if let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
    {
        let _ = fs::remove_file(path);
    }
}

/// The lock that makes a gateway the only one of its home. The file is never removed.
#[derive(Debug)]
pub struct HomeLock {
    /// Held, never read.
    _lock: File,
}

/// Why a home could not be locked.
#[derive(Debug)]
pub enum HomeLockError {
    /// Another gateway runs this home; its process id, where it could be read.
    Taken(Option<u32>),
    /// The lock file cannot be made.
    Failed(io::Error),
}

impl HomeLock {
    /// Takes the home, or says who has it.
    ///
    /// # Errors
    ///
    /// See [`HomeLockError`].
    pub fn take(home: &Path) -> Result<Self, HomeLockError> {
        let mut lock = open_home_lock(home).map_err(HomeLockError::Failed)?;
        match try_hard(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(HomeLockError::Taken(read_pid(&mut lock))),
            Err(TryLockError::Error(error)) => return Err(HomeLockError::Failed(error)),
        }
        write_pid(&mut lock).map_err(HomeLockError::Failed)?;
        Ok(Self { _lock: lock })
    }

    /// The process id of the gateway that runs this home, if one does.
    #[must_use]
    pub fn holder(home: &Path) -> Option<u32> {
        let mut lock = File::open(home.join("run").join("gateway.lock")).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read_pid(&mut lock),
            _ => None,
        }
    }
}

/// `atlas check` holds the lock for an instant to look at it: that is nobody who has the home.
fn try_hard(lock: &File) -> Result<(), TryLockError> {
    for _ in 0..100 {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            tried => return tried,
        }
    }
    lock.try_lock()
}

fn open_home_lock(home: &Path) -> io::Result<File> {
    let folder = home.join("run");
    fs::create_dir_all(&folder)?;
    let mut options = OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false);
    options.open(folder.join("gateway.lock"))
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_as_long_as_it_holds_its_lock() {
        let home = tempfile::tempdir().unwrap();
        let one = LockPresence::enter(home.path(), "gateway").unwrap();
        let two = LockPresence::enter(home.path(), "terminal").unwrap();
        let id = two.me().clone();
        assert!(one.alive(one.me()) && one.alive(&id));
        drop(two);
        assert!(!one.alive(&id));
        assert!(one.alive(one.me()));
    }

    #[test]
    fn a_file_without_a_lock_is_a_dead_process() {
        let home = tempfile::tempdir().unwrap();
        let me = LockPresence::enter(home.path(), "gateway").unwrap();
        let dead = HolderId(format!("gateway-{}", Uuid::now_v7()));
        fs::write(lock_path(&home.path().join("run"), &dead), "").unwrap();
        assert!(!me.alive(&dead));
        assert!(!me.alive(&"never-seen".into()));
    }

    #[test]
    fn tidying_keeps_the_living_the_named_and_the_homes_own_lock() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("run");
        let me = LockPresence::enter(home.path(), "gateway").unwrap();
        let other = LockPresence::enter(home.path(), "terminal").unwrap();
        let _held = HomeLock::take(home.path()).unwrap();
        let named = HolderId(format!("gateway-{}", Uuid::now_v7()));
        let stale = HolderId(format!("gateway-{}", Uuid::now_v7()));
        for id in [&named, &stale] {
            fs::write(lock_path(&run, id), "").unwrap();
        }
        me.tidy(std::slice::from_ref(&named));
        let there = |id: &HolderId| lock_path(&run, id).exists();
        assert!(there(me.me()) && there(other.me()) && there(&named));
        assert!(!there(&stale));
        assert!(run.join("gateway.lock").exists());
    }

    #[test]
    fn the_second_gateway_is_told_who_has_the_home() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(HomeLock::holder(home.path()), None);
        let first = HomeLock::take(home.path()).unwrap();
        let second = HomeLock::take(home.path());
        assert!(
            matches!(second, Err(HomeLockError::Taken(Some(pid))) if pid == std::process::id())
        );
        assert_eq!(HomeLock::holder(home.path()), Some(std::process::id()));
        drop(first);
        assert_eq!(HomeLock::holder(home.path()), None);
        assert!(HomeLock::take(home.path()).is_ok());
    }

    #[test]
    fn an_id_never_leaves_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let me = LockPresence::enter(home.path(), "gateway").unwrap();
        fs::write(home.path().join("x.lock"), "").unwrap();
        assert!(!me.alive(&"../x".into()));
    }
}
