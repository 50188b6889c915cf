//! What to say of a key that does not belong where it stands, in a file or in a variable.

use crate::error::Error;
use crate::place::Place;
use crate::schema::{self, Key, Kind};
use crate::{mask, nearest};

/// Whether it can name an account or a model: letters, digits, dashes and underscores, at most 32.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The error of a section whose name is none.
pub(crate) fn bad_name(place: Place, section: &str, name: &str) -> Error {
    Error::new(
        place,
        format!("{} cannot be a name in [{}]", mask::value(name), section),
        "Names have 1 to 32 letters, digits, dashes and underscores.",
    )
}

/// The error of a key that is in no table of keys.
pub(crate) fn unknown(place: Place, path: &[String], keys: &[Key], name: &str) -> Error {
    let what = format!("unknown key {}{}", mask::value(name), within(path));
    let known = schema::names(keys);
    let elsewhere = schema::belongs(name);
    let near = nearest::nearest(name, keys.iter().map(|key| key.name))
        .and_then(|near| schema::find(keys, near));
    // A letter too few is likelier than a key in the wrong section.
    let slip = near.is_some_and(|near| strsim::damerau_levenshtein(near.name, name) == 1);
    let hint = match (elsewhere.filter(|_| !slip), near) {
        (Some(section), _) => format!("`{name}` belongs in {section}."),
        (None, Some(Key { name, kind: Kind::Later })) => {
            format!("The nearest is `{name}`, which this version of Atlas does not know yet.")
        }
        (None, Some(Key { name, .. })) => format!("The nearest is `{name}`."),
        (None, None) => "Take it out.".to_owned(),
    };
    Error::new(place, what, format!("{hint} Known here: {known}."))
}

/// The error of a key that a later version brings.
pub(crate) fn later(place: Place, path: &[String], name: &str) -> Error {
    Error::new(
        place,
        format!("this version of Atlas does not know `{name}`{} yet", within(path)),
        "Take it out, or put a # before it, until a version that knows it.",
    )
}

fn within(path: &[String]) -> String {
    match path {
        [] => String::new(),
        [section, row] if row.bytes().all(|b| b.is_ascii_digit()) => format!(" in [[{section}]]"),
        path => format!(" in [{}]", path.join(".")),
    }
}
