//! `atlas.toml`: keys, values, what is missing, and what refers to what.

use std::time::Duration;

use atlas_core::access::{Limits, Rate};
use atlas_core::audience::SharedMemory;
use atlas_core::ids::Person;
use atlas_core::router::{Allow, Answer};
use proptest::prelude::*;

use super::{Home, errors, whats};
use crate::schema::{self, Key, Kind};
use crate::{Account, AccountPlatform, Provider};

const WHOLE: &str = r#"
timezone = "America/Sao_Paulo"

[owner]
telegram = ["123456789", 987654321]

[models.local]
provider = "openai"
base_url = "http://127.0.0.1:11434/v1"
model = "qwen3"
window = 32768
max_output = 4096
strict_roles = true

[models.spare]
provider = "offline"

[accounts.tg]
platform = "telegram"
token = "env:TELEGRAM_TOKEN"
bot = "seo"
api_base = "http://127.0.0.1:8081"
allow = [5]

[[routes]]
account = "tg"
chat = -1001234567890
bot = "atlas"
answer = "all"
memory = "notes"
allow = ["*"]
allow_bots = ["5550001"]

[[routes]]
account = "tg"
chat = "-1001234567890:7"

[conversations]
join_direct = false
compact_at = 50000
patience = "1h30m"

[memory]
refresh = "append"
notice = false

[limits]
guest = "10/5m"

[[deciders]]
name = "Ana"
telegram = ["55", 66]
"#;

fn whole() -> Home {
    Home::new(WHOLE).set("TELEGRAM_TOKEN", "1:a").with("bots/seo/BOT.md", "Search.")
}

#[test]
fn a_whole_file_is_what_it_says() {
    let config = whole().config();
    let person = |id: &str| Person { platform: "telegram".into(), id: id.into() };
    assert_eq!(config.timezone, chrono_tz::America::Sao_Paulo);
    assert_eq!(config.owner, [person("123456789"), person("987654321")]);
    assert_eq!(config.default_model, "local".into());
    let model = &config.models[&"local".into()];
    assert_eq!(model.provider, Provider::OpenAi);
    assert_eq!(model.base_url.as_deref(), Some("http://127.0.0.1:11434/v1"));
    assert_eq!(
        (model.window, model.max_output, model.strict_roles),
        (Some(32768), Some(4096), true)
    );
    assert_eq!(config.models[&"spare".into()].provider, Provider::Offline);
    let account = &config.accounts[&"tg".into()];
    assert_eq!(account.platform, AccountPlatform::Telegram);
    assert_eq!(account.bot, "seo".into());
    assert_eq!(account.api_base.as_deref(), Some("http://127.0.0.1:8081"));
    assert_eq!(account.allow, Allow::These(vec!["5".into()]));
    let [group, topic] = config.routes.as_slice() else { panic!("{:?}", config.routes) };
    assert_eq!((group.chat.as_str(), group.bot.as_str()), ("-1001234567890", "atlas"));
    assert_eq!((group.answer, group.memory), (Answer::All, Some(SharedMemory::Notes)));
    assert_eq!(group.allow, Allow::Everybody);
    assert_eq!(group.bots, Allow::These(vec!["5550001".into()]));
    // What a route leaves out is as the account says.
    assert_eq!((topic.chat.as_str(), topic.bot.as_str()), ("-1001234567890:7", "seo"));
    assert_eq!((topic.answer, topic.memory), (Answer::Mentioned, None));
    assert_eq!(topic.allow, Allow::These(vec!["5".into()]));
    assert_eq!(topic.bots, Allow::Nobody, "a bot is let in where it is named alone");
    assert_eq!(config.deciders, [person("55"), person("66")]);
    let five_minutes = Rate { most: 10, within: Duration::from_secs(300) };
    assert_eq!(config.limits, Limits { guest: five_minutes, ..Limits::default() });
    assert!(!config.conversations.join_direct && !config.memory_notice);
    assert_eq!(config.conversations.compact_at, Some(50_000));
    assert_eq!(config.conversations.patience, Duration::from_secs(5_400));
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn a_decider_without_an_id_and_a_limit_that_is_none_are_refused() {
    assert_eq!(
        errors("[[deciders]]\nname = \"Ana\"\n\n[limits]\nguest = \"0/h\"\nchat = 60\n"),
        [
            "atlas.toml:1:1: `Ana` has no id\n  Add their ids: `telegram = [\"123456789\"]`.",
            "atlas.toml:5:9: `guest` is no number of messages in a time: `0/h`\n  Write a whole number \
             from 1, a slash and m, h, d or a duration: \"20/h\", \"100/d\", \"10/5m\".",
            "atlas.toml:6:8: `chat` takes a number and its time in quotes, not a number\n  Write for \
             example `chat = \"20/h\"`.",
        ]
    );
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest() {
    // Case 85.
    let text = "[accounts.tg]\nplatform = \"telegram\"\ntoken = \"1:a\"\ngroupAllowFrm = [\"1\"]\n";
    assert_eq!(
        errors(text),
        [
            "atlas.toml:4:1: unknown key `groupAllowFrm` in [accounts.tg]\n  The nearest is `allow`. \
          Known here: platform, token, bot, allow, api_base, backlog."
        ]
    );
    assert_eq!(
        Home::new(text).load().unwrap_err().render(),
        "atlas.toml:4:1: unknown key `groupAllowFrm` in [accounts.tg]\n  4 | groupAllowFrm = [\"1\"]\n    \
         | ^^^^^^^^^^^^^\n  The nearest is `allow`. Known here: platform, token, bot, allow, api_base, backlog."
    );
}

#[test]
fn a_key_in_the_wrong_section_is_sent_to_its_own() {
    assert_eq!(
        errors("token = \"1:a\"\n"),
        [
            "atlas.toml:1:1: unknown key `token`\n  `token` belongs in [accounts.<name>]. Known here: \
          timezone, owner, models, accounts, routes, conversations, memory, limits, deciders."
        ]
    );
}

#[test]
fn a_section_with_a_letter_too_few_is_near_and_not_a_key_of_another() {
    assert_eq!(
        errors("[account.tg]\nplatform = \"telegram\"\n"),
        ["atlas.toml:1:2: unknown key `account`\n  The nearest is `accounts`. Known here: \
          timezone, owner, models, accounts, routes, conversations, memory, limits, deciders."]
    );
}

/// All sections, each with a head that opens it.
fn sections() -> Vec<(String, &'static [Key])> {
    let mut all = vec![(String::new(), schema::ROOT)];
    for section in schema::ROOT {
        let head = schema::header(section).replace("<name>", "some");
        if !section.kind.keys().is_empty() {
            all.push((format!("{head}\n"), section.kind.keys()));
        }
    }
    all
}

#[test]
fn a_slip_in_any_key_of_any_section_is_refused_with_that_key() {
    for (head, keys) in sections() {
        for key in keys {
            // One letter twice, and one letter gone.
            let (first, rest) = key.name.split_at(key.name.len() / 2);
            let doubled = format!("{first}{}{rest}", &first[first.len() - 1..]);
            for slip in [doubled, key.name[..key.name.len() - 1].to_owned()] {
                let line = head.lines().count() + 1;
                let errors = errors(&format!("{head}{slip} = 1\n"));
                let start = format!("atlas.toml:{line}:1: unknown key `{slip}`");
                let found = errors.iter().find(|error| error.starts_with(&start));
                let found = found.unwrap_or_else(|| panic!("{slip} in {head}: {errors:#?}"));
                // A slip that is another section's key is taken for that one.
                let belongs = schema::belongs(&slip).is_some();
                assert!(belongs || found.contains(&format!("`{}`", key.name)), "{found}");
            }
        }
    }
}

#[test]
fn what_a_later_version_brings_is_refused_as_that_and_never_passed_over() {
    // Case 86.
    let mut count = 0;
    for (head, keys) in sections() {
        for key in keys.iter().filter(|key| matches!(key.kind, Kind::Later)) {
            count += 1;
            let line = head.lines().count() + 1;
            let whats = whats(&format!("{head}{} = 1\n", key.name));
            let start =
                format!("atlas.toml:{line}:1: this version of Atlas does not know `{}`", key.name);
            assert!(whats.iter().any(|what| what.starts_with(&start)), "{whats:#?}");
        }
    }
    assert_eq!(count, 7);
    assert_eq!(
        errors("[[routines]]\nname = \"x\"\n"),
        [
            "atlas.toml:1:3: this version of Atlas does not know `routines` yet\n  Take it out, or put a \
          # before it, until a version that knows it."
        ]
    );
    assert_eq!(
        errors("[memory]\nrefresh = \"replace\"\n"),
        [
            "atlas.toml:2:11: this version of Atlas does not know refresh \"replace\" yet\n  It knows: \"append\"."
        ]
    );
    assert_eq!(
        errors("[models.a]\nprovider = \"offline\"\nprice = 1\n"),
        [
            "atlas.toml:3:1: this version of Atlas does not know `price` in [models.a] yet\n  Take it out, or \
          put a # before it, until a version that knows it."
        ]
    );
}

#[test]
fn a_text_that_is_no_toml_is_told_with_its_line() {
    assert_eq!(
        errors("[owner]\ntelegram = [\"1\"\n[memory]\n"),
        [
            "atlas.toml:3:1: this is not TOML: missing comma between array elements, expected `,`\n  A line is `key = \
          \"text\"`, `key = 5`, `key = true`, `key = [\"a\", \"b\"]`, or a section: `[accounts.tg]`."
        ]
    );
    assert_eq!(
        errors("timezone = UTC\n"),
        [
            "atlas.toml:1:12: this value is neither text nor a number, true or false\n  Text stands in \
          quotes: `key = \"text\"`."
        ]
    );
    assert_eq!(
        errors("timezone = \"UTC\"\ntimezone = \"UTC\"\n"),
        ["atlas.toml:2:1: this key is written twice\n  Keep one of the two lines."]
    );
    assert_eq!(
        errors("[accounts.tg]\n[accounts.tg]\n"),
        ["atlas.toml:2:11: this key is written twice\n  Keep one of the two lines."]
    );
    let home = Home::new("");
    home.write("atlas.toml", b"a = 1\nb = \"\xff\"\n");
    assert_eq!(home.errors(), ["atlas.toml:2:6: this is no UTF-8 text\n  Save the file as UTF-8."]);
}

#[test]
fn a_value_of_the_wrong_kind_is_told_what_its_key_takes() {
    for (text, error) in [
        (
            "timezone = 5",
            "atlas.toml:1:12: `timezone` takes the name of a time zone in quotes, not a number\n  Write \
             for example `timezone = \"America/Sao_Paulo\"`.",
        ),
        (
            "[memory]\nnotice = \"yes\"",
            "atlas.toml:2:10: `notice` takes true or false, without quotes, not text\n  Write for \
             example `notice = true`.",
        ),
        (
            "[conversations]\ncompact_at = \"64000\"",
            "atlas.toml:2:14: `compact_at` takes a whole number without quotes, not text\n  Write for \
             example `compact_at = 64000`.",
        ),
        (
            "[conversations]\npatience = 900",
            "atlas.toml:2:12: `patience` takes a duration in quotes, not a number\n  Write for example \
             `patience = \"15m\"`.",
        ),
        (
            "[conversations]\ncompact_at = -1",
            "atlas.toml:2:14: `compact_at` is a number of tokens from 1 to 4294967295, not -1\n  Write \
             for example `compact_at = 64000`.",
        ),
        (
            "[owner]\ntelegram = \"5\"",
            "atlas.toml:2:12: `telegram` takes a list of ids in square brackets, not text\n  Write for \
             example `telegram = [\"123456789\"]`.",
        ),
        (
            "[owner]\ntelegram = [\n  \"5\",\n  1.5,\n]",
            "atlas.toml:4:3: `telegram` takes ids, not a number with a point\n  Write for example \
             `telegram = [\"123456789\"]`.",
        ),
        (
            "owner = 5",
            "atlas.toml:1:1: `owner` takes a section, not a number\n  Open it as [owner] and write its \
             keys below: telegram, discord.",
        ),
        (
            "[routes]\naccount = \"tg\"",
            "atlas.toml:1:2: `routes` takes a section in double brackets, not a section\n  Open it as \
             [[routes]] and write its keys below: account, chat, bot, answer, memory, allow, allow_bots.",
        ),
        (
            "[models]\nprovider = \"offline\"",
            "atlas.toml:2:1: `models` takes a section, not text\n  Open it as [models.<name>] and write \
             its keys below: provider, model, base_url, api_key, window, max_output, strict_roles, cache_ttl, \
             fallback.",
        ),
    ] {
        assert_eq!(errors(text), [error]);
    }
}

#[test]
fn a_bad_value_is_shown_with_what_is_right() {
    for (text, error) in [
        (
            "timezone = \"Sao_Paulo\"",
            "atlas.toml:1:12: `timezone` is no time zone: `Sao_Paulo`\n  The nearest is \"America/Sao_Paulo\".",
        ),
        (
            "[conversations]\npatience = \"15\"",
            "atlas.toml:2:12: `patience` is no duration: `15`\n  Write whole numbers with their unit, s, \
             m, h or d, up to a year: \"90s\", \"15m\", \"1h30m\".",
        ),
        (
            "[models.a]\nprovider = \"opena\"",
            "atlas.toml:2:12: unknown provider `opena`\n  The nearest is \"openai\". It knows: \
             \"anthropic\", \"openai\", \"offline\".",
        ),
        (
            "[models.a]\nprovider = \"ollama\"",
            "atlas.toml:2:12: unknown provider `ollama`\n  It knows: \"anthropic\", \"openai\", \"offline\". \"openai\" is \
             any server that speaks chat completions; its address goes into `base_url`.",
        ),
        (
            "[models.a]\nprovider = \"antropic\"",
            "atlas.toml:2:12: unknown provider `antropic`\n  The nearest is \"anthropic\". It knows: \
             \"anthropic\", \"openai\", \"offline\".",
        ),
        (
            "[models.a]\nprovider = \"offline\"\nmodel = \" \"",
            "atlas.toml:3:9: `model` is empty\n  Write a value, or take the line out: `model = \"atlas\"`.",
        ),
        (
            "[models.a]\nprovider = \"offline\"\nbase_url = \"127.0.0.1\"",
            "atlas.toml:3:12: `base_url` is no address: `127.0.0.1`\n  Begin with http:// or https:// \
             and a host: \"http://127.0.0.1:11434/v1\".",
        ),
        (
            "[models.a]\nprovider = \"offline\"\nbase_url = \"https://ana:pw@host/v1\"",
            "atlas.toml:3:12: `base_url` holds a name or password before its host\n  Addresses are shown \
             in logs. Take out what stands before the @.",
        ),
        (
            "[models.a]\nprovider = \"offline\"\nwindow = 100\nmax_output = 100",
            "atlas.toml:4:14: `max_output` = 100 leaves no room in `window` = 100\n  The window holds \
             input and output together: write a smaller `max_output`.",
        ),
        (
            "[models.\"my model\"]\nprovider = \"offline\"",
            "atlas.toml:1:9: `my model` cannot be a name in [models]\n  Names have 1 to 32 letters, \
             digits, dashes and underscores.",
        ),
        (
            "[owner]\ntelegram = [\"@ana\"]",
            "atlas.toml:2:13: `@ana` is no person's id on Telegram\n  An id is a number, such as \
             123456789. `atlas pair` finds yours without looking it up.",
        ),
        (
            "[owner]\ntelegram = [-100]",
            "atlas.toml:2:13: `-100` is no person's id on Telegram\n  This is a chat's id. Let people in \
             by their own ids; a chat gets a route with allow = [\"*\"].",
        ),
    ] {
        assert_eq!(errors(text), [error]);
    }
}

#[test]
fn ids_are_compared_as_texts_so_they_stand_as_the_platform_writes_them() {
    for id in ["007", "+5", "0", "1 2", "99999999999999999999999", "１２"] {
        let whats = whats(&format!("[owner]\ntelegram = [\"{id}\"]"));
        assert_eq!(whats, [format!("atlas.toml:2:13: `{id}` is no person's id on Telegram")]);
    }
}

const ACCOUNT: &str = "[accounts.tg]\nplatform = \"telegram\"\ntoken = \"env:T\"\n";

fn account(more: &str) -> Home {
    Home::new(&format!("{ACCOUNT}{more}")).set("T", "1:a")
}

#[test]
fn what_is_missing_is_told_where_its_section_opens() {
    assert_eq!(
        errors("[accounts.tg]\n[models.a]\n[models.b]\nprovider = \"openai\"\n[[routes]]\n"),
        [
            "atlas.toml:1:11: [accounts.tg] has no `platform`\n  Add `platform = \"telegram\"`, or \"discord\".",
            "atlas.toml:1:11: [accounts.tg] has no `token`\n  Add `token = \"env:TELEGRAM_TOKEN\"`, as \
             BotFather gave it.",
            "atlas.toml:2:9: [models.a] has no `provider`\n  Add `provider = \"anthropic\"`, \"openai\", or \"offline\".",
            "atlas.toml:3:9: [models.b] has no `api_key`\n  Add `api_key = \"env:OPENAI_API_KEY\"`, or the \
             `base_url` of a server of your own.",
            "atlas.toml:3:9: [models.b] has no `model`\n  Add the model's name at its provider: `model = \
             \"gpt-5-mini\"`.",
            "atlas.toml:5:1: this [[routes]] has no `account`\n  Add the account it is on: `account = \"tg\"`.",
            "atlas.toml:5:1: this [[routes]] has no `chat`\n  Add the chat it is about: `chat = \
             \"-1001234567890\"`.",
        ]
    );
}

#[test]
fn a_key_that_was_written_wrongly_is_not_called_missing_too() {
    assert_eq!(
        whats("[accounts.tg]\nplatform = 5\ntoken = 5\n[models.a]\nprovider = 1\n"),
        [
            "atlas.toml:2:12: `platform` takes a word in quotes, not a number",
            "atlas.toml:3:9: `token` takes text in quotes, not a number",
            "atlas.toml:5:12: `provider` takes a word in quotes, not a number",
        ]
    );
}

#[test]
fn every_name_that_leads_nowhere_is_told_with_the_nearest() {
    let home = account(
        "bot = \"sea\"\n[[routes]]\naccount = \"tgg\"\nchat = \"-1\"\nbot = \"soe\"\n[[routes]]\naccount = \
         \"xyzzy\"\nchat = \"-1\"\n",
    )
    .with("bots/seo/BOT.md", "---\nmodel: defalt\n---\nSearch.")
    .set("ATLAS__MODELS__DEFAULT__PROVIDER", "offline");
    assert_eq!(
        home.errors(),
        [
            "atlas.toml:4:7: there is no bot `sea`\n  The nearest is \"seo\". There are: atlas, seo.",
            "atlas.toml:6:11: there is no account `tgg`\n  The nearest is \"tg\". There are: tg.",
            "atlas.toml:8:7: there is no bot `soe`\n  The nearest is \"seo\". There are: atlas, seo.",
            "atlas.toml:10:11: there is no account `xyzzy`\n  There are: tg. Or add it as [accounts.<name>].",
            "bots/seo/BOT.md:2:8: there is no model `defalt`\n  The nearest is \"default\". There are: default.",
        ]
    );
    assert_eq!(
        errors("[[routes]]\naccount = \"tg\"\nchat = \"-1\"\n"),
        ["atlas.toml:2:11: there is no account `tg`\n  Add it as [accounts.<name>]."]
    );
}

#[test]
fn an_error_in_an_account_makes_none_in_its_routes() {
    let home = account("bto = \"seo\"\n[[routes]]\naccount = \"tg\"\nchat = \"-1\"\n");
    assert_eq!(home.errors().len(), 1, "{:?}", home.errors());
}

#[test]
fn a_discord_account_has_its_own_ids_and_backlog() {
    let discord = |rest: &str| {
        let home = format!("[accounts.dc]\nplatform = \"discord\"\ntoken = \"env:DC\"\n{rest}");
        Home::new(&home).set("DC", "a.b.c")
    };
    let config = discord("backlog = \"90m\"\n[owner]\ndiscord = [7]\n").config();
    let account = &config.accounts[&"dc".into()];
    assert_eq!(account.platform, AccountPlatform::Discord);
    assert_eq!(account.backlog.as_secs(), 90 * 60);
    assert_eq!((config.owner[0].platform.as_str(), config.owner[0].id.as_str()), ("discord", "7"));
    assert_eq!(discord("").config().accounts[&"dc".into()].backlog.as_secs(), 6 * 3600);

    let route = |chat: &str| discord(&format!("[[routes]]\naccount = \"dc\"\nchat = \"{chat}\"\n"));
    assert_eq!(
        route("1234567890123456789").config().routes[0].chat.as_str(),
        "1234567890123456789"
    );
    for chat in ["-1001", "0", "#general", "1:2"] {
        let errors = route(chat).errors();
        assert!(errors[0].contains("is no chat's id on Discord\n  A server's"), "{errors:?}");
    }
    let errors = discord("[owner]\ndiscord = [\"ana\"]\n").errors();
    assert!(errors[0].contains("`ana` is no person's id on Discord"), "{errors:?}");
}

#[test]
fn a_connection_is_made_of_platform_token_address_and_backlog() {
    let account = |rest: &str| {
        let home = format!("[accounts.dc]\nplatform = \"discord\"\ntoken = \"env:DC\"\n{rest}");
        Home::new(&home).set("DC", "a.b.c").config().accounts[&"dc".into()].clone()
    };
    let plain = account("");
    for same in ["", "backlog = \"6h\"", "allow = [7]", "bot = \"atlas\""] {
        assert!(plain.connects_as(&account(same)), "{same}");
    }
    let other = Account { platform: AccountPlatform::Telegram, ..plain.clone() };
    let token = Account { token: "a.b.d".into(), ..plain.clone() };
    let address = account("api_base = \"http://127.0.0.1:1\"");
    for other in [account("backlog = \"5h\""), address, other, token] {
        assert!(!plain.connects_as(&other), "{other:?}");
    }
}

#[test]
fn a_telegram_account_has_a_backlog_too() {
    let backlog = |rest: &str| account(rest).config().accounts[&"tg".into()].backlog.as_secs();
    assert_eq!((backlog(""), backlog("backlog = \"90m\"\n")), (6 * 3600, 90 * 60));
}

#[test]
fn a_chat_is_a_number_or_a_group_and_its_topic() {
    for chat in ["5", "-1001234567890", "-1001234567890:7"] {
        let home = account(&format!("[[routes]]\naccount = \"tg\"\nchat = \"{chat}\"\n"));
        assert_eq!(home.config().routes[0].chat.as_str(), chat);
    }
    for chat in ["@news", "-100:", "-100:x", ":7", "1:2:3", "-0", "t.me/x"] {
        let home = account(&format!("[[routes]]\naccount = \"tg\"\nchat = \"{chat}\"\n"));
        let what = format!(
            "atlas.toml:6:8: `{chat}` is no chat's id on Telegram\n  A group's id is a number such as \
             -1001234567890, a topic's is the group's and its own: -1001234567890:7."
        );
        assert_eq!(home.errors(), [what]);
    }
}

#[test]
fn two_routes_of_one_chat_and_two_accounts_of_one_token_are_refused() {
    let route = "[[routes]]\naccount = \"tg\"\nchat = \"-5\"\n";
    assert_eq!(
        account(&format!("{route}{route}")).errors(),
        [
            "atlas.toml:9:8: the chat `-5` of account `tg` has two routes\n  Keep one; the other is at \
          atlas.toml:6:8."
        ]
    );
    assert_eq!(
        account(&ACCOUNT.replace("tg", "two")).errors(),
        [
            "atlas.toml:6:9: the accounts `tg` and `two` have the same token\n  A platform gives each \
          message to one of them only: take one account out."
        ]
    );
}

#[test]
fn allow_is_somebody_everybody_or_nobody() {
    let allow = |list: &str| account(&format!("allow = {list}\n"));
    assert_eq!(allow("[]").config().accounts[&"tg".into()].allow, Allow::Nobody);
    assert_eq!(account("").config().accounts[&"tg".into()].allow, Allow::Nobody);
    assert_eq!(allow("[\"*\"]").config().accounts[&"tg".into()].allow, Allow::Everybody);
    assert_eq!(
        allow("[\"*\", 5]").errors(),
        [
            "atlas.toml:4:9: `allow` names everybody and somebody\n  Write [\"*\"] for everybody, or the \
          ids of those who may talk."
        ]
    );
    // An empty list of a route is a choice of its own, and not the account's.
    let home = account("allow = [5]\n[[routes]]\naccount = \"tg\"\nchat = -5\nallow = []\n");
    assert_eq!(home.config().routes[0].allow, Allow::Nobody);
}

#[test]
fn all_errors_come_at_once_by_file_and_line() {
    let home =
        Home::new("x = 1\n[owner]\ntelegram = [true, \"@a\"]\n[conversations]\npatience = \"x\"\n")
            .with("bots/b/BOT.md", "---\nnme: x\n---\nB.")
            .with("bots/a/BOT.md", "---\nname: x\nnme: x\n---\nA.")
            .set("ATLAS__TIMEZONE", "Mars");
    let whats: Vec<String> =
        home.errors().iter().map(|error| error.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(
        whats,
        [
            "atlas.toml:1:1",
            "atlas.toml:3:13",
            "atlas.toml:3:19",
            "atlas.toml:5:12",
            "bots/a/BOT.md:3:1",
            "bots/b/BOT.md:2:1",
            "environment variable ATLAS__TIMEZONE",
        ]
    );
}

#[test]
fn the_first_model_of_the_file_answers_where_none_is_called_default() {
    let text = "[models.zeta]\nprovider = \"offline\"\n[models.alpha]\nprovider = \"offline\"\n";
    assert_eq!(Home::new(text).config().default_model, "zeta".into());
    let text = format!("{text}[models.default]\nprovider = \"offline\"\n");
    assert_eq!(Home::new(&text).config().default_model, "default".into());
}

#[test]
fn an_episode_that_would_be_cut_at_once_is_warned_of() {
    let home = Home::new("[conversations]\ncompact_at = 64\n");
    assert_eq!(
        home.config().warnings,
        [
            "`compact_at` = 64 tokens cuts a conversation after nearly every message; it is meant in \
          tokens, such as 64000."
        ]
    );
}

#[test]
fn a_mark_at_the_start_and_windows_line_ends_change_nothing() {
    let text = format!("\u{feff}{}", WHOLE.replace('\n', "\r\n"));
    let home = whole();
    home.write("atlas.toml", text);
    assert_eq!(home.config().routes.len(), 2);
    assert_eq!(
        errors("\u{feff}x = 1\r\ny = 2\r\n").iter().map(|e| &e[..14]).collect::<Vec<_>>(),
        ["atlas.toml:1:1", "atlas.toml:2:1"]
    );
}

proptest! {
    // A case is eight homes.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_key_of_another_spelling_is_never_passed_over(name in "[a-z_A-Z]{1,20}") {
        for (head, keys) in sections() {
            prop_assume!(schema::find(keys, &name).is_none());
            let text = format!("{head}{name} = 1\n");
            let found = whats(&text).iter().any(|what| what.contains(&format!("unknown key `{name}`")));
            prop_assert!(found, "{text}");
        }
    }
}
