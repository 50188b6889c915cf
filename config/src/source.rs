//! Where a configuration comes from: the home's folder and the environment. The only place of Atlas
//! that reads the environment, once, at the start.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::home::HomeError;
use crate::mask;
use crate::wrong_key::is_name;

/// What a configuration is loaded from.
#[derive(Clone)]
pub struct Source {
    /// The home's folder.
    pub home: PathBuf,
    /// The environment: `ATLAS__SECTION__KEY`, and the variables that `env:NAME` names.
    pub env: BTreeMap<String, String>,
}

/// The environment holds secrets: only the count of its variables is shown.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("home", &self.home).field("env", &self.env.len()).finish()
    }
}

impl Source {
    /// The source of this process: the home of `--home NAME|PATH`, else of `ATLAS_HOME` (the same
    /// two forms), else `~/.atlas`. A bare NAME is `~/.atlas/homes/NAME`; what holds a slash or
    /// begins with a dot or `~/` is a path.
    ///
    /// # Errors
    ///
    /// A name that cannot be a folder's, or no `HOME` to find `~/.atlas` in.
    pub fn from_process(home_flag: Option<&str>) -> Result<Self, HomeError> {
        let mut env = BTreeMap::new();
        let mut user_home = None;
        let mut atlas_home = None;
        for (name, value) in std::env::vars_os() {
            match name.to_str() {
                // A folder's name need not be text.
                Some("HOME") => user_home = Some(PathBuf::from(&value)),
                Some("ATLAS_HOME") => atlas_home = Some(value.to_string_lossy().into_owned()),
                _ => {}
            }
            if let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) {
                env.insert(name, value);
            }
        }
        let user_home = user_home.filter(|home| home.is_absolute());
        let home = resolve(home_flag, atlas_home.as_deref(), user_home.as_deref())?;
        Ok(Self { home, env })
    }
}

fn resolve(
    flag: Option<&str>,
    variable: Option<&str>,
    user_home: Option<&Path>,
) -> Result<PathBuf, HomeError> {
    let chosen = flag
        .map(|text| ("--home", text))
        .or_else(|| variable.filter(|text| !text.is_empty()).map(|text| ("ATLAS_HOME", text)));
    let in_user_home = |below: &str| {
        user_home.map(|home| home.join(below)).ok_or_else(|| HomeError {
            what: "there is no HOME to find ~/.atlas in".to_owned(),
            mend: "Say where the home is: --home /path/to/home, or ATLAS_HOME.".to_owned(),
        })
    };
    let Some((from, text)) = chosen else { return in_user_home(".atlas") };
    if let Some(below) = text.strip_prefix("~/") {
        return in_user_home(below);
    }
    if text == "~" || text.contains('/') || text.starts_with('.') {
        let path = if text == "~" { in_user_home("")? } else { PathBuf::from(text) };
        return std::path::absolute(&path).map_err(|error| HomeError {
            what: format!("{} is no path: {error}", path.display()),
            mend: format!("Give {from} the whole path: /path/to/home."),
        });
    }
    if !is_name(text) {
        return Err(HomeError {
            what: format!("{from} {} is no name of a home", mask::value(text)),
            mend: "Names have 1 to 32 letters, digits, dashes and underscores; a path has a slash."
                .to_owned(),
        });
    }
    in_user_home(&format!(".atlas/homes/{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(flag: Option<&str>, variable: Option<&str>) -> PathBuf {
        resolve(flag, variable, Some(Path::new("/home/ana"))).unwrap()
    }

    #[test]
    fn the_flag_goes_before_the_variable_and_that_before_the_default() {
        assert_eq!(home(Some("/a"), Some("/b")), Path::new("/a"));
        assert_eq!(home(None, Some("/b")), Path::new("/b"));
        assert_eq!(home(None, Some("")), Path::new("/home/ana/.atlas"));
        assert_eq!(home(None, None), Path::new("/home/ana/.atlas"));
    }

    #[test]
    fn a_bare_name_is_a_home_of_that_name_and_a_slash_makes_a_path() {
        assert_eq!(home(Some("work"), None), Path::new("/home/ana/.atlas/homes/work"));
        assert_eq!(home(Some("~/work"), None), Path::new("/home/ana/work"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(home(Some("./work"), None), here.join("work"));
    }

    #[test]
    fn a_name_that_is_none_and_a_missing_home_say_what_to_write() {
        let error = resolve(Some("my home"), None, Some(Path::new("/home/ana"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--home `my home` is no name of a home\n  Names have 1 to 32 letters, digits, dashes \
             and underscores; a path has a slash."
        );
        let error = resolve(None, None, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no HOME to find ~/.atlas in\n  Say where the home is: --home /path/to/home, \
             or ATLAS_HOME."
        );
        assert_eq!(resolve(Some("/a"), None, None).unwrap(), Path::new("/a"));
    }

    #[test]
    fn a_source_shown_for_debugging_holds_no_secret() {
        let env = BTreeMap::from([("KEY".to_owned(), "hunter2".to_owned())]);
        let shown = format!("{:?}", Source { home: "/a".into(), env });
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
