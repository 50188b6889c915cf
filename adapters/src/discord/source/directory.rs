//! What is known of servers and their channels, from what the gateway tells: where a message stands,
//! and which role is the bot's own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, GuildId, MessageId};

use super::super::decode::Where;

/// A channel, thread or DM, as far as it matters.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Channel {
    pub(super) id: ChannelId,
    #[serde(default, rename = "type")]
    kind: u8,
    #[serde(default)]
    guild_id: Option<GuildId>,
    #[serde(default)]
    parent_id: Option<ChannelId>,
    #[serde(default)]
    name: Option<String>,
    /// The last message that was written in it, which may be gone.
    #[serde(default)]
    last_message_id: Option<MessageId>,
    /// A thread that was opened just now.
    #[serde(default)]
    pub(super) newly_created: bool,
}

/// A server, as `GUILD_CREATE` tells of it.
#[derive(Debug, Deserialize)]
pub(super) struct Guild {
    pub(super) id: GuildId,
    #[serde(default)]
    roles: Vec<Value>,
    #[serde(default)]
    channels: Vec<Value>,
    #[serde(default)]
    threads: Vec<Value>,
}

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Directory {
    channels: BTreeMap<u64, Channel>,
    /// The bot's own role on each server.
    roles: BTreeMap<u64, u64>,
    /// Servers that READY named and that were not told of yet.
    awaited: BTreeSet<u64>,
}

impl Channel {
    /// The DM of this number: a message that is on no server came in it.
    pub(super) fn dm(id: ChannelId) -> Self {
        Self {
            id,
            kind: 1,
            guild_id: None,
            parent_id: None,
            name: None,
            last_message_id: None,
            newly_created: false,
        }
    }

    /// Its server.
    pub(super) fn guild(&self) -> Option<u64> {
        self.guild_id.map(GuildId::get)
    }

    /// With the server it is on, where it does not say so itself.
    pub(super) fn on(self, guild: Option<GuildId>) -> Self {
        Self { guild_id: self.guild_id.or(guild), ..self }
    }

    /// The last message that was written in it.
    pub(super) fn last_message(&self) -> u64 {
        self.last_message_id.map(MessageId::get).unwrap_or_default()
    }

    /// A DM with one person.
    pub(super) fn is_direct(&self) -> bool {
        self.kind == 1
    }

    fn is_thread(&self) -> bool {
        (10..=12).contains(&self.kind)
    }

    /// Whether messages are written in it; in a forum they are written in its posts.
    pub(super) fn holds_messages(&self) -> bool {
        matches!(self.kind, 0..=3 | 5 | 10..=13)
    }
}

impl Guild {
    /// Channels and threads, each that can be read.
    pub(super) fn channels(&self) -> Vec<Channel> {
        let all = self.channels.iter().chain(&self.threads);
        let read = all.filter_map(|channel| Channel::deserialize(channel).ok());
        read.map(|channel| channel.on(Some(self.id))).collect()
    }
}

impl Directory {
    /// A new session begins, and will tell of these servers.
    pub(super) fn expect(&mut self, guilds: impl IntoIterator<Item = u64>) {
        self.awaited = guilds.into_iter().collect();
    }

    /// A server is out of reach, and will be told of when it is back.
    pub(super) fn lose(&mut self, guild: u64) {
        self.awaited.insert(guild);
    }

    /// Whether a server is still to be told of.
    pub(super) fn awaits(&self, guild: u64) -> bool {
        self.awaited.contains(&guild)
    }

    /// Nothing is waited for any more.
    pub(super) fn give_up_waiting(&mut self) {
        self.awaited.clear();
    }

    /// A server was told of, channels apart.
    pub(super) fn enter(&mut self, guild: &Guild, me: u64) {
        self.awaited.remove(&guild.id.get());
        for role in &guild.roles {
            self.role(guild.id.get(), role, me);
        }
    }

    /// A role of a server: kept where it is the bot's own.
    pub(super) fn role(&mut self, guild: u64, role: &Value, me: u64) {
        let id = |value: Option<&Value>| value?.as_str()?.parse::<u64>().ok();
        let of = id(role.get("tags").and_then(|tags| tags.get("bot_id")));
        if let (Some(of), Some(role)) = (of, id(role.get("id")))
            && of == me
        {
            self.roles.insert(guild, role);
        }
    }

    /// A channel as it is now.
    pub(super) fn put(&mut self, channel: Channel) {
        self.channels.insert(channel.id.get(), channel);
    }

    /// A channel is gone.
    pub(super) fn forget(&mut self, channel: u64) {
        self.channels.remove(&channel);
    }

    /// A channel that was told of.
    pub(super) fn channel(&self, channel: u64) -> Option<Channel> {
        self.channels.get(&channel).cloned()
    }

    /// The channels of a server.
    pub(super) fn of_guild(&self, guild: u64) -> Vec<u64> {
        let of = self.channels.values().filter(|one| one.guild() == Some(guild));
        of.map(|channel| channel.id.get()).collect()
    }

    /// Where a channel's messages stand. None where it, or what a thread is in, is not known.
    pub(super) fn place(&self, channel: u64) -> Option<Where> {
        let known = self.channels.get(&channel)?;
        Some(self.place_of(known))
    }

    /// Where the messages of this channel stand.
    pub(super) fn place_of(&self, channel: &Channel) -> Where {
        if channel.is_direct() {
            return Where::dm(channel.id.get());
        }
        // The parent of an ordinary channel is a category, in which nothing is said.
        let parent = channel.parent_id.filter(|_| channel.is_thread()).map(ChannelId::get);
        let guild = channel.guild_id.map(GuildId::get);
        let lineage = [Some(channel.id.get()), parent, guild].into_iter().flatten().collect();
        let role = guild.and_then(|guild| self.roles.get(&guild).copied());
        Where { lineage, direct: false, name: channel.name.clone(), role }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn directory() -> Directory {
        let guild: Guild = serde_json::from_value(json!({
            "id": "9",
            "roles": [
                {"id": "9", "name": "@everyone"},
                {"id": "91", "name": "Atlas", "managed": true, "tags": {"bot_id": "7"}},
                {"id": "92", "tags": {"bot_id": "8"}},
                {"odd": true},
            ],
            "channels": [
                {"id": "10", "type": 4, "name": "category"},
                {"id": "11", "type": 0, "name": "general", "parent_id": "10"},
                {"id": "12", "type": 15, "name": "ideas", "parent_id": "10"},
                {"type": 0},
            ],
            "threads": [{"id": "13", "type": 11, "name": "a post", "parent_id": "12"}],
        }))
        .unwrap();
        let mut directory = Directory::default();
        directory.expect([9, 99]);
        directory.enter(&guild, 7);
        guild.channels().into_iter().for_each(|channel| directory.put(channel));
        directory
    }

    #[test]
    fn a_place_is_its_thread_its_channel_and_its_server() {
        let directory = directory();
        assert_eq!(directory.place(11).unwrap().lineage, [11, 9], "a category is no place");
        let post = directory.place(13).unwrap();
        assert_eq!(post.lineage, [13, 12, 9]);
        assert_eq!((post.name.as_deref(), post.role), (Some("a post"), Some(91)));
        assert_eq!(directory.place(14), None);
        assert_eq!(directory.of_guild(9), [10, 11, 12, 13]);
    }

    #[test]
    fn a_server_is_awaited_until_it_is_told_of() {
        let mut directory = directory();
        assert!(!directory.awaits(9) && directory.awaits(99));
        directory.lose(9);
        assert!(directory.awaits(9));
        directory.give_up_waiting();
        assert!(!directory.awaits(9));
    }
}
