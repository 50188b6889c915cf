//! Who may do what. One function for messages, commands and buttons.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::event::Sender;
use crate::ids::Person;
use crate::router::Route;

/// What somebody is to this home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The one person whose home it is, on any platform.
    Owner,
    /// Somebody else who is allowed to talk here.
    Guest,
    /// Everybody else: people, bots, chats that speak as themselves.
    Stranger,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Talk to the bot.
    Talk,
    /// `/help`, `/status`.
    Look,
    /// `/stop`.
    Stop,
}

/// The people whom the home knows: of the configuration and of the database, added up.
#[derive(Clone, Debug, Default)]
pub struct People {
    /// The owner's ids.
    pub owners: BTreeSet<Person>,
}

/// What somebody is, here. From ids alone: no name and no word of theirs changes it.
#[must_use]
pub fn standing(people: &People, route: &Route, sender: &Sender) -> Standing {
    let Some(person) = &sender.person else { return Standing::Stranger };
    if sender.is_bot {
        return Standing::Stranger;
    }
    if people.owners.contains(person) {
        return Standing::Owner;
    }
    if route.allow.lets_in(&person.id) { Standing::Guest } else { Standing::Stranger }
}

/// Whether somebody of this standing may do this here.
#[must_use]
pub fn may(standing: Standing, action: Action) -> bool {
    match (standing, action) {
        (Standing::Owner, _) => true,
        (Standing::Guest, Action::Talk | Action::Look | Action::Stop) => true,
        (Standing::Stranger, _) => false,
    }
}
