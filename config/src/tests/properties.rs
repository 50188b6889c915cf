//! Whatever stands in the files, the answer is a configuration or errors that can be found.

use proptest::prelude::*;

use super::Home;
use crate::{Place, load};

/// Every error is in a line that exists, in one line of what and one of how to mend it.
fn errors_can_be_found(home: &Home, file: &str, text: &str) -> Result<(), TestCaseError> {
    let Err(errors) = load(&home.source()) else { return Ok(()) };
    prop_assert!(!errors.as_slice().is_empty());
    for error in &errors {
        prop_assert_eq!(error.to_string().lines().count(), 2, "{}", error);
        if let Place::File { file: of, line, column, width, .. } = &error.place {
            prop_assert_eq!(of, file);
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let shown = text.split('\n').nth(line - 1).unwrap_or_default();
            prop_assert!(*line <= text.lines().count().max(1), "line {} of {:?}", line, text);
            prop_assert!(
                *column + *width <= shown.chars().count() + 2,
                "{:?} in {:?}",
                error.place,
                shown
            );
        }
        // The mark stands in the frame, whatever was masked.
        prop_assert!(!error.render().is_empty());
    }
    let lines: Vec<usize> = errors.into_iter().filter_map(|error| error.place.line()).collect();
    prop_assert!(lines.is_sorted());
    Ok(())
}

/// Lines that are nearly right.
fn lines() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        Just("[owner]"),
        Just("[models.a]"),
        Just("[accounts.tg]"),
        Just("[[routes]]"),
        Just("[routes]"),
        Just("[models]"),
        Just("[conversations]"),
        Just("[memory]"),
        Just("[[routines]]"),
        Just("[limits]"),
        Just("[accounts.\"é x\"]"),
        Just("[a.b.c]"),
    ];
    let key = prop_oneof![
        Just("timezone"),
        Just("telegram"),
        Just("provider"),
        Just("model"),
        Just("api_key"),
        Just("token"),
        Just("bot"),
        Just("allow"),
        Just("account"),
        Just("chat"),
        Just("patience"),
        Just("notice"),
        Just("window"),
        Just("models.b.provider"),
        Just("routes"),
        Just("\"é\""),
    ];
    let value = prop_oneof![
        Just("\"x\""),
        Just("5"),
        Just("-1"),
        Just("true"),
        Just("1.5"),
        Just("[1, \"é\", true]"),
        Just("{ a = 1, token = \"x\" }"),
        Just("[{ chat = 1 }, { bot = 2 }]"),
        Just("1979-05-27"),
        Just("\"\"\"\nmany\nlines\"\"\""),
        Just("\"env:X\""),
        Just("["),
        Just(""),
        Just("inf"),
        Just("99999999999999999999"),
    ];
    let line = prop_oneof![
        3 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => head.prop_map(str::to_owned),
        1 => "[^\n]{0,12}",
    ];
    (prop::collection::vec(line, 0..8), prop_oneof![Just("\n"), Just("\r\n")], any::<bool>())
        .prop_map(|(lines, end, last)| lines.join(end) + if last { end } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_as_the_file_is_answered_in_a_line_of_it(text in any::<String>()) {
        errors_can_be_found(&Home::new(&text), "atlas.toml", &text)?;
    }

    #[test]
    fn any_nearly_right_file_is_answered_in_a_line_of_it(text in lines()) {
        errors_can_be_found(&Home::new(&text), "atlas.toml", &text)?;
    }

    #[test]
    fn any_front_matter_is_answered_in_a_line_of_it(text in "(---\n)?((name|model|x|tools)?: ?[^\n]{0,9}\r?\n|[^\n]{0,9}\n){0,5}(---\n)?.{0,9}") {
        let home = Home::new("").with("bots/seo/BOT.md", &text);
        errors_can_be_found(&home, "bots/seo/BOT.md", &text)?;
    }

    #[test]
    fn any_bytes_as_the_files_are_answered(file in any::<Vec<u8>>(), bot in any::<Vec<u8>>()) {
        let home = Home::new("");
        home.write("atlas.toml", file);
        home.write("bots/seo/BOT.md", bot);
        if let Err(errors) = home.load() {
            prop_assert!(!errors.render().is_empty());
        }
    }

    #[test]
    fn any_variable_is_answered(name in "ATLAS__[A-Z_]{0,24}", value in "[^\0]{0,16}") {
        if let Err(errors) = Home::new("").set(&name, &value).load() {
            let place = Place::Variable(name);
            prop_assert!(errors.into_iter().all(|error| error.place == place), "{errors}");
        }
    }
}

#[test]
fn deep_nesting_and_great_length_are_answered() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let tables = format!("[{}a]\n", "a.".repeat(50_000));
    let ids = format!("[owner]\ntelegram = [{}\"@\"]\n", "5,".repeat(2_000));
    let sections: String = (0..1_000).map(|n| format!("[models.m{n}]\nprovder = 1\n")).collect();
    for text in [deep, tables, ids, sections] {
        let home = Home::new(&text);
        errors_can_be_found(&home, "atlas.toml", &text).unwrap();
        assert!(home.load().is_err());
    }
}
