//! The rules of a configuration, on real folders.

mod bots;
mod example;
mod file;
mod home;
mod keep;
mod layers;
mod properties;
mod secrets;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{Config, Errors, Source, load};

/// A home in a folder of its own, and the environment it is loaded in.
struct Home {
    folder: TempDir,
    env: BTreeMap<String, String>,
}

impl Home {
    fn new(text: &str) -> Self {
        let home = Self { folder: TempDir::new().unwrap(), env: BTreeMap::new() };
        home.write("atlas.toml", text);
        // What the machine is set to must not matter.
        home.set("TZ", "UTC")
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn source(&self) -> Source {
        Source { home: self.folder.path().to_owned(), env: self.env.clone() }
    }

    fn load(&self) -> Result<Config, Errors> {
        load(&self.source())
    }

    fn config(&self) -> Config {
        self.load().unwrap_or_else(|errors| panic!("{}", errors.render()))
    }

    /// The errors as they are printed, with the home's folder as `~`.
    fn errors(&self) -> Vec<String> {
        let folder = self.folder.path().display().to_string();
        let errors = self.load().expect_err("this configuration is broken");
        errors.into_iter().map(|error| error.to_string().replace(&folder, "~")).collect()
    }
}

/// The errors of a file that stands alone.
fn errors(text: &str) -> Vec<String> {
    Home::new(text).errors()
}

/// The first lines of the errors of a file that stands alone.
fn whats(text: &str) -> Vec<String> {
    errors(text).iter().map(|error| error.lines().next().unwrap().to_owned()).collect()
}
