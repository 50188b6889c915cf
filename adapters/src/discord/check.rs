//! Whether an account works, for `atlas check`: its token, what it may read, and what it lacks in the
//! places that are routed.

use atlas_core::ids::PlatformChat;
use serenity::http::Http;
use serenity::model::application::ApplicationFlags;
use serenity::model::channel::GuildChannel;
use serenity::model::guild::{Member, PartialGuild};
use serenity::model::id::{ChannelId, GuildId};
use serenity::model::permissions::Permissions;
use thiserror::Error;

use super::DiscordAccount;
use super::place;
use super::rest::CallError;

/// What a bot needs in a place to answer there.
const NEEDED: [(Permissions, &str); 5] = [
    (Permissions::VIEW_CHANNEL, "View Channels"),
    (Permissions::SEND_MESSAGES, "Send Messages"),
    (Permissions::SEND_MESSAGES_IN_THREADS, "Send Messages in Threads"),
    (Permissions::READ_MESSAGE_HISTORY, "Read Message History"),
    (Permissions::ATTACH_FILES, "Attach Files"),
];

/// What Discord says of the bot behind a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotAccount {
    /// Its user name.
    pub name: String,
    /// The number of its application.
    pub application: u64,
    /// Whether it may read what is said in channels without being spoken to.
    pub reads_content: bool,
    /// What it lacks in routed places.
    pub lacks: Vec<Lack>,
}

impl BotAccount {
    /// The address at which somebody takes it to their server, with the permissions that it needs there
    /// and no others.
    #[must_use]
    pub fn invite(&self) -> String {
        let needed = NEEDED.iter().fold(Permissions::empty(), |all, (one, _)| all | *one);
        format!(
            "https://discord.com/oauth2/authorize?client_id={}&scope=bot+applications.commands\
             &permissions={}",
            self.application,
            needed.bits()
        )
    }

    /// The page of the developer portal that has its token and its intents.
    #[must_use]
    pub fn portal(&self) -> String {
        format!("https://discord.com/developers/applications/{}/bot", self.application)
    }
}

/// What a bot lacks in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The place's name, or its id where it has none.
    pub place: String,
    /// What, as Discord's settings call it; or that it is not there at all.
    pub what: String,
}

/// Why an account does not work now, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// 401.
    #[error(
        "Discord refuses the token; copy it again from https://discord.com/developers/applications \
         (the application, Bot, Reset Token) into the configuration"
    )]
    TokenRefused,
    /// No answer.
    #[error("Discord cannot be reached ({0}); check the network and api_base")]
    Unreachable(String),
    /// Any other answer.
    #[error("Discord answered: {0}")]
    Refused(String),
}

impl From<CallError> for CheckError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Token => Self::TokenRefused,
            CallError::Passing(why) => Self::Unreachable(why),
            refused @ CallError::Refused { .. } => Self::Refused(refused.to_string()),
        }
    }
}

impl DiscordAccount {
    /// Asks Discord whether the token works, what the bot may read, and what it lacks in `routed`
    /// places. Begins no session.
    ///
    /// # Errors
    ///
    /// [`CheckError`], each with the way to mend it.
    pub async fn check(&self, routed: &[PlatformChat]) -> Result<BotAccount, CheckError> {
        let http = self.api.http();
        let me = http.get_current_user().await.map_err(CallError::from)?;
        let application = http.get_current_application_info().await.map_err(CallError::from)?;
        let content = ApplicationFlags::GATEWAY_MESSAGE_CONTENT
            | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED;
        let reads_content = application.flags.is_some_and(|flags| flags.intersects(content));
        let mut lacks = Vec::new();
        for chat in routed {
            lacks.extend(lack(http, chat).await?);
        }
        let application = application.id.get();
        Ok(BotAccount { name: me.name.clone(), application, reads_content, lacks })
    }
}

/// What the bot lacks in a place; None where it lacks nothing.
async fn lack(http: &Http, chat: &PlatformChat) -> Result<Option<Lack>, CheckError> {
    let lack = |place: &str, what: String| Some(Lack { place: place.to_owned(), what });
    let Some(id) = place::channel(chat) else {
        return Ok(lack(chat.as_str(), "this is no id of Discord's".to_owned()));
    };
    let Some(place) = find(http, id).await? else {
        let what = "it is not there, or the bot is not on its server or may not see it";
        return Ok(lack(chat.as_str(), what.to_owned()));
    };
    let (guild, channel) = place;
    let asked = http.get_member(guild.id, me(http).await?).await;
    let member = asked.map_err(CallError::from)?;
    let has = permissions(&guild, channel.as_ref(), &member);
    let missing = NEEDED.iter().filter(|(needed, _)| !has.contains(*needed));
    let missing: Vec<&str> = missing.map(|(_, name)| *name).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let name = channel.map_or_else(|| guild.name.clone(), |channel| format!("#{}", channel.name));
    Ok(lack(&name, missing.join(", ")))
}

async fn me(http: &Http) -> Result<serenity::model::id::UserId, CheckError> {
    Ok(http.get_current_user().await.map_err(CallError::from)?.id)
}

/// The server of a place, and the channel whose rules hold in it: a thread's are its parent's.
async fn find(
    http: &Http,
    id: ChannelId,
) -> Result<Option<(PartialGuild, Option<GuildChannel>)>, CheckError> {
    let channel = match http.get_channel(id).await.map_err(CallError::from) {
        Ok(channel) => channel.guild(),
        Err(CallError::Refused { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(channel) = channel else {
        return match http.get_guild(GuildId::new(id.get())).await.map_err(CallError::from) {
            Ok(guild) => Ok(Some((guild, None))),
            Err(CallError::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        };
    };
    let guild = http.get_guild(channel.guild_id).await.map_err(CallError::from)?;
    if channel.thread_metadata.is_some()
        && let Some(parent) = channel.parent_id
    {
        let parent = http.get_channel(parent).await.map_err(CallError::from)?;
        return Ok(Some((guild, parent.guild())));
    }
    Ok(Some((guild, Some(channel))))
}

fn permissions(
    guild: &PartialGuild,
    channel: Option<&GuildChannel>,
    member: &Member,
) -> Permissions {
    match channel {
        Some(channel) => guild.user_permissions_in(channel, member),
        None => guild.member_permissions(member),
    }
}
