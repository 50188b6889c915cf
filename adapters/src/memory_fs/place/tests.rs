//! File systems without an exchange are rare on a developer's machine, so their way is walked here.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;

struct Home {
    root: TempDir,
    place: Place,
}

fn home() -> Home {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("memory")).unwrap();
    Home { root, place: Place::of("memory/USER.md").unwrap() }
}

impl Home {
    fn folder(&self) -> Folder {
        Folder::make(self.root.path(), &self.place).unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new(self.root.path()).join("memory").join(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn save(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }
}

const PREPARED: &str = ".USER.md.t.tmp";
const DISPLACED: &str = ".USER.md.t.old";

#[test]
fn without_an_exchange_the_displaced_text_is_kept_too() {
    let home = home();
    home.save("USER.md", "old\n");
    home.save(PREPARED, "new\n");
    let placed = replace(&home.folder(), &home.place, "t").unwrap();
    assert_eq!(placed, Placed::Displaced("old\n".into()));
    assert_eq!(home.text("USER.md").as_deref(), Some("new\n"));
    assert_eq!(home.text(PREPARED).as_deref(), Some("old\n"));
    assert_eq!(home.text(DISPLACED), None);
}

#[test]
fn without_an_exchange_a_missing_file_is_told() {
    let home = home();
    home.save(PREPARED, "new\n");
    assert_eq!(replace(&home.folder(), &home.place, "t").unwrap(), Placed::Vanished);
    assert_eq!(home.text(PREPARED).as_deref(), Some("new\n"));
}

#[test]
fn a_replacement_cut_short_between_its_renames_keeps_the_displaced_text() {
    let home = home();
    home.save("USER.md", "new\n");
    home.save(DISPLACED, "old\n");
    take_up(&home.folder(), &home.place, "t").unwrap();
    assert_eq!(home.text(PREPARED).as_deref(), Some("old\n"));
    assert_eq!(home.text(DISPLACED), None);
}

#[test]
fn a_replacement_cut_short_before_its_rename_is_begun_again() {
    let home = home();
    home.save("USER.md", "old\n");
    home.save(PREPARED, "new\n");
    home.save(DISPLACED, "an older try\n");
    take_up(&home.folder(), &home.place, "t").unwrap();
    assert_eq!(home.text(PREPARED).as_deref(), Some("new\n"));
    replace(&home.folder(), &home.place, "t").unwrap();
    assert_eq!(home.text("USER.md").as_deref(), Some("new\n"));
    assert_eq!(home.text(PREPARED).as_deref(), Some("old\n"));
}

#[test]
fn a_link_replaces_nothing_that_appeared() {
    let home = home();
    home.save(PREPARED, "new\n");
    assert_eq!(new_by_link(&home.folder(), &home.place, PREPARED).unwrap(), Placed::New);
    assert_eq!(home.text("USER.md").as_deref(), Some("new\n"));
    assert_eq!(home.text(PREPARED), None);
    home.save(PREPARED, "newer\n");
    assert_eq!(new_by_link(&home.folder(), &home.place, PREPARED).unwrap(), Placed::Appeared);
    assert_eq!(home.text("USER.md").as_deref(), Some("new\n"));
}
