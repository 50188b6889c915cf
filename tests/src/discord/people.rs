//! People, servers and channels as tests speak of them, and as the API does.

use std::time::Duration;

use serde_json::{Value, json};

use super::{BOT_ID, BOT_NAME};

/// A person or another bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Their number.
    pub id: u64,
    /// Their user name.
    pub name: String,
    /// Whether it is a bot.
    pub bot: bool,
}

impl User {
    /// A person.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Self {
        Self { id, name: name.to_owned(), bot: false }
    }

    /// Another bot.
    #[must_use]
    pub fn bot(id: u64, name: &str) -> Self {
        Self { bot: true, ..Self::new(id, name) }
    }

    /// The bot under test.
    pub(super) fn me() -> Self {
        Self::bot(BOT_ID, BOT_NAME)
    }

    /// As the API tells of them.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id.to_string(), "username": self.name, "discriminator": "0",
            "global_name": null, "avatar": null, "bot": self.bot, "public_flags": 0,
        })
    }
}

/// What a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary one.
    Text,
    /// A person's DMs with the bot.
    Dm,
    /// A thread.
    Thread,
    /// A forum, which holds posts and no messages.
    Forum,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Dm => 1,
            Self::Thread => 11,
            Self::Forum => 15,
        }
    }
}

/// A channel, thread, post, forum or DM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its number; 0: it is given one when it opens.
    pub id: u64,
    /// What it is.
    pub kind: Kind,
    /// Its server.
    pub guild: Option<u64>,
    /// What a thread or post is in.
    pub parent: Option<u64>,
    /// Its name.
    pub name: String,
    /// Whose DM it is.
    pub with: Option<u64>,
}

impl Channel {
    /// An ordinary channel of a server.
    #[must_use]
    pub fn text(id: u64, guild: &Guild, name: &str) -> Self {
        let name = name.to_owned();
        Self { id, kind: Kind::Text, guild: Some(guild.id), parent: None, name, with: None }
    }

    /// A forum of a server.
    #[must_use]
    pub fn forum(id: u64, guild: &Guild, name: &str) -> Self {
        Self { kind: Kind::Forum, ..Self::text(id, guild, name) }
    }

    /// A thread of this channel, or a post of this forum, that is opened now.
    #[must_use]
    pub fn thread(&self, name: &str) -> Self {
        Self {
            id: 0,
            kind: Kind::Thread,
            parent: Some(self.id),
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// As the API tells of it.
    pub(super) fn json(&self, last_message: Option<u64>) -> Value {
        let mut json = json!({
            "id": self.id.to_string(), "type": self.kind.number(),
            "last_message_id": last_message.map(|id| id.to_string()),
        });
        if let Some(guild) = self.guild {
            json["guild_id"] = json!(guild.to_string());
            json["name"] = json!(self.name);
            json["position"] = json!(0);
            json["permission_overwrites"] = json!([]);
            json["nsfw"] = json!(false);
        }
        if let Some(parent) = self.parent {
            json["parent_id"] = json!(parent.to_string());
        }
        if self.kind == Kind::Thread {
            json["owner_id"] = json!(self.id.to_string());
            json["message_count"] = json!(0);
            json["member_count"] = json!(1);
            json["thread_metadata"] = json!({
                "archived": false, "auto_archive_duration": 1440, "locked": false,
                "archive_timestamp": "2026-01-01T00:00:00+00:00",
            });
        }
        if let Some(user) = self.with {
            let name = format!("user-{user}");
            json["recipients"] = json!([User::new(user, &name).json()]);
        }
        json
    }
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guild {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The bot's own role in it.
    pub role: u64,
    /// What everybody may do in it.
    pub permissions: u64,
}

impl Guild {
    /// A server in which everybody may do everything.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Self {
        Self { id, name: name.to_owned(), role: id + 1, permissions: (1 << 50) - 1 - (1 << 3) }
    }

    pub(super) fn roles(&self) -> Value {
        let role = |id: u64, name: &str, managed: bool| {
            let mut role = json!({
                "id": id.to_string(), "name": name, "color": 0, "hoist": false, "position": 0,
                "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
                "permissions": self.permissions.to_string(), "managed": managed, "flags": 0,
                "mentionable": false,
            });
            if managed {
                role["tags"] = json!({"bot_id": BOT_ID.to_string()});
            }
            role
        };
        json!([role(self.id, "@everyone", false), role(self.role, "Atlas", true)])
    }

    /// As the API tells of it when it is asked.
    pub(super) fn json(&self) -> Value {
        json!({
            "id": self.id.to_string(), "name": self.name, "icon": null, "splash": null,
            "discovery_splash": null, "owner_id": "1", "afk_channel_id": null, "afk_timeout": 300,
            "verification_level": 0, "default_message_notifications": 0,
            "explicit_content_filter": 0, "roles": self.roles(), "emojis": [], "features": [],
            "mfa_level": 0, "application_id": null, "system_channel_id": null,
            "system_channel_flags": 0, "rules_channel_id": null, "vanity_url_code": null,
            "description": null, "banner": null, "premium_tier": 0, "preferred_locale": "en-US",
            "public_updates_channel_id": null, "nsfw_level": 0, "stickers": [],
            "premium_progress_bar_enabled": false,
        })
    }
}

/// A message that somebody is about to write.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Where.
    pub channel: u64,
    /// By whom.
    pub author: User,
    /// What the API tells of it.
    pub body: Value,
    /// How long ago.
    pub ago: Duration,
    /// Not by the author, but by a webhook that bears their name.
    pub webhook: bool,
}

impl Draft {
    /// Plain words. People and roles in them are mentioned as Discord writes it: `<@1>`, `<@&1>`.
    #[must_use]
    pub fn text(channel: u64, author: &User, text: &str) -> Self {
        let body = json!({"content": text, "type": 0});
        Self { channel, author: author.clone(), body, ago: Duration::ZERO, webhook: false }
    }

    /// Words that speak to the bot by its name.
    #[must_use]
    pub fn to_bot(channel: u64, author: &User, text: &str) -> Self {
        Self::text(channel, author, &format!("<@{BOT_ID}> {text}"))
    }

    /// As a reply to this message, which the stand-in adds.
    #[must_use]
    pub fn replying_to(mut self, message: u64) -> Self {
        self.body["type"] = json!(19);
        self.body["message_reference"] = json!({"message_id": message.to_string()});
        self
    }

    /// Written so long ago.
    #[must_use]
    pub fn ago(mut self, ago: Duration) -> Self {
        self.ago = ago;
        self
    }

    /// Written by a webhook that bears the author's name.
    #[must_use]
    pub fn by_webhook(mut self) -> Self {
        self.webhook = true;
        self
    }

    /// With any other field of the API.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.body[key] = value;
        self
    }
}
