//! Whether one value fits its key, whichever file or variable it comes from, and what to say if
//! not. What a value refers to is checked elsewhere.

use config::ValueKind;

use crate::schema::Kind;
use crate::{duration, mask, nearest, rate};

/// A value as it was written.
#[derive(Clone, Debug)]
pub(crate) enum Written<'a> {
    Text(&'a str),
    Whole(i64),
    Switch(bool),
    /// Anything that no key takes, by its name in front of people: "a date".
    Other(&'static str),
}

impl Written<'_> {
    /// Its kind as a noun.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Whole(_) => "a number",
            Self::Switch(_) => "true or false",
            Self::Other(kind) => kind,
        }
    }
}

/// Why a value does not fit: what is wrong, and how to mend it.
pub(crate) type Refusal = (String, String);

/// The value for the layers, if it fits.
pub(crate) fn fit(key: &str, kind: Kind, written: &Written<'_>) -> Result<ValueKind, Refusal> {
    match (kind, written) {
        (Kind::Switch, Written::Switch(on)) => Ok((*on).into()),
        (Kind::Tokens, Written::Whole(tokens)) => match u32::try_from(*tokens) {
            Ok(tokens) if tokens > 0 => Ok(tokens.into()),
            _ => Err((
                format!("`{key}` is a number of tokens from 1 to {}, not {tokens}", u32::MAX),
                write(key, kind),
            )),
        },
        (Kind::Id, Written::Whole(id)) => Ok(id.to_string().into()),
        (Kind::Switch | Kind::Tokens, _) | (_, Written::Switch(_) | Written::Other(_)) => {
            Err(wrong_kind(key, kind, written))
        }
        (_, Written::Whole(_)) => Err(wrong_kind(key, kind, written)),
        (_, Written::Text(text)) => fit_text(key, kind, text.trim()),
    }
}

fn fit_text(key: &str, kind: Kind, text: &str) -> Result<ValueKind, Refusal> {
    if text.is_empty() {
        return Err((
            format!("`{key}` is empty"),
            format!("Write a value, or take the line out: `{key} = {}`.", example(kind)),
        ));
    }
    match kind {
        Kind::Duration => duration(key, text)?,
        Kind::Rate => rate(key, text)?,
        Kind::Zone => zone(key, text)?,
        Kind::Address => address(key, text)?,
        Kind::OneOf(words, later) => one_of(key, text, words, later)?,
        _ => {}
    }
    Ok(text.into())
}

fn wrong_kind(key: &str, kind: Kind, written: &Written<'_>) -> Refusal {
    (format!("`{key}` takes {}, not {}", takes(kind), written.kind()), write(key, kind))
}

/// How to write a value that fits.
pub(crate) fn write(key: &str, kind: Kind) -> String {
    format!("Write for example `{key} = {}`.", example(kind))
}

/// What a kind takes, as a noun.
pub(crate) fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Address | Kind::Secret => "text in quotes",
        Kind::Tokens => "a whole number without quotes",
        Kind::Switch => "true or false, without quotes",
        Kind::Duration => "a duration in quotes",
        Kind::Rate => "a number and its time in quotes",
        Kind::Zone => "the name of a time zone in quotes",
        Kind::OneOf(..) => "a word in quotes",
        Kind::Id => "an id",
        Kind::Ids => "a list of ids in square brackets",
        Kind::Names => "a list of names in square brackets",
        Kind::Section(_) | Kind::Named(_) => "a section",
        Kind::Rows(_) => "a section in double brackets",
        Kind::Later => "nothing in this version",
    }
}

/// A value that fits, as it is written in the file.
fn example(kind: Kind) -> String {
    match kind {
        Kind::OneOf(words, _) => format!("\"{}\"", words.first().copied().unwrap_or_default()),
        Kind::Text => "\"atlas\"".to_owned(),
        Kind::Address => "\"http://127.0.0.1:11434/v1\"".to_owned(),
        Kind::Secret => "\"env:NAME\"".to_owned(),
        Kind::Tokens => "64000".to_owned(),
        Kind::Switch => "true".to_owned(),
        Kind::Duration => "\"15m\"".to_owned(),
        Kind::Rate => "\"20/h\"".to_owned(),
        Kind::Zone => "\"America/Sao_Paulo\"".to_owned(),
        Kind::Id => "\"123456789\"".to_owned(),
        Kind::Ids => "[\"123456789\"]".to_owned(),
        Kind::Names => "[\"local\"]".to_owned(),
        Kind::Section(_) | Kind::Named(_) | Kind::Rows(_) | Kind::Later => "…".to_owned(),
    }
}

fn duration(key: &str, text: &str) -> Result<(), Refusal> {
    if duration::parse_duration(text).is_some() {
        return Ok(());
    }
    Err((
        format!("`{key}` is no duration: {}", mask::value(text)),
        "Write whole numbers with their unit, s, m, h or d, up to a year: \"90s\", \"15m\", \"1h30m\"."
            .to_owned(),
    ))
}

fn rate(key: &str, text: &str) -> Result<(), Refusal> {
    if rate::parse_rate(text).is_some() {
        return Ok(());
    }
    Err((
        format!("`{key}` is no number of messages in a time: {}", mask::value(text)),
        "Write a whole number from 1, a slash and m, h, d or a duration: \"20/h\", \"100/d\", \"10/5m\"."
            .to_owned(),
    ))
}

fn zone(key: &str, text: &str) -> Result<(), Refusal> {
    if text.parse::<chrono_tz::Tz>().is_ok() {
        return Ok(());
    }
    let zones = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
    let near = match nearest::nearest(text, zones) {
        Some(near) => format!("The nearest is \"{near}\"."),
        None => {
            "Write the region and the city: \"America/Sao_Paulo\", \"Europe/Berlin\", or \"UTC\"."
                .to_owned()
        }
    };
    Err((format!("`{key}` is no time zone: {}", mask::value(text)), near))
}

fn address(key: &str, text: &str) -> Result<(), Refusal> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = host.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        // Not quoted: what stands before the @ is a password.
        Some(host) if host.contains('@') => Err((
            format!("`{key}` holds a name or password before its host"),
            "Addresses are shown in logs. Take out what stands before the @.".to_owned(),
        )),
        Some(host) if !host.is_empty() && !text.contains(char::is_whitespace) => Ok(()),
        _ => Err((
            format!("`{key}` is no address: {}", mask::value(text)),
            "Begin with http:// or https:// and a host: \"http://127.0.0.1:11434/v1\".".to_owned(),
        )),
    }
}

fn one_of(key: &str, text: &str, words: &[&str], later: &[&str]) -> Result<(), Refusal> {
    if words.contains(&text) {
        return Ok(());
    }
    let known = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    if later.contains(&text) {
        return Err((
            format!("this version of Atlas does not know {key} \"{text}\" yet"),
            format!("It knows: {known}."),
        ));
    }
    let near = match nearest::nearest(text, words.iter().chain(later).copied()) {
        Some(near) if later.contains(&near) => {
            format!("The nearest is \"{near}\", which this version of Atlas does not know yet. ")
        }
        Some(near) => format!("The nearest is \"{near}\". "),
        None => String::new(),
    };
    // People write the name of their server, which is none of the dialects.
    let dialect = if key == "provider" && near.is_empty() {
        " \"openai\" is any server that speaks chat completions; its address goes into `base_url`."
    } else {
        ""
    };
    let what = format!("unknown {key} {}", mask::value(text));
    Err((what, format!("{near}It knows: {known}.{dialect}")))
}
