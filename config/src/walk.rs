//! The walk over `atlas.toml`: every key against the table of keys, every value against its kind,
//! with line and column. What a value refers to, and what is missing, is checked once all layers
//! are there.

use std::ops::Range;

use config::{Map, Value, ValueKind};
use toml_edit::{Document, Item, TableLike, TomlError};

use crate::error::Error;
use crate::place::{Place, Text};
use crate::places::Places;
use crate::schema::{self, Key, Kind};
use crate::value::{self, Written};
use crate::wrong_key;

/// What was found in one source.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What is right, for the layers.
    pub(crate) values: Map<String, Value>,
    /// Where each key stands.
    pub(crate) places: Places,
    /// What is wrong.
    pub(crate) errors: Vec<Error>,
}

/// Reads the file's text. A text that is no TOML is one error: nothing after it can be trusted.
pub(crate) fn walk(text: &Text<'_>) -> Result<Found, Error> {
    let document = Document::parse(text.text).map_err(|error| syntax(text, &error))?;
    let mut walk = Walk { text, places: Places::default(), errors: Vec::new() };
    let values = walk.table(&mut Vec::new(), schema::ROOT, document.as_table());
    Ok(Found { values, places: walk.places, errors: walk.errors })
}

fn syntax(text: &Text<'_>, error: &TomlError) -> Error {
    let place = text.place(error.span());
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    if message.starts_with("duplicate key") {
        return Error::new(place, "this key is written twice", "Keep one of the two lines.");
    }
    let bare_text = ["invalid boolean", "string values must be quoted"];
    if bare_text.iter().any(|start| message.starts_with(start)) {
        return Error::new(
            place,
            "this value is neither text nor a number, true or false",
            "Text stands in quotes: `key = \"text\"`.",
        );
    }
    Error::new(
        place,
        format!("this is not TOML: {message}"),
        "A line is `key = \"text\"`, `key = 5`, `key = true`, `key = [\"a\", \"b\"]`, or a section: `[accounts.tg]`.",
    )
}

struct Walk<'a> {
    text: &'a Text<'a>,
    places: Places,
    errors: Vec<Error>,
}

impl Walk<'_> {
    fn table(
        &mut self,
        path: &mut Vec<String>,
        keys: &[Key],
        table: &dyn TableLike,
    ) -> Map<String, Value> {
        let mut values = Map::new();
        for (name, item) in table.iter() {
            let place = self.key_place(table, name, item);
            match schema::find(keys, name) {
                None => self.errors.push(wrong_key::unknown(place, path, keys, name)),
                Some(Key { kind: Kind::Later, .. }) => {
                    self.errors.push(wrong_key::later(place, path, name))
                }
                Some(key) => {
                    path.push(name.to_owned());
                    if let Some(value) = self.item(path, key, item, place) {
                        values.insert(name.to_owned(), value);
                    }
                    path.pop();
                }
            }
        }
        values
    }

    fn item(&mut self, path: &mut Vec<String>, key: Key, item: &Item, at: Place) -> Option<Value> {
        let value_place = item.span().map_or_else(|| at.clone(), |span| self.place(Some(span)));
        self.places.note(path, at.clone(), value_place.clone());
        match key.kind {
            Kind::Section(keys) => {
                let Some(table) = item.as_table_like() else {
                    return self.no_section(&key, item, at);
                };
                Some(self.table(path, keys, table).into())
            }
            Kind::Named(keys) => {
                let Some(table) = item.as_table_like() else {
                    return self.no_section(&key, item, at);
                };
                Some(self.named(path, key, keys, table).into())
            }
            Kind::Rows(keys) => self.rows(path, key, keys, item, at),
            Kind::Ids => self.list(path, key, (Kind::Id, "ids"), item, value_place),
            Kind::Names => self.list(path, key, (Kind::Text, "names"), item, value_place),
            kind => {
                let fits = value::fit(key.name, kind, &written(item));
                self.fits(fits, value_place).map(|kind| Value::new(None, kind))
            }
        }
    }

    fn named(
        &mut self,
        path: &mut Vec<String>,
        section: Key,
        keys: &[Key],
        table: &dyn TableLike,
    ) -> Map<String, Value> {
        let mut values = Map::new();
        for (name, item) in table.iter() {
            let place = self.key_place(table, name, item);
            path.push(name.to_owned());
            self.places.note(path, place.clone(), place.clone());
            match item.as_table_like() {
                // A key of the section itself, its name forgotten: `[models]` and `provider = …`.
                None => {
                    self.no_section(&section, item, place);
                }
                Some(_) if !wrong_key::is_name(name) => {
                    self.errors.push(wrong_key::bad_name(place, section.name, name))
                }
                Some(inner) => {
                    let inner = self.table(path, keys, inner);
                    values.insert(name.to_owned(), inner.into());
                }
            }
            path.pop();
        }
        values
    }

    fn rows(
        &mut self,
        path: &mut Vec<String>,
        section: Key,
        keys: &[Key],
        item: &Item,
        at: Place,
    ) -> Option<Value> {
        let rows: Vec<(&dyn TableLike, Option<Range<usize>>)> = match item {
            Item::ArrayOfTables(tables) => {
                tables.iter().map(|table| (table as &dyn TableLike, table.span())).collect()
            }
            Item::Value(toml_edit::Value::Array(array)) => {
                let tables: Option<Vec<_>> = array
                    .iter()
                    .map(|row| row.as_inline_table().map(|t| (t as &dyn TableLike, t.span())))
                    .collect();
                match tables {
                    Some(tables) => tables,
                    None => return self.no_section(&section, item, at),
                }
            }
            _ => return self.no_section(&section, item, at),
        };
        let mut values = Vec::new();
        for (n, (table, span)) in rows.into_iter().enumerate() {
            let place = if span.is_some() { self.place(span) } else { at.clone() };
            path.push(n.to_string());
            self.places.note(path, place.clone(), place);
            values.push(Value::from(self.table(path, keys, table)));
            path.pop();
        }
        Some(values.into())
    }

    /// A list of elements of one kind, and the noun for them.
    fn list(
        &mut self,
        path: &mut Vec<String>,
        key: Key,
        (kind, noun): (Kind, &str),
        item: &Item,
        at: Place,
    ) -> Option<Value> {
        let Some(array) = item.as_array() else {
            let refusal = value::fit(key.name, key.kind, &Written::Other(name_of(item)));
            self.fits(refusal, at);
            return None;
        };
        let mut list = Vec::new();
        for (n, element) in array.iter().enumerate() {
            let place =
                if element.span().is_some() { self.place(element.span()) } else { at.clone() };
            path.push(n.to_string());
            self.places.note(path, place.clone(), place.clone());
            path.pop();
            let fits = value::fit(key.name, kind, &written_value(element)).map_err(|(_, _)| {
                let what =
                    format!("`{}` takes {noun}, not {}", key.name, written_value(element).kind());
                (what, value::write(key.name, key.kind))
            });
            // A list with a hole is no list: the wrong element is an error of its own.
            list.push(Value::new(None, self.fits(fits, place).unwrap_or(ValueKind::Nil)));
        }
        Some(list.into())
    }

    fn no_section(&mut self, section: &Key, item: &Item, at: Place) -> Option<Value> {
        let header = schema::header(section);
        self.errors.push(Error::new(
            at,
            format!(
                "`{}` takes {}, not {}",
                section.name,
                value::takes(section.kind),
                name_of(item)
            ),
            format!(
                "Open it as {header} and write its keys below: {}.",
                schema::names(section.kind.keys())
            ),
        ));
        None
    }

    fn fits(&mut self, fits: Result<ValueKind, value::Refusal>, place: Place) -> Option<ValueKind> {
        match fits {
            Ok(value) => Some(value),
            Err((what, mend)) => {
                self.errors.push(Error::new(place, what, mend));
                None
            }
        }
    }

    fn key_place(&self, table: &dyn TableLike, name: &str, item: &Item) -> Place {
        let key = table.get_key_value(name).and_then(|(key, _)| key.span());
        self.place(key.or_else(|| item.span()))
    }

    fn place(&self, span: Option<Range<usize>>) -> Place {
        self.text.place(span)
    }
}

fn written(item: &Item) -> Written<'_> {
    item.as_value().map_or(Written::Other(name_of(item)), written_value)
}

fn written_value(value: &toml_edit::Value) -> Written<'_> {
    match value {
        toml_edit::Value::String(text) => Written::Text(text.value()),
        toml_edit::Value::Integer(number) => Written::Whole(*number.value()),
        toml_edit::Value::Boolean(on) => Written::Switch(*on.value()),
        toml_edit::Value::Float(_) => Written::Other("a number with a point"),
        toml_edit::Value::Datetime(_) => Written::Other("a date"),
        toml_edit::Value::Array(_) => Written::Other("a list"),
        toml_edit::Value::InlineTable(_) => Written::Other("a section"),
    }
}

fn name_of(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) => "a section",
        Item::ArrayOfTables(_) => "a section in double brackets",
        Item::Value(toml_edit::Value::String(_)) => "text",
        Item::Value(toml_edit::Value::Integer(_)) => "a number",
        Item::Value(toml_edit::Value::Boolean(_)) => "true or false",
        Item::Value(toml_edit::Value::Float(_)) => "a number with a point",
        Item::Value(toml_edit::Value::Datetime(_)) => "a date",
        Item::Value(toml_edit::Value::Array(_)) => "a list",
        Item::Value(toml_edit::Value::InlineTable(_)) => "a section",
    }
}
