//! Making a home, and saying why one cannot be used.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::Home;
use crate::{EXAMPLE, prepare_home};

const SOUL: &str = "You are Atlas.\n";

fn mode(path: impl AsRef<std::path::Path>) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_first_start_makes_a_home_that_is_closed_to_others() {
    let above = TempDir::new().unwrap();
    let home = above.path().join("homes/new");
    let report = prepare_home(&home, SOUL).unwrap();
    assert!(report.first_start);
    assert_eq!(
        report.made[1..],
        ["SOUL.md", "atlas.toml", "shared", "knowledge", "bots", "vault", "files", "run", "memory"]
    );
    for name in ["", "shared", "knowledge", "bots", "vault", "files", "run", "memory"] {
        assert_eq!(mode(home.join(name)), 0o700, "{name}");
    }
    assert_eq!((mode(home.join("SOUL.md")), mode(home.join("atlas.toml"))), (0o600, 0o600));
    assert_eq!(fs::read_to_string(home.join("SOUL.md")).unwrap(), SOUL);
    assert_eq!(fs::read_to_string(home.join("atlas.toml")).unwrap(), EXAMPLE);
    // Nothing is left of how it was written.
    assert_eq!(fs::read_dir(&home).unwrap().count(), 9);
}

#[test]
fn what_the_program_writes_it_accepts() {
    // Case 87: start, stop, start.
    let home = Home::new("");
    fs::remove_file(home.path("atlas.toml")).unwrap();
    for start in 0..3 {
        let report = prepare_home(home.folder.path(), SOUL).unwrap();
        assert_eq!(report.first_start, start == 0);
        assert_eq!(report.made.is_empty(), start > 0, "{report:?}");
        assert_eq!(report.warnings, Vec::<String>::new());
        assert_eq!(home.config().warnings, Vec::<String>::new());
    }
}

#[test]
fn nothing_that_exists_is_written_over() {
    let home =
        Home::new("timezone = \"UTC\"\n").with("SOUL.md", "Mine.").with("bots/seo/BOT.md", "x");
    prepare_home(home.folder.path(), SOUL).unwrap();
    assert_eq!(fs::read_to_string(home.path("SOUL.md")).unwrap(), "Mine.");
    assert_eq!(fs::read_to_string(home.path("atlas.toml")).unwrap(), "timezone = \"UTC\"\n");
    assert_eq!(fs::read_to_string(home.path("bots/seo/BOT.md")).unwrap(), "x");
}

#[test]
fn a_soul_that_was_taken_away_stays_away() {
    let home = Home::new("");
    prepare_home(home.folder.path(), SOUL).unwrap();
    fs::remove_file(home.path("SOUL.md")).unwrap();
    prepare_home(home.folder.path(), SOUL).unwrap();
    assert!(!home.path("SOUL.md").exists());
}

#[test]
fn a_vault_that_is_open_is_warned_of() {
    let home = Home::new("").with("vault/x", "");
    fs::set_permissions(home.path("vault"), Permissions::from_mode(0o755)).unwrap();
    let report = prepare_home(home.folder.path(), SOUL).unwrap();
    let vault = home.path("vault").display().to_string();
    assert_eq!(
        report.warnings,
        [format!("the vault is open to others (mode 0755). Close it: chmod 700 {vault}")]
    );
}

#[test]
fn a_file_in_a_folders_place_is_named_with_the_cure() {
    let home = Home::new("");
    let file = home.path("atlas.toml").display().to_string();
    let error = format!(
        "{file} is a file; Atlas needs a folder there\n  Move the file away, or choose another home with \
         --home or ATLAS_HOME."
    );
    assert_eq!(prepare_home(&home.path("atlas.toml"), SOUL).unwrap_err().to_string(), error);
    assert_eq!(
        prepare_home(&home.path("atlas.toml/below/it"), SOUL).unwrap_err().to_string(),
        error
    );
    home.write("memory", "");
    let error = prepare_home(home.folder.path(), SOUL).unwrap_err().to_string();
    assert!(error.contains("memory is a file; Atlas needs a folder there"), "{error}");
}

#[test]
fn a_folder_that_refuses_is_told_with_its_reason() {
    // Refuses everybody, the superuser among them.
    let error = prepare_home("/proc/atlas-home".as_ref(), SOUL).unwrap_err();
    assert!(error.what.starts_with("/proc/atlas-home cannot be used: "), "{error}");
    assert!(error.mend.ends_with("or choose another home with --home or ATLAS_HOME."), "{error}");
}
