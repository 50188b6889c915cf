//! Every key there is, as one table: what the walk over the file, the environment, the example and
//! the documentation are held to. Keys that the design names and a later version brings stand here
//! too, so that they are refused as what they are and not as slips.

/// A key and what it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// As it is written.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) kind: Kind,
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Text that is not empty.
    Text,
    /// `http://…` or `https://…`, without a password in it.
    Address,
    /// `env:`, `secret:`, `file:` or the secret itself.
    Secret,
    /// A number of tokens, at least 1.
    Tokens,
    /// `true` or `false`.
    Switch,
    /// `15m`.
    Duration,
    /// `20/h`: so many in a window.
    Rate,
    /// A zone of the IANA database.
    Zone,
    /// One of these words. The second list is what later versions bring.
    OneOf(&'static [&'static str], &'static [&'static str]),
    /// An id; a number without quotes is taken as one.
    Id,
    /// A list of ids.
    Ids,
    /// A list of names of sections.
    Names,
    /// `[section]`.
    Section(&'static [Key]),
    /// `[section.<name>]`, any number of them.
    Named(&'static [Key]),
    /// `[[section]]`, any number of them.
    Rows(&'static [Key]),
    /// Specified, and brought by a later version.
    Later,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind }
}

/// The file.
pub(crate) const ROOT: &[Key] = &[
    key("timezone", Kind::Zone),
    key("owner", Kind::Section(OWNER)),
    key("models", Kind::Named(MODEL)),
    key("accounts", Kind::Named(ACCOUNT)),
    key("routes", Kind::Rows(ROUTE)),
    key("conversations", Kind::Section(CONVERSATIONS)),
    key("memory", Kind::Section(MEMORY)),
    key("limits", Kind::Section(LIMITS)),
    key("deciders", Kind::Rows(DECIDER)),
    key("routines", Kind::Later),
    key("budget", Kind::Later),
    key("http", Kind::Later),
    key("database", Kind::Later),
];

const OWNER: &[Key] = &[key("telegram", Kind::Ids), key("discord", Kind::Ids)];

const MODEL: &[Key] = &[
    key("provider", Kind::OneOf(&["anthropic", "openai", "offline"], &[])),
    key("model", Kind::Text),
    key("base_url", Kind::Address),
    key("api_key", Kind::Secret),
    key("window", Kind::Tokens),
    key("max_output", Kind::Tokens),
    key("strict_roles", Kind::Switch),
    key("cache_ttl", Kind::OneOf(&["1h", "5m"], &[])),
    key("fallback", Kind::Names),
    key("price", Kind::Later),
];

const ACCOUNT: &[Key] = &[
    key("platform", Kind::OneOf(&["telegram", "discord"], &[])),
    key("token", Kind::Secret),
    key("bot", Kind::Text),
    key("allow", Kind::Ids),
    key("api_base", Kind::Address),
    key("backlog", Kind::Duration),
];

const ROUTE: &[Key] = &[
    key("account", Kind::Text),
    key("chat", Kind::Id),
    key("bot", Kind::Text),
    key("answer", Kind::OneOf(&["mentioned", "all"], &[])),
    key("memory", Kind::OneOf(&["none", "notes", "all"], &[])),
    key("allow", Kind::Ids),
    key("allow_bots", Kind::Ids),
    key("tools", Kind::Later),
    key("stream", Kind::Later),
];

const CONVERSATIONS: &[Key] = &[
    key("join_direct", Kind::Switch),
    key("compact_at", Kind::Tokens),
    key("patience", Kind::Duration),
];

const MEMORY: &[Key] =
    &[key("notice", Kind::Switch), key("refresh", Kind::OneOf(&["append"], &["replace"]))];

const LIMITS: &[Key] = &[key("guest", Kind::Rate), key("chat", Kind::Rate)];

const DECIDER: &[Key] =
    &[key("name", Kind::Text), key("telegram", Kind::Ids), key("discord", Kind::Ids)];

/// The front matter of a `BOT.md`.
pub(crate) const BOT: &[Key] = &[
    key("name", Kind::Text),
    key("model", Kind::Text),
    key("tools", Kind::Later),
    key("review", Kind::Later),
];

impl Kind {
    /// The keys below this one.
    pub(crate) fn keys(self) -> &'static [Key] {
        match self {
            Self::Section(keys) | Self::Named(keys) | Self::Rows(keys) => keys,
            _ => &[],
        }
    }
}

/// The key of this name among these.
pub(crate) fn find(keys: &[Key], name: &str) -> Option<Key> {
    keys.iter().find(|key| key.name == name).copied()
}

/// The names that this version takes, for an error's second line.
pub(crate) fn names(keys: &[Key]) -> String {
    let names = keys.iter().filter(|key| !matches!(key.kind, Kind::Later)).map(|key| key.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Where a key of this name belongs: `[accounts.<name>]`. None where it is in no section.
pub(crate) fn belongs(name: &str) -> Option<String> {
    ROOT.iter().find(|section| find(section.kind.keys(), name).is_some()).map(header)
}

/// How a section is opened in the file.
pub(crate) fn header(section: &Key) -> String {
    match section.kind {
        Kind::Named(_) => format!("[{}.<name>]", section.name),
        Kind::Rows(_) => format!("[[{}]]", section.name),
        _ => format!("[{}]", section.name),
    }
}
