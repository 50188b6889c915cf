//! A slash command: what a person chose from the bot's list, with what was typed behind it.

use atlas_core::event::{Addressed, CommandLine, Envelope, Event, Inbound};
use atlas_core::ids::{AccountId, PlatformMessage};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ApplicationId, InteractionId};

use super::{User, Where, envelope, hash, place, read};

/// The type of an interaction that is a command.
const COMMAND: u8 = 2;

/// A command that a person gave, and what it is answered with.
#[derive(Debug)]
pub(in super::super) struct Given {
    /// Its number; the message of its [`Inbound`].
    pub(in super::super) id: u64,
    /// The bot's application.
    pub(in super::super) application: ApplicationId,
    /// Good for a quarter of an hour.
    pub(in super::super) token: SecretString,
}

#[derive(Deserialize)]
struct Interaction {
    id: InteractionId,
    application_id: ApplicationId,
    #[serde(rename = "type")]
    kind: u8,
    token: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    member: Option<Member>,
}

#[derive(Deserialize)]
struct Member {
    user: User,
    #[serde(default)]
    nick: Option<String>,
}

/// What an interaction means, and how it is answered where it is a command.
pub(in super::super) fn command(
    account: &AccountId,
    whereabouts: &Where,
    raw: &str,
) -> (Envelope, Option<Given>) {
    let unreadable = |why| {
        let key = format!("interaction/{}", hash(&[raw]));
        (envelope(account, key, raw, Event::Unreadable { why }), None)
    };
    let interaction: Interaction = match read("the interaction", raw) {
        Ok(interaction) => interaction,
        Err(why) => return unreadable(why),
    };
    let key = format!("interaction/{}", interaction.id);
    if interaction.kind != COMMAND {
        let kind = format!("an interaction of type {}", interaction.kind);
        return (envelope(account, key, raw, Event::Nothing { kind }), None);
    }
    let Some(inbound) = interaction.inbound(whereabouts) else {
        return unreadable("the command has no name or nobody gave it".to_owned());
    };
    let given = Given {
        id: interaction.id.get(),
        application: interaction.application_id,
        token: interaction.token.into(),
    };
    (envelope(account, key, raw, Event::Message(inbound)), Some(given))
}

impl Interaction {
    fn inbound(&self, whereabouts: &Where) -> Option<Inbound> {
        let name = self.data.get("name")?.as_str()?.to_ascii_lowercase();
        let options = self.data.get("options").and_then(Value::as_array).into_iter().flatten();
        let typed = options.filter_map(|option| match option.get("value")? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        });
        let rest = typed.collect::<Vec<_>>().join(" ").trim().to_owned();
        let sender = match (&self.member, &self.user) {
            (Some(member), _) => member.user.sender(member.nick.as_deref()),
            (None, Some(user)) => user.sender(None),
            (None, None) => return None,
        };
        let direct = whereabouts.direct;
        Some(Inbound {
            lineage: whereabouts.chats(),
            kind: whereabouts.kind(),
            chat_name: whereabouts.name.clone(),
            message: PlatformMessage(self.id.to_string()),
            order: place::order(self.id.get()),
            sender,
            text: format!("/{name} {rest}").trim_end().to_owned(),
            outside: false,
            files: Vec::new(),
            addressed: if direct { Addressed::Directly } else { Addressed::Commanded },
            command: Some(CommandLine { name, rest }),
            sent_at: place::made_at(self.id.get()),
        })
    }
}
