//! A folder of the home, held by a handle, and what is done to the files in it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use atlas_core::ports::{FileError, FileState, Stat};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{LARGEST, Place, permissions_like};

/// An open folder.
pub(super) struct Folder {
    pub(super) fd: OwnedFd,
}

const OPEN: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// The folder of a file, None where it does not exist.
    pub(super) fn find(home: &Path, place: &Place) -> Result<Option<Self>, FileError> {
        match Self::walk(home, place, false) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT) => Ok(None),
            Err(why) => Err(place.unreadable(reason(why))),
        }
    }

    /// The folder of a file, made where it does not exist.
    pub(super) fn make(home: &Path, place: &Place) -> Result<Self, FileError> {
        Self::walk(home, place, true)
            .map_err(|why| FileError::Unwritable { path: place.path.clone(), why: reason(why) })
    }

    fn walk(home: &Path, place: &Place, make: bool) -> Result<Self, Errno> {
        // The home itself may be reached over links; nothing below it.
        let mut fd = fs::open(home, OPEN.difference(OFlags::NOFOLLOW), Mode::empty())?;
        for name in &place.folders {
            fd = match fs::openat(&fd, name.as_str(), OPEN, Mode::empty()) {
                Err(Errno::NOENT) if make => make_folder(&fd, name)?,
                other => other?,
            };
        }
        Ok(Self { fd })
    }

    /// Reads a file of this folder whole. `place` is whom an error names.
    pub(super) fn read(&self, place: &Place, name: &str) -> Result<FileState, FileError> {
        let Some(file) = self.open(name).map_err(|why| place.unreadable(reason(why)))? else {
            return Ok(FileState::Missing);
        };
        read_text(file).map(FileState::Text).map_err(|why| place.unreadable(why))
    }

    /// Opens a file for reading, None where there is none. A pipe does not make it wait.
    fn open(&self, name: &str) -> Result<Option<File>, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// What tells a change of a file without reading it.
    pub(super) fn stat(&self, place: &Place, name: &str) -> Result<Option<Stat>, FileError> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stat {
                mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000
                    + i128::from(stat.st_mtime_nsec),
                size: stat.st_size.try_into().unwrap_or_default(),
                inode: stat.st_ino,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(why) => Err(place.unreadable(reason(why))),
        }
    }

    pub(super) fn exists(&self, name: &str) -> Result<bool, Errno> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(why) => Err(why),
        }
    }

    /// Whether a name stands for a plain file: what is put in a link's place would cut the link.
    pub(super) fn is_plain(&self, name: &str) -> Result<bool, Errno> {
        let stat = fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Opens the lock file, made where there is none.
    pub(super) fn lock_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(fd))
    }

    /// Writes a file anew and syncs it, with the permissions of the file that it will replace.
    pub(super) fn write_new(&self, name: &str, replaces: &str, text: &str) -> io::Result<()> {
        self.remove(name)?;
        let old = self.open(replaces).ok().flatten();
        let mut file = self.create(name)?;
        file.set_permissions(permissions_like(old.as_ref())?)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(fd))
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// Makes what was done to names in this folder last.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.fd)?)
    }

    /// Keeps a text as `<file>.bak.<stamp>`, once per content. Answers with the copy's name.
    pub(super) fn back_up(&self, place: &Place, text: &str, stamp: &str) -> io::Result<String> {
        let prefix = format!("{}.bak.", place.name);
        let mut taken = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let Some(name) =
                entry.file_name().to_str().ok().filter(|name| name.starts_with(&prefix))
            else {
                continue;
            };
            if self.holds(name, text) {
                return Ok(name.to_owned());
            }
            taken.push(name.to_owned());
        }
        let mut name = format!("{prefix}{stamp}");
        for number in 2.. {
            if !taken.contains(&name) {
                break;
            }
            name = format!("{prefix}{stamp}-{number}");
        }
        self.write_new(&name, &place.name, text)?;
        self.sync()?;
        Ok(name)
    }

    fn holds(&self, name: &str, text: &str) -> bool {
        let file = self.open(name).ok().flatten();
        file.and_then(|file| read_text(file).ok()).is_some_and(|held| held == text)
    }
}

fn make_folder(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => fs::fsync(parent)?,
        // Somebody else made it at the same moment.
        Err(Errno::EXIST) => {}
        Err(why) => return Err(why),
    }
    fs::openat(parent, name, OPEN, Mode::empty())
}

fn read_text(file: File) -> Result<String, String> {
    let about = file.metadata().map_err(|why| why.to_string())?;
    if !about.is_file() {
        return Err("it is no plain file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 8 MiB".to_owned());
    }
    String::from_utf8(bytes)
        .map_err(|why| format!("it is not UTF-8 at byte {}", why.utf8_error().valid_up_to()))
}

/// The system's reason, in words where its own would mislead.
pub(super) fn reason(why: Errno) -> String {
    match why {
        Errno::LOOP => "it is a symbolic link, which could lead out of the home".to_owned(),
        Errno::NOTDIR => "a part of its path is no folder, or a symbolic link".to_owned(),
        other => io::Error::from(other).to_string(),
    }
}
