//! Where secrets come from, and that they go nowhere.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use secrecy::ExposeSecret;

use super::Home;

const TOKEN: &str = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";

fn home(token: &str) -> Home {
    Home::new(&format!("[accounts.tg]\nplatform = \"telegram\"\ntoken = \"{token}\"\n"))
}

pub(super) fn vault(home: &Home, text: &str, mode: u32) {
    vault_of(home, "telegram", text, mode);
}

pub(super) fn vault_of(home: &Home, name: &str, text: &str, mode: u32) {
    let file = format!("vault/{name}");
    home.write(&file, text);
    fs::set_permissions(home.path(&file), Permissions::from_mode(mode)).unwrap();
}

fn token(home: &Home) -> String {
    home.config().accounts[&"tg".into()].token.expose_secret().to_owned()
}

#[test]
fn a_secret_is_a_variable_a_file_of_the_vault_or_any_file() {
    assert_eq!(token(&home("env:T").set("T", TOKEN)), TOKEN);
    let in_vault = home("secret:telegram");
    vault(&in_vault, &format!("{TOKEN}\n"), 0o600);
    assert_eq!(token(&in_vault), TOKEN);
    let below = home("file:tokens/tg");
    below.write("tokens/tg", format!("{TOKEN}\r\n"));
    assert_eq!(token(&below), TOKEN);
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), TOKEN).unwrap();
    assert_eq!(token(&home(&format!("file:{}", elsewhere.path().display()))), TOKEN);
}

#[test]
fn a_literal_secret_works_and_is_warned_of() {
    let home = home(TOKEN);
    assert_eq!(token(&home), TOKEN);
    assert_eq!(
        home.config().warnings,
        [
            "atlas.toml:3:9: `token` holds the secret itself. Whoever reads the file has it: move it to \
          vault/NAME and write \"secret:NAME\", or to a variable and write \"env:NAME\"."
        ]
    );
}

#[test]
fn a_secret_that_is_not_there_is_named_with_its_line() {
    for (token, error) in [
        (
            "env:TELEGRAM_TOKEN",
            "the environment variable `TELEGRAM_TOKEN` is not set\n  Set it where Atlas is started, or \
             keep the value in the home's vault and write \"secret:NAME\".",
        ),
        ("env:EMPTY", "the environment variable `EMPTY` is empty\n  Put the secret there."),
        ("env:", "env: names no variable\n  Write \"env:NAME\"."),
        (
            "secret:telegram",
            "the secret's file `~/vault/telegram` does not exist\n  Write the secret into \
             `~/vault/telegram`, in one line, with mode 0600.",
        ),
        (
            "secret:../atlas.toml",
            "`../atlas.toml` is no name of a secret\n  Names have letters, digits, dashes, underscores \
             and dots; the value stands in vault/NAME.",
        ),
        (
            "file:.",
            "the secret's file `~/.` is no file\n  Write the secret into `~/.`, in one line, with mode 0600.",
        ),
        (
            "file:two",
            "the secret's file `~/two` holds more than one secret, or characters that no secret has\n  \
             Put the secret there alone, in one line, without spaces.",
        ),
        (
            "file:large",
            "the secret's file `~/large` is too large to hold one secret\n  Write the secret into \
             `~/large`, in one line, with mode 0600.",
        ),
        (
            "${TELEGRAM_TOKEN}",
            "variables are not written with a dollar sign here\n  Write \"env:TELEGRAM_TOKEN\".",
        ),
    ] {
        let home = home(token).set("EMPTY", "\n");
        home.write("two", "a\nb\n");
        home.write("large", "a".repeat(20_000));
        // The folder's own name may look like a token: only what stands behind it is compared.
        assert_eq!(home.errors(), [format!("atlas.toml:3:9: `token`: {error}")]);
    }
}

#[test]
fn a_secret_that_others_can_read_is_refused_with_the_cure() {
    for mode in [0o644, 0o640, 0o604] {
        let home = home("secret:telegram");
        vault(&home, TOKEN, mode);
        assert_eq!(
            home.errors(),
            [format!(
                "atlas.toml:3:9: `token`: the secret's file `~/vault/telegram` can be read by others \
                 (mode {mode:04o})\n  Close it: chmod 600 ~/vault/telegram"
            )]
        );
    }
}

#[test]
fn no_error_no_warning_and_no_debug_output_holds_a_secret() {
    // A token pasted into every place where one could land.
    for text in [
        format!("[accounts.tg]\nplatform = \"telegram\"\ntoken = \"{TOKEN}\n"),
        format!("[accounts.tg]\nplatform = \"telegram\"\ntokn = \"{TOKEN}\"\n"),
        format!(
            "[accounts.tg]\nplatform = \"{TOKEN}\"\ntoken = \"env:{TOKEN}\"\nbot = \"{TOKEN}\"\n"
        ),
        format!("[accounts.tg]\nplatform = \"telegram\"\ntoken = \"secret:{TOKEN}\"\n"),
        format!("[accounts.tg]\nplatform = \"telegram\"\ntoken = \"file:{TOKEN}\"\n"),
        format!("[accounts.tg]\nplatform = \"telegram\"\ntoken = \"${TOKEN}\"\n"),
        format!("[accounts.tg]\nplatform = \"telegram\"\ntoken = [\"{TOKEN}\"]\n"),
        format!("[accounts.\"{TOKEN}\"]\nplatform = \"telegram\"\ntoken = \"1:a\"\n"),
        format!("timezone = \"{TOKEN}\"\n\"{TOKEN}\" = 1\n[owner]\ntelegram = [\"{TOKEN}\"]\n"),
        format!(
            "[conversations]\npatience = \"{TOKEN}\"\n[models.a]\nprovider = \"openai\"\nbase_url = \"{TOKEN}\"\n"
        ),
        format!("[[routes]]\naccount = \"{TOKEN}\"\nchat = \"{TOKEN}\"\nbot = \"{TOKEN}\"\n"),
    ] {
        let home = Home::new(&text)
            .set("ATLAS__TIMEZONE", TOKEN)
            .set(&format!("ATLAS__{TOKEN}"), "1")
            .with("bots/seo/BOT.md", &format!("---\nmodel: {TOKEN}\n{TOKEN}: 1\n{TOKEN}\n---\nx"));
        let errors = home.load().unwrap_err();
        let shown = format!("{errors}\n{errors:?}\n{}", errors.render());
        // The environment's key is lower-cased on its way.
        assert!(!shown.to_lowercase().contains("aahdqtcv"), "{text}\n{shown}");
    }
    let home = home(TOKEN).set("OPENAI_API_KEY", TOKEN);
    let shown = format!("{:?} {:?}", home.config(), home.source());
    assert!(!shown.contains("AAHdq"), "{shown}");
}
