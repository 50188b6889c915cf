//! The models: those of the file, or the one that stands in where there are none.

use std::collections::BTreeMap;

use atlas_core::ids::ModelName;

use super::{Check, no_such};
use crate::error::Error;
use crate::layers::{Raw, RawModel};
use crate::mask;
use crate::place::Place;
use crate::schema::Kind;
use crate::secrets;
use crate::types::{CacheTtl, Model, Provider};
use crate::value::{self, Written};
use crate::{DEFAULT_ANTHROPIC_MODEL, DEFAULT_MODEL, DEFAULT_OPENAI_MODEL};

impl Check<'_> {
    /// The models, never none, and which of them bots have that name none.
    pub(super) fn models(&mut self, raw: &Raw) -> (BTreeMap<ModelName, Model>, ModelName) {
        let names = self.places.names("models");
        let Some(first) = names.first() else {
            let model = self.stand_in();
            return (BTreeMap::from([(DEFAULT_MODEL.into(), model)]), DEFAULT_MODEL.into());
        };
        let default = names.iter().find(|name| *name == DEFAULT_MODEL).unwrap_or(first);
        let mut models = BTreeMap::new();
        for (name, raw) in &raw.models {
            if let Some(model) = self.model(name, raw) {
                models.insert(name.as_str().into(), model);
            }
        }
        (models, default.as_str().into())
    }

    fn model(&mut self, name: &str, raw: &RawModel) -> Option<Model> {
        let at = |key| ["models", name, key];
        let header = format!("[models.{name}]");
        let api_key = self.secret(&at("api_key"), raw.api_key.as_deref());
        if let (Some(window), Some(output)) = (raw.window, raw.max_output)
            && output >= window
        {
            self.fail(
                &at("max_output"),
                format!("`max_output` = {output} leaves no room in `window` = {window}"),
                "The window holds input and output together: write a smaller `max_output`.",
            );
        }
        let provider = match raw.provider.as_deref() {
            Some("anthropic") => Provider::Anthropic,
            Some("openai") => Provider::OpenAi,
            Some(_) => Provider::Offline,
            None => {
                let line = "`provider = \"anthropic\"`, \"openai\", or \"offline\"";
                self.missing(&at("provider"), &header, line);
                return None;
            }
        };
        match provider {
            Provider::Anthropic => {
                self.hosted(name, raw, DEFAULT_ANTHROPIC_MODEL, "ANTHROPIC_API_KEY");
            }
            Provider::OpenAi => self.hosted(name, raw, DEFAULT_OPENAI_MODEL, "OPENAI_API_KEY"),
            Provider::Offline => {}
        }
        self.belongs(name, raw, provider);
        Some(Model {
            provider,
            model: raw.model.clone().unwrap_or_else(|| "offline".to_owned()),
            base_url: raw.base_url.clone(),
            api_key,
            window: raw.window,
            max_output: raw.max_output,
            strict_roles: raw.strict_roles,
            cache_ttl: match raw.cache_ttl.as_deref() {
                Some("5m") => CacheTtl::FiveMinutes,
                _ => CacheTtl::Hour,
            },
            fallback: self.fallback(name, &raw.fallback),
        })
    }

    /// The models that stand in for this one: others, each once.
    fn fallback(&mut self, name: &str, written: &[Option<String>]) -> Vec<ModelName> {
        let known = self.places.names("models");
        let mut chain: Vec<ModelName> = Vec::new();
        for (n, other) in written.iter().enumerate() {
            // What is no name was told already.
            let Some(other) = other.as_deref() else { continue };
            let n = n.to_string();
            let at = ["models", name, "fallback", n.as_str()];
            if other == name || chain.iter().any(|earlier| earlier.as_str() == other) {
                let why = if other == name { "names its own model" } else { "names a model twice" };
                self.fail(
                    &at,
                    format!("`fallback` {why}: {}", mask::value(other)),
                    "Take it out: a model that does not answer is not asked again at once.",
                );
            } else if known.iter().any(|model| model == other) {
                chain.push(other.into());
            } else {
                let models = known.iter().map(String::as_str);
                let place = self.at(&at);
                self.errors.push(no_such(place, "model", other, models, "[models.<name>]"));
            }
        }
        chain
    }

    /// What a model behind a server must have.
    fn hosted(&mut self, name: &str, raw: &RawModel, model: &str, variable: &str) {
        let at = |key| ["models", name, key];
        let header = format!("[models.{name}]");
        if raw.model.is_none() {
            let line = format!("the model's name at its provider: `model = \"{model}\"`");
            self.missing(&at("model"), &header, &line);
        }
        // A server of one's own may want no key.
        if raw.api_key.is_none() && raw.base_url.is_none() && !self.places.written(&at("base_url"))
        {
            let line = format!(
                "`api_key = \"env:{variable}\"`, or the `base_url` of a server of your own"
            );
            self.missing(&at("api_key"), &header, &line);
        }
    }

    /// Keys that say something to one dialect only.
    fn belongs(&mut self, name: &str, raw: &RawModel, provider: Provider) {
        let at = |key| ["models", name, key];
        if raw.cache_ttl.is_some() && provider != Provider::Anthropic {
            self.fail(
                &at("cache_ttl"),
                "`cache_ttl` is for provider \"anthropic\" only".to_owned(),
                "Take it out: other servers keep what they have read as long as they choose.",
            );
        }
        if raw.strict_roles && provider == Provider::Anthropic {
            self.fail(
                &at("strict_roles"),
                "`strict_roles` is for provider \"openai\" only".to_owned(),
                "Take it out: with provider \"anthropic\" roles alternate in any case.",
            );
        }
    }

    /// What answers where no model is set up: the one whose key is in the environment, else
    /// `offline`, so that a newcomer sees the product without a key.
    fn stand_in(&mut self) -> Model {
        let set = |name: &str| {
            self.source.env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
        };
        let offline = Model {
            provider: Provider::Offline,
            model: "offline".to_owned(),
            base_url: None,
            api_key: None,
            window: None,
            max_output: None,
            strict_roles: false,
            cache_ttl: CacheTtl::default(),
            fallback: Vec::new(),
        };
        let (provider, model, key, address) = if set("OPENAI_API_KEY").is_some() {
            (Provider::OpenAi, DEFAULT_OPENAI_MODEL, "OPENAI_API_KEY", "OPENAI_BASE_URL")
        } else if set("ANTHROPIC_API_KEY").is_some() {
            let (key, address) = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL");
            (Provider::Anthropic, DEFAULT_ANTHROPIC_MODEL, key, address)
        } else {
            return offline;
        };
        let base_url = set(address).map(str::to_owned);
        if let Some(url) = &base_url {
            let fits = value::fit(address, Kind::Address, &Written::Text(url));
            if let Err((what, mend)) = fits {
                let place = Place::Variable(address.to_owned());
                self.errors.push(Error::new(place, what, mend));
            }
        }
        let api_key = match secrets::resolve(self.source, &format!("env:{key}")) {
            Ok(found) => Some(found.secret),
            Err((what, mend)) => {
                let place = Place::Variable(key.to_owned());
                self.errors.push(Error::new(place, what, mend));
                None
            }
        };
        Model { provider, model: model.to_owned(), base_url, api_key, ..offline }
    }
}
