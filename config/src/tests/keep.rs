//! Taking an account in: what people wrote stays, and both files are written, or neither.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::Home;
use super::secrets::vault;
use crate::{AccountPlatform, EXAMPLE, KeepError, Kept, NewAccount, keep_account, one_secret};

const TOKEN: &str = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
const OTHER: &str = "987654321:BBHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";

fn new(name: &str, token: &str) -> NewAccount {
    NewAccount {
        name: name.to_owned(),
        platform: AccountPlatform::Telegram,
        bot: "atlas".into(),
        api_base: None,
        token: token.to_owned().into(),
    }
}

fn home(text: &str) -> Home {
    let home = Home::new(text);
    fs::create_dir(home.path("vault")).unwrap();
    home
}

fn keep(home: &Home, new: &NewAccount) -> Result<Kept, KeepError> {
    keep_account(&home.source(), new)
}

fn kept(home: &Home, new: &NewAccount) -> Kept {
    keep(home, new).unwrap_or_else(|error| panic!("{error:?}"))
}

fn file(home: &Home, path: &str) -> String {
    fs::read_to_string(home.path(path)).unwrap()
}

/// The token that the configuration has for an account.
fn token(home: &Home, name: &str) -> String {
    home.config().accounts[&name.into()].token.expose_secret().to_owned()
}

#[test]
fn an_account_stands_at_the_end_and_its_token_in_the_vault_alone() {
    let home = home(EXAMPLE);
    let kept = kept(&home, &new("tg", TOKEN));
    assert_eq!(kept.secret, "vault/telegram");
    assert_eq!(
        file(&home, "atlas.toml"),
        format!(
            "{EXAMPLE}\n[accounts.tg]\nplatform = \"telegram\"\ntoken = \"secret:telegram\"\nbot = \"atlas\"\n"
        )
    );
    assert_eq!(file(&home, "vault/telegram"), format!("{TOKEN}\n"));
    let mode = fs::metadata(home.path("vault/telegram")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(token(&home, "tg"), TOKEN);
}

#[test]
fn what_a_person_wrote_is_changed_in_its_token_alone() {
    for (before, after) in [
        ("\"env:OLD\"   # mine", "\"secret:telegram\"   # mine"),
        ("'env:OLD'", "\"secret:telegram\""),
        ("\"secret:mine\"", "\"secret:mine\""),
    ] {
        let text = |token: &str| {
            format!(
                "\u{feff}# above é\r\n[accounts.tg] # here\r\n  platform = 'telegram'\r\n\ttoken={token}\r\n\r\n# below"
            )
        };
        let home = home(&text(before)).set("OLD", OTHER);
        super::secrets::vault_of(&home, "mine", OTHER, 0o600);
        let kept = kept(&home, &new("tg", TOKEN));
        assert_eq!(file(&home, "atlas.toml"), text(after));
        assert_eq!(token(&home, "tg"), TOKEN);
        assert_eq!(file(&home, &kept.secret), format!("{TOKEN}\n"));
    }
}

#[test]
fn twice_the_same_changes_nothing() {
    let home = home("timezone = \"UTC\"");
    kept(&home, &new("tg", TOKEN));
    let once = file(&home, "atlas.toml");
    kept(&home, &new("tg", TOKEN));
    assert_eq!(file(&home, "atlas.toml"), once);
    assert_eq!(fs::read_dir(home.path("vault")).unwrap().count(), 1);
}

#[test]
fn a_second_bot_of_a_platform_gets_a_secret_of_its_own() {
    let home = home("");
    kept(&home, &new("tg", TOKEN));
    assert_eq!(kept(&home, &new("second", OTHER)).secret, "vault/telegram-2");
    assert_eq!((token(&home, "tg"), token(&home, "second")), (TOKEN.to_owned(), OTHER.to_owned()));
}

#[test]
fn a_section_follows_accounts_that_are_written_with_dots() {
    let dotted = "accounts.tg.platform = \"telegram\"\naccounts.tg.token = \"secret:telegram\"\n";
    let home = home(dotted);
    vault(&home, TOKEN, 0o600);
    kept(&home, &new("second", OTHER));
    assert_eq!((token(&home, "tg"), token(&home, "second")), (TOKEN.to_owned(), OTHER.to_owned()));
}

#[test]
fn what_cannot_be_taken_in_leaves_both_files_as_they_were() {
    let linked = "accounts = { tg = { platform = \"telegram\", token = \"secret:telegram\" } }\n";
    let plain = "[accounts.tg]\nplatform = \"telegram\"\ntoken = \"secret:telegram\"\n";
    for (text, name, says) in [
        (linked, "second", "Write it there yourself: [accounts.second], platform"),
        (plain, "a name", "cannot be a name"),
        // The same bot under two names.
        (plain, "second", "have the same token"),
        ("[accounts.tg\n", "tg", "not TOML"),
    ] {
        let home = home(text);
        vault(&home, TOKEN, 0o600);
        let error = keep(&home, &new(name, TOKEN)).unwrap_err();
        let said = match &error {
            KeepError::Home(error) => error.to_string(),
            KeepError::Config(errors) => errors.to_string(),
        };
        assert!(said.contains(says) && !said.contains("AAHdq"), "{said}");
        assert_eq!(file(&home, "atlas.toml"), text);
        assert_eq!(file(&home, "vault/telegram"), TOKEN);
        assert_eq!(fs::read_dir(home.path("vault")).unwrap().count(), 1);
    }
}

#[test]
fn a_variable_that_goes_before_the_file_is_told() {
    let text = "[accounts.tg]\nplatform = \"telegram\"\ntoken = \"secret:telegram\"\n";
    let home = home(text).set("ATLAS__ACCOUNTS__TG__TOKEN", OTHER);
    vault(&home, OTHER, 0o600);
    let KeepError::Home(error) = keep(&home, &new("tg", TOKEN)).unwrap_err() else {
        panic!("another error")
    };
    assert!(error.what.contains("a variable ATLAS__ACCOUNTS__"), "{error}");
    assert_eq!(file(&home, "vault/telegram"), OTHER);
}

#[test]
fn a_configuration_that_is_a_link_stays_one_and_keeps_its_mode() {
    let home = home("");
    let elsewhere = tempfile::TempDir::new().unwrap();
    let real = elsewhere.path().join("dotfile.toml");
    fs::write(&real, "# mine\n").unwrap();
    fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(home.path("atlas.toml")).unwrap();
    std::os::unix::fs::symlink(&real, home.path("atlas.toml")).unwrap();
    kept(&home, &new("tg", TOKEN));
    assert!(fs::symlink_metadata(home.path("atlas.toml")).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().starts_with("# mine\n\n[accounts.tg]"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn one_secret_is_found_in_what_was_typed_and_shown_in_no_error() {
    assert_eq!(one_secret(" a.b \r\n", "it").unwrap().expose_secret(), "a.b");
    for text in ["", " \n", "hunter2 hunter3", "hünter2"] {
        let error = one_secret(text, "what was typed").unwrap_err().to_string();
        assert!(error.starts_with("what was typed ") && !error.contains("nter"), "{error}");
    }
}

proptest! {
    #[test]
    fn whatever_comments_stand_in_the_file_they_stay(
        lines in prop::collection::vec("(#[ -~é]{0,20}|[ \t]*|timezone = \"UTC\" # .{0,5})", 0..6),
        ends in prop::bool::ANY,
    ) {
        let text = lines.join("\n") + if ends { "\n" } else { "" };
        let home = home(&text);
        prop_assume!(home.load().is_ok());
        kept(&home, &new("tg", TOKEN));
        let after = file(&home, "atlas.toml");
        prop_assert!(after.starts_with(&text) && after.contains("[accounts.tg]"));
        prop_assert_eq!(token(&home, "tg"), TOKEN);
    }
}
