//! Putting a prepared file in its place, so that a reader sees the old text or the new one, and a
//! save by somebody else in between is displaced and never lost.

use atlas_core::ports::{FileError, FileState, Placed};
use rustix::fs::{self, AtFlags, RenameFlags};
use rustix::io::Errno;

use super::Place;
use super::folder::{Folder, reason};

/// Puts the prepared file where there is none.
pub(super) fn new(folder: &Folder, place: &Place, token: &str) -> Result<Placed, FileError> {
    let prepared = place.prepared(token);
    let flags = RenameFlags::NOREPLACE;
    match fs::renameat_with(&folder.fd, &prepared, &folder.fd, place.name.as_str(), flags) {
        Ok(()) => Ok(Placed::New),
        Err(Errno::EXIST) => Ok(Placed::Appeared),
        Err(why) if is_unknown(why) => new_by_link(folder, place, &prepared),
        Err(why) => Err(refused(place, why)),
    }
}

/// Exchanges the prepared file with the one in place.
pub(super) fn exchange(folder: &Folder, place: &Place, token: &str) -> Result<Placed, FileError> {
    let prepared = place.prepared(token);
    match folder.is_plain(&place.name) {
        Ok(true) => {}
        Ok(false) => return Err(place.unreadable("it is no plain file")),
        Err(Errno::NOENT) => return Ok(Placed::Vanished),
        Err(why) => return Err(refused(place, why)),
    }
    match swap(folder, place, &prepared) {
        Ok(()) => look(folder, place, &prepared),
        Err(Errno::NOENT) if folder.exists(&prepared).unwrap_or(false) => Ok(Placed::Vanished),
        Err(why) if is_unknown(why) => replace(folder, place, token),
        Err(why) => Err(refused(place, why)),
    }
}

fn swap(folder: &Folder, place: &Place, prepared: &str) -> Result<(), Errno> {
    let flags = RenameFlags::EXCHANGE;
    fs::renameat_with(&folder.fd, prepared, &folder.fd, place.name.as_str(), flags)
}

/// Reads what was displaced. What is no text cannot be worked on: it gets its place back.
fn look(folder: &Folder, place: &Place, prepared: &str) -> Result<Placed, FileError> {
    match folder.read(place, prepared) {
        Ok(FileState::Text(text)) => Ok(Placed::Displaced(text)),
        Ok(FileState::Missing) => Err(place.unreadable("what it displaced is gone")),
        Err(error) => {
            swap(folder, place, prepared).map_err(|why| refused(place, why))?;
            Err(error)
        }
    }
}

/// Without an exchange: the present file is kept under a second name, compared once more, and
/// replaced. What is saved between the comparison and the rename is lost; no such file system can
/// do better.
pub(super) fn replace(folder: &Folder, place: &Place, token: &str) -> Result<Placed, FileError> {
    let (prepared, displaced) = (place.prepared(token), place.displaced(token));
    let FileState::Text(text) = folder.read(place, &place.name)? else {
        return Ok(Placed::Vanished);
    };
    keep(folder, place, &displaced, &text)?;
    match folder.read(place, &place.name)? {
        FileState::Text(again) if again == text => {}
        FileState::Text(_) => {
            folder.remove(&displaced).map_err(|why| place.unwritable(&why))?;
            return replace(folder, place, token);
        }
        FileState::Missing => return Ok(Placed::Vanished),
    }
    let rename = |from: &str, to: &str| fs::renameat(&folder.fd, from, &folder.fd, to);
    rename(&prepared, &place.name).map_err(|why| refused(place, why))?;
    rename(&displaced, &prepared).map_err(|why| refused(place, why))?;
    Ok(Placed::Displaced(text))
}

/// Ends a [`replace`] that was cut short between its renames.
pub(super) fn take_up(folder: &Folder, place: &Place, token: &str) -> Result<(), FileError> {
    let (prepared, displaced) = (place.prepared(token), place.displaced(token));
    if folder.exists(&prepared).map_err(|why| refused(place, why))? {
        return Ok(());
    }
    match fs::renameat(&folder.fd, &displaced, &folder.fd, &prepared) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(why) => Err(refused(place, why)),
    }
}

/// A second name for the present file, or a copy where files have but one name.
fn keep(folder: &Folder, place: &Place, displaced: &str, text: &str) -> Result<(), FileError> {
    folder.remove(displaced).map_err(|why| place.unwritable(&why))?;
    let link = fs::linkat(&folder.fd, place.name.as_str(), &folder.fd, displaced, AtFlags::empty());
    match link {
        Ok(()) => Ok(()),
        Err(_) => {
            folder.write_new(displaced, &place.name, text).map_err(|why| place.unwritable(&why))
        }
    }
}

/// Without `RENAME_NOREPLACE`: a link refuses to replace just as well, where there are links.
pub(super) fn new_by_link(
    folder: &Folder,
    place: &Place,
    prepared: &str,
) -> Result<Placed, FileError> {
    let flags = AtFlags::empty();
    match fs::linkat(&folder.fd, prepared, &folder.fd, place.name.as_str(), flags) {
        Ok(()) => {
            folder.remove(prepared).map_err(|why| place.unwritable(&why))?;
            Ok(Placed::New)
        }
        Err(Errno::EXIST) => Ok(Placed::Appeared),
        Err(_) if folder.exists(&place.name).map_err(|why| refused(place, why))? => {
            Ok(Placed::Appeared)
        }
        Err(_) => {
            fs::renameat(&folder.fd, prepared, &folder.fd, place.name.as_str())
                .map_err(|why| refused(place, why))?;
            Ok(Placed::New)
        }
    }
}

/// How a file system says that it knows no such rename.
fn is_unknown(why: Errno) -> bool {
    matches!(why, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn refused(place: &Place, why: Errno) -> FileError {
    FileError::Unwritable { path: place.path.clone(), why: reason(why) }
}

#[cfg(test)]
mod tests;
