//! The check of the whole: what is missing, what refers to what, and the secrets. It begins where
//! every single value is known to be right, or reported.

mod accounts;
mod models;

use std::path::PathBuf;

use atlas_core::access::Limits;
use atlas_core::ids::{Person, PersonId, PlatformName};
use chrono_tz::Tz;

use crate::bots::Found;
use crate::duration::parse_duration;
use crate::error::Error;
use crate::layers::{Raw, RawId};
use crate::place::Place;
use crate::places::Places;
use crate::rate::parse_rate;
use crate::secrets;
use crate::source::Source;
use crate::types::{AccountPlatform, BotConfig, Config, Conversations};
use crate::{mask, nearest};

/// Below this many tokens an episode is cut after nearly every message.
const SMALL_EPISODE: u32 = 4_000;

/// What the check reads, and what it finds.
pub(crate) struct Check<'a> {
    pub(crate) source: &'a Source,
    pub(crate) places: &'a Places,
    pub(crate) errors: Vec<Error>,
    pub(crate) warnings: Vec<String>,
}

impl Check<'_> {
    /// The configuration. What is wrong is in `errors`: with one in it, the result means nothing.
    pub(crate) fn whole(&mut self, raw: &Raw, bots: &[Found]) -> Config {
        let timezone = self.timezone(raw);
        let owner = self.owner(raw);
        let deciders = self.deciders(raw);
        let (models, default_model) = self.models(raw);
        let bots = self.bots(bots, &default_model);
        let accounts = self.accounts(raw, &bots);
        let routes = self.routes(raw, &accounts, &bots);
        Config {
            home: self.source.home.clone(),
            timezone,
            owner,
            deciders,
            limits: limits(raw),
            models,
            default_model,
            accounts,
            routes,
            bots,
            conversations: self.conversations(raw),
            memory_notice: raw.memory.notice,
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    /// The zone that was written, else the system's, else UTC.
    fn timezone(&mut self, raw: &Raw) -> Tz {
        if let Some(zone) = raw.timezone.as_deref().and_then(|zone| zone.parse().ok()) {
            return zone;
        }
        let variable = self.source.env.get("TZ").map(|zone| zone.trim_start_matches(':'));
        let system = match variable.filter(|zone| !zone.is_empty()) {
            Some(zone) => Some(zone.to_owned()),
            // A container without a zone is on UTC.
            None => iana_time_zone::get_timezone().ok(),
        };
        match system.map(|zone| zone.parse().map_err(|_| zone)) {
            Some(Ok(zone)) => zone,
            None => Tz::UTC,
            Some(Err(zone)) => {
                self.warnings.push(format!(
                    "the system's time zone {} is not known; times are told in UTC. Set `timezone` in atlas.toml.",
                    mask::value(&zone)
                ));
                Tz::UTC
            }
        }
    }

    fn owner(&mut self, raw: &Raw) -> Vec<Person> {
        let mut owner = Vec::new();
        for (on, ids) in [
            (AccountPlatform::Telegram, &raw.owner.telegram),
            (AccountPlatform::Discord, &raw.owner.discord),
        ] {
            let ids = self.people(&["owner", on.name()], ids, on);
            let person = |id| Person { platform: PlatformName::from(on.name()), id };
            owner.extend(ids.into_iter().map(person));
        }
        owner
    }

    /// The ids of those who decide besides the owner. One without an id is nobody.
    fn deciders(&mut self, raw: &Raw) -> Vec<Person> {
        let mut deciders = Vec::new();
        for (n, raw) in raw.deciders.iter().enumerate() {
            let n = n.to_string();
            if raw.telegram.is_empty() && raw.discord.is_empty() {
                let name =
                    raw.name.as_deref().map_or_else(|| "this decider".to_owned(), mask::value);
                self.fail(
                    &["deciders", &n],
                    format!("{name} has no id"),
                    "Add their ids: `telegram = [\"123456789\"]`.",
                );
            }
            for (on, ids) in [
                (AccountPlatform::Telegram, &raw.telegram),
                (AccountPlatform::Discord, &raw.discord),
            ] {
                let ids = self.people(&["deciders", &n, on.name()], ids, on);
                let person = |id| Person { platform: PlatformName::from(on.name()), id };
                deciders.extend(ids.into_iter().map(person));
            }
        }
        deciders
    }

    /// A list of people's ids on a platform. All platforms number them.
    fn people(&mut self, path: &[&str], ids: &[RawId], on: AccountPlatform) -> Vec<PersonId> {
        let mut people = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            let Some(id) = id else { continue };
            // As the platform writes it, since ids are compared as texts.
            if id.parse::<u64>().is_ok_and(|number| number > 0 && number.to_string() == *id) {
                people.push(PersonId::from(id.as_str()));
                continue;
            }
            let n = n.to_string();
            let path: Vec<&str> = path.iter().copied().chain([n.as_str()]).collect();
            let mend = if id.starts_with('-') {
                "This is a chat's id. Let people in by their own ids; a chat gets a route with allow = [\"*\"]."
            } else if path.first() == Some(&"owner") {
                "An id is a number, such as 123456789. `atlas pair` finds yours without looking it up."
            } else {
                // A code of `atlas pair` would make them the owner.
                "An id is a number, such as 123456789. Without it: let them write to the bot, and send \
                 `/allow` with the code that they are told."
            };
            self.fail(
                &path,
                format!("{} is no person's id on {}", mask::value(id), on.shown()),
                mend,
            );
        }
        people
    }

    fn bots(
        &mut self,
        found: &[Found],
        default_model: &atlas_core::ids::ModelName,
    ) -> Vec<BotConfig> {
        let models = self.places.names("models");
        let mut bots = Vec::new();
        for bot in found {
            let mut model = default_model.clone();
            if let Some((name, place)) = &bot.front.model {
                if models.contains(name) || default_model.as_str() == name {
                    model = name.as_str().into();
                } else {
                    let known = models.iter().map(String::as_str);
                    self.errors.push(no_such(
                        place.clone(),
                        "model",
                        name,
                        known,
                        "[models.<name>]",
                    ));
                }
            }
            let shown = bot.front.name.as_ref().map_or(&bot.name, |(name, _)| name);
            bots.push(BotConfig { name: bot.name.as_str().into(), shown: shown.clone(), model });
        }
        bots
    }

    fn conversations(&mut self, raw: &Raw) -> Conversations {
        let raw = &raw.conversations;
        if let Some(tokens) = raw.compact_at.filter(|&tokens| tokens < SMALL_EPISODE) {
            self.warnings.push(format!(
                "`compact_at` = {tokens} tokens cuts a conversation after nearly every message; it is meant in tokens, such as 64000."
            ));
        }
        Conversations {
            join_direct: raw.join_direct,
            compact_at: raw.compact_at,
            // Checked as a value; the default is one.
            patience: parse_duration(&raw.patience).unwrap_or_default(),
        }
    }

    /// The secret that this key means.
    fn secret(&mut self, path: &[&str], text: Option<&str>) -> Option<secrecy::SecretString> {
        let text = text?;
        match secrets::resolve(self.source, text) {
            Ok(found) => {
                let place = self.at(path);
                // A variable is no file: what stands in it is where it should be.
                if found.literal && place.line().is_some() {
                    let key = path.last().copied().unwrap_or_default();
                    self.warnings.push(format!(
                        "{place}: `{key}` holds the secret itself. Whoever reads the file has it: move it to vault/NAME and write \"secret:NAME\", or to a variable and write \"env:NAME\"."
                    ));
                }
                Some(found.secret)
            }
            Err((what, mend)) => {
                let key = path.last().copied().unwrap_or_default();
                self.fail(path, format!("`{key}`: {what}"), &mend);
                None
            }
        }
    }

    /// Reports a key that must be written and was not, unless it was written wrongly.
    fn missing(&mut self, path: &[&str], header: &str, line: &str) {
        if self.places.written(path) {
            return;
        }
        let key = path.last().copied().unwrap_or_default();
        let place = self.places.key(path).unwrap_or_else(|| self.file());
        self.errors.push(Error::new(
            place,
            format!("{header} has no `{key}`"),
            format!("Add {line}."),
        ));
    }

    fn fail(&mut self, path: &[&str], what: String, mend: &str) {
        let place = self.at(path);
        self.errors.push(Error::new(place, what, mend));
    }

    fn at(&self, path: &[&str]) -> Place {
        self.places.value(path).unwrap_or_else(|| self.file())
    }

    fn file(&self) -> Place {
        Place::Path(PathBuf::from(crate::FILE))
    }
}

/// Checked as values; the defaults are ones.
fn limits(raw: &Raw) -> Limits {
    let default = Limits::default();
    Limits {
        guest: parse_rate(&raw.limits.guest).unwrap_or(default.guest),
        chat: parse_rate(&raw.limits.chat).unwrap_or(default.chat),
    }
}

/// The error of a name that names nothing.
fn no_such<'a>(
    place: Place,
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    header: &str,
) -> Error {
    let list = known.clone().collect::<Vec<_>>().join(", ");
    let mend = match nearest::nearest(name, known) {
        Some(near) => format!("The nearest is \"{near}\". There are: {list}."),
        None if list.is_empty() => format!("Add it as {header}."),
        None => format!("There are: {list}. Or add it as {header}."),
    };
    Error::new(place, format!("there is no {kind} {}", mask::value(name)), mend)
}
