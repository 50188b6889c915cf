//! How the files of a configuration stand on the disk: enough to see that one changed, without
//! reading any.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that a configuration is made of, each as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Print(BTreeMap<PathBuf, Stand>);

/// What changes when a file is written: identity, length, and when.
type Stand = (u64, u64, i64, i64);

impl Print {
    /// The home's `atlas.toml`, the bots' folders with their `BOT.md`, and the vault.
    pub(crate) fn of(home: &Path) -> Self {
        let mut files = BTreeMap::new();
        note(&mut files, home.join(atlas_config::FILE));
        for folder in entries(&home.join("bots")) {
            note(&mut files, folder.join("BOT.md"));
            files.insert(folder, Stand::default());
        }
        for secret in entries(&home.join("vault")) {
            note(&mut files, secret);
        }
        Self(files)
    }

    /// Whether there is an `atlas.toml`.
    pub(crate) fn has_file(&self) -> bool {
        self.0.keys().any(|file| file.file_name().is_some_and(|name| name == atlas_config::FILE))
    }
}

fn note(files: &mut BTreeMap<PathBuf, Stand>, file: PathBuf) {
    if let Ok(found) = fs::metadata(&file) {
        files.insert(file, (found.ino(), found.len(), found.mtime(), found.mtime_nsec()));
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_changes_the_print_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = home.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let mut prints = vec![Print::of(home.path())];
        assert!(!prints[0].has_file());
        for (file, text) in [
            ("atlas.toml", "a"),
            ("atlas.toml", "ab"),
            ("bots/seo/BOT.md", "a"),
            ("bots/seo/BOT.md", "ab"),
            ("vault/telegram", "a"),
        ] {
            write(file, text);
            let print = Print::of(home.path());
            assert!(!prints.contains(&print), "{file} {text}");
            assert!(print.has_file());
            prints.push(print);
        }
        for file in ["memory/USER.md", "bots/seo/MEMORY.md", "SOUL.md", "atlas.db"] {
            write(file, "a");
        }
        assert_eq!(Some(&Print::of(home.path())), prints.last());
    }
}
