//! Defaults, file, environment; and the model that stands in.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::Home;
use crate::Provider;

#[test]
fn no_file_and_no_folder_are_the_defaults() {
    let home = Home::new("");
    std::fs::remove_file(home.path("atlas.toml")).unwrap();
    let mut source = home.source();
    for folder in [home.path(""), home.path("not/there")] {
        source.home = folder;
        let config = crate::load(&source).unwrap();
        assert_eq!(config.models[&config.default_model].provider, Provider::Offline);
        assert!(config.conversations.join_direct && config.memory_notice);
        assert_eq!(config.conversations.patience, Duration::from_secs(900));
        assert_eq!(config.conversations.compact_at, None);
        assert!(config.accounts.is_empty() && config.routes.is_empty() && config.owner.is_empty());
        let bots: Vec<&str> = config.bots.iter().map(|bot| bot.name.as_str()).collect();
        assert_eq!(bots, ["atlas"]);
        assert_eq!(config.warnings, Vec::<String>::new());
    }
}

#[test]
fn a_variable_goes_before_the_file_and_the_file_before_the_default() {
    let home = Home::new(
        "timezone = \"Europe/Berlin\"\n[conversations]\npatience = \"2m\"\n[accounts.my-tg]\nplatform = \
         \"telegram\"\ntoken = \"1:a\"\n",
    )
    .set("ATLAS__TIMEZONE", "Asia/Tokyo")
    .set("ATLAS__CONVERSATIONS__JOIN_DIRECT", "false")
    .set("ATLAS__CONVERSATIONS__COMPACT_AT", "5000")
    .set("ATLAS__OWNER__TELEGRAM", "5, 6")
    .set("ATLAS__ACCOUNTS__MY_TG__TOKEN", "2:b")
    .set("ATLAS__ACCOUNTS__MY_TG__ALLOW", "*");
    let config = home.config();
    assert_eq!(config.timezone, chrono_tz::Asia::Tokyo);
    assert!(!config.conversations.join_direct);
    assert_eq!(config.conversations.compact_at, Some(5_000));
    assert_eq!(config.conversations.patience, Duration::from_secs(120));
    let owner: Vec<&str> = config.owner.iter().map(|person| person.id.as_str()).collect();
    assert_eq!(owner, ["5", "6"]);
    // One account: a variable finds the file's, whose name no variable can have.
    assert_eq!(config.accounts.len(), 1);
    let account = &config.accounts[&"my-tg".into()];
    assert_eq!(account.token.expose_secret(), "2:b");
    assert_eq!(account.allow, atlas_core::router::Allow::Everybody);
    // A secret in a variable is where it should be.
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn a_variable_alone_makes_a_model() {
    let home = Home::new("")
        .set("ATLAS__MODELS__MAIN__PROVIDER", "openai")
        .set("ATLAS__MODELS__MAIN__MODEL", "0123")
        .set("ATLAS__MODELS__MAIN__BASE_URL", "http://127.0.0.1:1/v1");
    let config = home.config();
    assert_eq!(config.default_model, "main".into());
    assert_eq!(config.models.len(), 1);
    // Text stays text, whatever it looks like.
    assert_eq!(config.models[&"main".into()].model, "0123");
}

#[test]
fn an_empty_variable_is_not_set() {
    let home =
        Home::new("timezone = \"Asia/Tokyo\"").set("ATLAS__TIMEZONE", "").set("ATLAS__X", " ");
    assert_eq!(home.config().timezone, chrono_tz::Asia::Tokyo);
}

#[test]
fn a_variable_is_held_to_the_same_rules_as_the_file() {
    for (name, value, error) in [
        (
            "ATLAS__MEMRY__NOTICE",
            "true",
            "unknown key `memry`\n  The nearest is `memory`. Known here: timezone, owner, models, \
             accounts, routes, conversations, memory, limits, deciders.",
        ),
        (
            "ATLAS__MEMORY__NOTIC",
            "true",
            "unknown key `notic` in [memory]\n  The nearest is `notice`. Known here: notice, refresh.",
        ),
        (
            "ATLAS__MEMORY__NOTICE",
            "yes",
            "`notice` takes true or false, not `yes`\n  Write true or false.",
        ),
        (
            "ATLAS__CONVERSATIONS__COMPACT_AT",
            "64k",
            "`compact_at` takes a whole number, not `64k`\n  Write for example 64000.",
        ),
        (
            "ATLAS__BUDGET__DAILY",
            "5",
            "this version of Atlas does not know `budget` yet\n  Take it out, or put a # before it, \
             until a version that knows it.",
        ),
        (
            "ATLAS__ROUTES__0__BOT",
            "seo",
            "`routes` cannot be set by a variable\n  Write it in atlas.toml.",
        ),
        (
            "ATLAS__OWNER",
            "5",
            "this names a section and no key\n  Add two underscores and a key: telegram, discord.",
        ),
        (
            "ATLAS__TIMEZONE__NAME",
            "UTC",
            "nothing is below `timezone`\n  Leave out what follows its name.",
        ),
        (
            "ATLAS__OWNER__TELEGRAM",
            "5,@ana",
            "`@ana` is no person's id on Telegram\n  An id is a number, such as 123456789. `atlas pair` \
             finds yours without looking it up.",
        ),
    ] {
        let home = Home::new("").set(name, value);
        assert_eq!(home.errors(), [format!("environment variable {name}: {error}")]);
    }
}

#[test]
fn the_zone_is_the_systems_where_none_is_written() {
    assert_eq!(
        Home::new("").set("TZ", ":Europe/Paris").config().timezone,
        chrono_tz::Europe::Paris
    );
    let odd = Home::new("").set("TZ", "CET-1CEST").config();
    assert_eq!(odd.timezone, chrono_tz::UTC);
    assert_eq!(
        odd.warnings,
        [
            "the system's time zone `CET-1CEST` is not known; times are told in UTC. Set `timezone` in atlas.toml."
        ]
    );
}

#[test]
fn where_no_model_is_set_up_the_key_of_the_environment_decides() {
    let openai = Home::new("").set("OPENAI_API_KEY", "sk-1").set("ANTHROPIC_API_KEY", "x").config();
    let model = &openai.models[&openai.default_model];
    assert_eq!(
        (model.provider, model.model.as_str()),
        (Provider::OpenAi, crate::DEFAULT_OPENAI_MODEL)
    );
    assert_eq!(model.base_url, None);
    assert_eq!(model.api_key.as_ref().unwrap().expose_secret(), "sk-1");
    assert_eq!(openai.warnings, Vec::<String>::new());

    let elsewhere =
        Home::new("").set("OPENAI_API_KEY", "sk-1").set("OPENAI_BASE_URL", "http://h/v1").config();
    assert_eq!(elsewhere.models[&"default".into()].base_url.as_deref(), Some("http://h/v1"));

    let configured =
        Home::new("[models.a]\nprovider = \"offline\"\n").set("OPENAI_API_KEY", "sk-1").config();
    assert_eq!(configured.models[&configured.default_model].provider, Provider::Offline);
}

#[test]
fn the_key_of_anthropic_decides_where_there_is_no_other() {
    let config = Home::new("")
        .set("ANTHROPIC_API_KEY", "sk-ant")
        .set("ANTHROPIC_BASE_URL", "http://h")
        .config();
    let model = &config.models[&config.default_model];
    assert_eq!(
        (model.provider, model.model.as_str()),
        (Provider::Anthropic, crate::DEFAULT_ANTHROPIC_MODEL)
    );
    assert_eq!(model.base_url.as_deref(), Some("http://h"));
    assert_eq!(model.api_key.as_ref().unwrap().expose_secret(), "sk-ant");
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn what_only_one_dialect_understands_is_refused_with_the_others() {
    let claude = "[models.a]\nprovider = \"anthropic\"\nmodel = \"m\"\napi_key = \"env:K\"\n";
    let home = |more: &str| Home::new(&format!("{claude}{more}")).set("K", "sk-ant");
    let ttl = |more: &str| home(more).config().models[&"a".into()].cache_ttl;
    assert_eq!(ttl(""), crate::CacheTtl::Hour);
    assert_eq!(ttl("cache_ttl = \"5m\"\n"), crate::CacheTtl::FiveMinutes);
    assert_eq!(
        home("strict_roles = true\n").errors(),
        [
            "atlas.toml:5:16: `strict_roles` is for provider \"openai\" only\n  Take it out: with provider \
             \"anthropic\" roles alternate in any case."
        ]
    );
    assert_eq!(
        home("cache_ttl = \"2h\"\n").errors(),
        [
            "atlas.toml:5:13: unknown cache_ttl `2h`\n  The nearest is \"1h\". It knows: \"1h\", \"5m\"."
        ]
    );
    assert_eq!(
        Home::new("[models.a]\nprovider = \"offline\"\ncache_ttl = \"1h\"\n").errors(),
        [
            "atlas.toml:3:13: `cache_ttl` is for provider \"anthropic\" only\n  Take it out: other servers \
             keep what they have read as long as they choose."
        ]
    );
    assert_eq!(
        Home::new("[models.a]\nprovider = \"anthropic\"\n").errors().len(),
        2,
        "a model and a key are asked for"
    );
}

#[test]
fn a_base_url_of_the_environment_that_is_none_is_an_error() {
    let home = Home::new("").set("OPENAI_API_KEY", "sk-1").set("OPENAI_BASE_URL", "localhost");
    assert_eq!(
        home.errors(),
        [
            "environment variable OPENAI_BASE_URL: `OPENAI_BASE_URL` is no address: `localhost`\n  Begin \
          with http:// or https:// and a host: \"http://127.0.0.1:11434/v1\"."
        ]
    );
}

#[test]
fn a_fallback_names_other_models_each_once() {
    let models = |line: &str| {
        let others = "[models.b]\nprovider = \"offline\"\n[models.local]\nprovider = \"offline\"\n";
        Home::new(&format!("[models.a]\nprovider = \"offline\"\n{line}\n{others}"))
    };
    let chain =
        models("fallback = [\"local\", \"b\"]").config().models[&"a".into()].fallback.clone();
    assert_eq!(chain, ["local".into(), "b".into()]);
    for (written, error) in [
        (
            "[\"lokal\"]",
            "atlas.toml:3:13: there is no model `lokal`\n  The nearest is \"local\". There are: a, b, local.",
        ),
        (
            "[\"a\"]",
            "atlas.toml:3:13: `fallback` names its own model: `a`\n  Take it out: a model that does not \
             answer is not asked again at once.",
        ),
        (
            "[\"b\", \"b\"]",
            "atlas.toml:3:18: `fallback` names a model twice: `b`\n  Take it out: a model that does not \
             answer is not asked again at once.",
        ),
        (
            "\"local\"",
            "atlas.toml:3:12: `fallback` takes a list of names in square brackets, not text\n  Write for \
             example `fallback = [\"local\"]`.",
        ),
        (
            "[7]",
            "atlas.toml:3:13: `fallback` takes names, not a number\n  Write for example `fallback = \
             [\"local\"]`.",
        ),
    ] {
        assert_eq!(models(&format!("fallback = {written}")).errors(), [error]);
    }
}
