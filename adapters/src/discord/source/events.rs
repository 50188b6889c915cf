//! What the gateway tells, event by event: what is remembered of it, and what goes to the store.

use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ApplicationId, ChannelId, GuildId, UserId};
use std::time::Duration;
use tokio::time::sleep;
use tracing::info;

use super::super::decode::{self, Head, Me, Where};
use super::super::slash;
use super::chats::{Comes, Waiting};
use super::directory::{Channel, Guild};
use super::work::{ACKNOWLEDGE, Done, Item, Work};

/// How long servers may take to be told of before their channels are asked for.
const SERVERS: Duration = Duration::from_secs(10);

/// What an event means for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A session has begun.
    Ready,
    /// The session goes on.
    Resumed,
    /// Something else happened.
    Other,
}

#[derive(Deserialize)]
struct Ready {
    user: ReadyUser,
    session_id: String,
    resume_gateway_url: String,
    application: ReadyApplication,
    #[serde(default)]
    guilds: Vec<Unavailable>,
}

#[derive(Deserialize)]
struct ReadyUser {
    id: UserId,
    username: String,
}

#[derive(Deserialize)]
struct ReadyApplication {
    id: ApplicationId,
}

#[derive(Deserialize)]
struct Unavailable {
    id: GuildId,
    #[serde(default)]
    unavailable: bool,
}

#[derive(Deserialize)]
struct Role {
    guild_id: GuildId,
    role: Value,
}

#[derive(Deserialize)]
struct Threads {
    guild_id: GuildId,
    #[serde(default)]
    threads: Vec<Value>,
}

/// Where a command was given.
#[derive(Deserialize)]
struct GivenIn {
    #[serde(default)]
    guild_id: Option<GuildId>,
    #[serde(default)]
    channel_id: Option<ChannelId>,
    #[serde(default)]
    channel: Option<Value>,
}

impl Work<'_> {
    /// Takes an event of this number. An error says why the session is useless.
    pub(super) fn told(&mut self, seq: u64, name: &str, data: &str) -> Result<Told, String> {
        let mut told = Told::Other;
        if name == "READY" {
            self.ready(data)?;
            told = Told::Ready;
        }
        self.session.heard(seq);
        let number = Some((self.generation, seq));
        let readable = match name {
            "RESUMED" => {
                told = Told::Resumed;
                true
            }
            "MESSAGE_CREATE" => return Ok(self.written(number, data)),
            "MESSAGE_UPDATE" => return Ok(self.edited(number, data)),
            "INTERACTION_CREATE" => return Ok(self.given(number, data)),
            "GUILD_CREATE" => self.guild(data),
            "GUILD_DELETE" => self.guild_gone(data),
            "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" => self.role(data),
            "CHANNEL_CREATE" => self.channel(data, true),
            "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => self.channel(data, false),
            "CHANNEL_DELETE" | "THREAD_DELETE" => self.channel_gone(data),
            "THREAD_LIST_SYNC" => self.threads(data),
            _ => true,
        };
        let why = || format!("{name} has an unknown form");
        let envelope = (!readable).then(|| decode::unreadable(&self.source.account, data, why()));
        self.push(Item { seq: number, envelope, ..Item::default() });
        Ok(told)
    }

    /// A frame that is not even an event.
    pub(super) fn unknown(&mut self, frame: &str, why: String) {
        let envelope = Some(decode::unreadable(&self.source.account, frame, why));
        self.push(Item { envelope, ..Item::default() });
    }

    fn ready(&mut self, data: &str) -> Result<(), String> {
        let ready: Ready = serde_json::from_str(data)
            .map_err(|error| format!("READY has an unknown form at column {}", error.column()))?;
        self.session.begun(ready.session_id, ready.resume_gateway_url);
        self.generation += 1;
        self.me = Me { id: ready.user.id.get(), name: ready.user.username };
        let http = self.source.api.http();
        http.set_application_id(ready.application.id);
        info!(account = %self.source.account, bot = %self.me.name, "connected to Discord");
        self.directory.expect(ready.guilds.iter().map(|guild| guild.id.get()));
        for dm in self.chats.begin() {
            if let Some(after) = self.chats.cursor(dm) {
                self.read(dm, after);
            }
        }
        let generation = self.generation;
        self.jobs.push(
            async move {
                sleep(SERVERS).await;
                Done::Waited(generation)
            }
            .boxed(),
        );
        if !self.registered {
            self.jobs
                .push(slash::register(http, ready.application.id).map(Done::Registered).boxed());
        }
        Ok(())
    }

    fn guild(&mut self, data: &str) -> bool {
        let Ok(guild) = serde_json::from_str::<Guild>(data) else { return false };
        self.directory.enter(&guild, self.me.id);
        let channels = guild.channels();
        let newest = channels.iter().map(|one| one.id.get().max(one.last_message())).max();
        for channel in channels {
            self.meet(channel);
        }
        self.chats.know(guild.id.get(), newest.unwrap_or_default());
        // What waited for this server in a channel that is not on its list (an archived thread).
        for chat in self.chats.neglected() {
            self.consider(chat);
        }
        true
    }

    fn guild_gone(&mut self, data: &str) -> bool {
        let Ok(guild) = serde_json::from_str::<Unavailable>(data) else { return false };
        let id = guild.id.get();
        let channels = self.directory.of_guild(id);
        if guild.unavailable {
            self.directory.lose(id);
            self.chats.lose(&channels);
        } else {
            channels.into_iter().for_each(|channel| self.directory.forget(channel));
        }
        true
    }

    fn role(&mut self, data: &str) -> bool {
        let Ok(told) = serde_json::from_str::<Role>(data) else { return false };
        self.directory.role(told.guild_id.get(), &told.role, self.me.id);
        true
    }

    fn channel(&mut self, data: &str, created: bool) -> bool {
        let Ok(mut channel) = serde_json::from_str::<Channel>(data) else { return false };
        channel.newly_created |= created;
        self.meet(channel);
        true
    }

    fn channel_gone(&mut self, data: &str) -> bool {
        let Ok(channel) = serde_json::from_str::<Channel>(data) else { return false };
        self.directory.forget(channel.id.get());
        true
    }

    fn threads(&mut self, data: &str) -> bool {
        let Ok(told) = serde_json::from_str::<Threads>(data) else { return false };
        for thread in &told.threads {
            if let Ok(channel) = Channel::deserialize(thread) {
                self.meet(channel.on(Some(told.guild_id)));
            }
        }
        true
    }

    fn written(&mut self, number: Option<(u32, u64)>, data: &str) -> Told {
        let Some(head) = Head::read(data) else {
            let why = "a message without number or channel".to_owned();
            let envelope = Some(decode::unreadable(&self.source.account, data, why));
            self.push(Item { seq: number, envelope, ..Item::default() });
            return Told::Other;
        };
        let (chat, message) = (head.channel(), head.message());
        if head.is_by(&self.me) {
            self.chats.heard(message);
            let message = (!self.chats.is_unknown(chat)).then_some((chat, message));
            self.push(Item { seq: number, message, ..Item::default() });
            return Told::Other;
        }
        match self.chats.comes(chat, Waiting { message, data: data.to_owned() }) {
            Comes::Passes(waiting) => {
                self.take(chat, waiting, number);
                return Told::Other;
            }
            Comes::First => self.consider(chat),
            Comes::Waits => {}
        }
        self.push(Item { seq: number, ..Item::default() });
        Told::Other
    }

    /// Messages wait in a chat that nobody looked at in this session.
    fn consider(&mut self, chat: u64) {
        let Some(guild) = self.chats.guild_of_waiting(chat) else { return };
        match guild {
            // Its server is about to be told of.
            Some(guild) if self.directory.awaits(guild) => {}
            None => self.meet(Channel::dm(ChannelId::new(chat))),
            Some(_) => match self.directory.channel(chat) {
                Some(channel) => self.meet(channel),
                None => self.look_for(chat),
            },
        }
    }

    fn edited(&mut self, number: Option<(u32, u64)>, data: &str) -> Told {
        let own = Head::read(data).is_some_and(|head| head.is_by(&self.me));
        let envelope = if own { None } else { decode::edited(&self.source.account, data) };
        self.push(Item { seq: number, envelope, ..Item::default() });
        Told::Other
    }

    fn given(&mut self, number: Option<(u32, u64)>, data: &str) -> Told {
        let place = self.place_of_command(data);
        let (envelope, given) = decode::command(&self.source.account, &place, data);
        let command = given.as_ref().map(|given| given.id);
        if let Some(given) = given {
            let id = given.id;
            self.source.interactions.asked(id, given.application, given.token.clone());
            self.commands.insert(id, given);
            self.jobs.push(
                async move {
                    sleep(ACKNOWLEDGE).await;
                    Done::Due(id)
                }
                .boxed(),
            );
        }
        self.push(Item { seq: number, envelope: Some(envelope), message: None, command });
        Told::Other
    }

    /// A command brings its channel along.
    fn place_of_command(&self, data: &str) -> Where {
        let Ok(given) = serde_json::from_str::<GivenIn>(data) else { return Where::default() };
        let known = given.channel_id.and_then(|channel| self.directory.place(channel.get()));
        let brought = || {
            let channel = Channel::deserialize(given.channel.as_ref()?).ok()?;
            Some(self.directory.place_of(&channel.on(given.guild_id)))
        };
        known.or_else(brought).unwrap_or_default()
    }
}
