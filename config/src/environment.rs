//! The layer of the environment: `ATLAS__SECTION__KEY`, held to the same table of keys as the file.

use std::collections::BTreeMap;

use config::{Map, Value, ValueKind};

use crate::error::Error;
use crate::mask;
use crate::place::Place;
use crate::places::Places;
use crate::schema::{self, Key, Kind};
use crate::value::{self, Written};
use crate::walk::Found;
use crate::wrong_key;

/// What every variable of this layer begins with.
const PREFIX: &str = "ATLAS__";

/// Reads the variables. An empty one counts as not set, as compose files write it. Names of accounts
/// and models that the file has (`file`) are found whatever their case, and dashes as underscores.
pub(crate) fn walk(env: &BTreeMap<String, String>, file: &Places) -> Found {
    let mut found = Found::default();
    for (name, text) in env.iter().filter(|(_, text)| !text.trim().is_empty()) {
        let Some(key) = name.strip_prefix(PREFIX) else { continue };
        let parts: Vec<String> = key.split("__").map(str::to_lowercase).collect();
        match resolve(name, &parts, text, file) {
            Ok((path, value)) => {
                let place = variable(name);
                found.places.note(&path, place.clone(), place.clone());
                // A section that the file opens stays where it is; one that it does not, is here.
                for length in 1..path.len() {
                    if !file.written(&path[..length]) {
                        found.places.note(&path[..length], place.clone(), place.clone());
                    }
                }
                insert(&mut found.values, &path, value);
            }
            Err(error) => found.errors.push(*error),
        }
    }
    found
}

fn resolve(
    name: &str,
    parts: &[String],
    text: &str,
    file: &Places,
) -> Result<(Vec<String>, Value), Box<Error>> {
    let place = || variable(name);
    let fail = |what: String, mend: &str| Box::new(Error::new(place(), what, mend));
    let mut keys = schema::ROOT;
    let mut path: Vec<String> = Vec::new();
    let mut parts = parts.iter();
    while let Some(part) = parts.next() {
        let key = match schema::find(keys, part) {
            None => return Err(Box::new(wrong_key::unknown(place(), &path, keys, part))),
            Some(Key { kind: Kind::Later, .. }) => {
                return Err(Box::new(wrong_key::later(place(), &path, part)));
            }
            Some(key) => key,
        };
        path.push(part.clone());
        match key.kind {
            Kind::Section(inner) => keys = inner,
            Kind::Named(inner) => {
                let Some(named) = parts.next() else { break };
                if !wrong_key::is_name(named) {
                    return Err(Box::new(wrong_key::bad_name(place(), part, named)));
                }
                path.push(known_name(file, part, named));
                keys = inner;
            }
            Kind::Rows(_) => {
                let what = format!("`{part}` cannot be set by a variable");
                return Err(fail(what, "Write it in atlas.toml."));
            }
            _ if parts.len() > 0 => {
                return Err(fail(
                    format!("nothing is below `{part}`"),
                    "Leave out what follows its name.",
                ));
            }
            kind => {
                let value = read(part, kind, text)
                    .map_err(|(what, mend)| Box::new(Error::new(place(), what, mend)))?;
                return Ok((path, Value::new(None, value)));
            }
        }
    }
    Err(fail(
        "this names a section and no key".to_owned(),
        &format!("Add two underscores and a key: {}.", schema::names(keys)),
    ))
}

fn variable(name: &str) -> Place {
    Place::Variable(mask::runs(name))
}

/// A variable holds text; its key says what it means.
fn read(key: &str, kind: Kind, text: &str) -> Result<ValueKind, value::Refusal> {
    let text = text.trim();
    match kind {
        Kind::Ids | Kind::Names => {
            let of = if matches!(kind, Kind::Ids) { Kind::Id } else { Kind::Text };
            let list = text.split(',').map(|element| {
                value::fit(key, of, &Written::Text(element)).map(|value| Value::new(None, value))
            });
            Ok(list.collect::<Result<Vec<_>, _>>()?.into())
        }
        Kind::Tokens => match text.parse() {
            Ok(number) => value::fit(key, kind, &Written::Whole(number)),
            Err(_) => Err((
                format!("`{key}` takes a whole number, not {}", mask::value(text)),
                "Write for example 64000.".to_owned(),
            )),
        },
        Kind::Switch => match text.parse() {
            Ok(on) => value::fit(key, kind, &Written::Switch(on)),
            Err(_) => Err((
                format!("`{key}` takes true or false, not {}", mask::value(text)),
                "Write true or false.".to_owned(),
            )),
        },
        kind => value::fit(key, kind, &Written::Text(text)),
    }
}

fn known_name(file: &Places, section: &str, name: &str) -> String {
    let even = |name: &str| name.to_lowercase().replace('-', "_");
    let known = file.names(section).into_iter().find(|known| even(known) == even(name));
    known.unwrap_or_else(|| name.to_owned())
}

fn insert(values: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            values.insert(key.clone(), value);
        }
        [section, rest @ ..] => {
            let section = values
                .entry(section.clone())
                .or_insert_with(|| Value::new(None, ValueKind::Table(Map::new())));
            if let ValueKind::Table(inner) = &mut section.kind {
                insert(inner, rest, value);
            }
        }
    }
}
