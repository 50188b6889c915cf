//! Where each key of the configuration was written, by its path. The layers keep values only; an
//! error needs the line.

use std::collections::BTreeMap;

use crate::place::Place;
use crate::wrong_key::is_name;

/// The place of a key and of its value.
#[derive(Clone, Debug)]
struct Entry {
    key: Place,
    value: Place,
}

/// The places of all keys that were written, the wrong ones among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(BTreeMap<Vec<String>, Entry>);

impl Places {
    /// Notes where something stands. A later layer stands over an earlier one.
    pub(crate) fn note(&mut self, path: &[String], key: Place, value: Place) {
        self.0.insert(path.to_vec(), Entry { key, value });
    }

    /// Lays the places of a later layer over these.
    pub(crate) fn lay_over(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Whether it was written at all, rightly or wrongly.
    pub(crate) fn written(&self, path: &[impl AsRef<str>]) -> bool {
        self.entry(path).is_some()
    }

    /// Where its value stands; that of what it is in where it was not written.
    pub(crate) fn value(&self, path: &[&str]) -> Option<Place> {
        self.nearest(path).map(|entry| entry.value.clone())
    }

    /// Where its key stands; that of what it is in where it was not written.
    pub(crate) fn key(&self, path: &[&str]) -> Option<Place> {
        self.nearest(path).map(|entry| entry.key.clone())
    }

    /// The names in a section, in the order they were written.
    pub(crate) fn names(&self, section: &str) -> Vec<String> {
        let mut names: Vec<(&Place, &String)> = self
            .0
            .iter()
            .filter_map(|(path, entry)| match path.as_slice() {
                [of, name] if of == section && is_name(name) => Some((&entry.key, name)),
                _ => None,
            })
            .collect();
        names.sort();
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }

    fn entry(&self, path: &[impl AsRef<str>]) -> Option<&Entry> {
        let path: Vec<String> = path.iter().map(|part| part.as_ref().to_owned()).collect();
        self.0.get(&path)
    }

    fn nearest(&self, path: &[&str]) -> Option<&Entry> {
        (1..=path.len()).rev().find_map(|length| self.entry(&path[..length]))
    }
}
