//! Who may do what. One function for messages, commands and buttons.

mod code;
mod name;
mod rate;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::event::{ChatKind, Sender};
use crate::ids::Person;
use crate::router::Route;

pub use code::{
    PAIRING_ALPHABET, PAIRING_LENGTH, hex, looks_like_pairing_code, new_pairing_code, pairing_hash,
};
pub use name::harmless_name;
pub use rate::{Limits, OF_A_BOT, Rate};

/// What somebody is to this home, as far as memory and turns look at it.
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

/// Who somebody is, here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one person whose home it is.
    Owner,
    /// Somebody who may decide besides the owner (`[[deciders]]`). A guest in all else, everywhere.
    Decider,
    /// Somebody whom the route lets in, or who was let in by a pairing code.
    Guest,
    /// A bot that the route lets in.
    Bot,
    /// Everybody else: people, bots, chats that speak as themselves.
    Stranger,
}

impl Role {
    /// What memory and turns make of it: a decider owns no memory, and a bot is outside like a guest.
    #[must_use]
    pub fn standing(self) -> Standing {
        match self {
            Self::Owner => Standing::Owner,
            Self::Decider | Self::Guest | Self::Bot => Standing::Guest,
            Self::Stranger => Standing::Stranger,
        }
    }
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
    /// `/allow CODE`, `/allow remove ID`: let somebody in, or take it back.
    Allow,
    /// `/allow`: who waits and who was let in.
    Guests,
    /// Approve or discard a proposal.
    Decide,
}

/// The people whom the home knows: of the configuration and of the database, added up.
#[derive(Clone, Debug, Default)]
pub struct People {
    /// The owner's ids.
    pub owners: BTreeSet<Person>,
    /// Those who decide besides the owner.
    pub deciders: BTreeSet<Person>,
}

/// Who somebody is, here. From ids alone: no name and no word of theirs changes it. Those who were let
/// in by a code are not known here.
#[must_use]
pub fn role(people: &People, route: &Route, sender: &Sender) -> Role {
    let Some(person) = &sender.person else { return Role::Stranger };
    if sender.is_bot {
        return if route.bots.lets_in(&person.id) { Role::Bot } else { Role::Stranger };
    }
    if people.owners.contains(person) {
        Role::Owner
    } else if people.deciders.contains(person) {
        Role::Decider
    } else if route.allow.lets_in(&person.id) {
        Role::Guest
    } else {
        Role::Stranger
    }
}

/// Whether somebody may do this in a chat of this kind. Messages, commands and buttons all ask here.
#[must_use]
pub fn may(role: Role, place: ChatKind, action: Action) -> bool {
    match (role, action) {
        // Names of people are not for everybody to read.
        (Role::Owner | Role::Decider, Action::Guests) => place == ChatKind::Direct,
        (Role::Owner | Role::Decider, _) => true,
        (Role::Guest, Action::Talk | Action::Look | Action::Stop) => true,
        (Role::Guest, Action::Allow | Action::Guests | Action::Decide) => false,
        // Two bots alone with each other never end.
        (Role::Bot, Action::Talk) => place == ChatKind::Group,
        (Role::Bot, _) | (Role::Stranger, _) => false,
    }
}

/// Whether somebody of this standing may stop a turn of that one: guests stop what guests asked, and
/// the owner stops anything.
#[must_use]
pub fn may_stop(who: Standing, turn_of: Standing) -> bool {
    who == Standing::Owner || (who == Standing::Guest && turn_of == Standing::Guest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::{Allow, Answer};

    fn route(allow: Allow) -> Route {
        Route {
            account: "tg".into(),
            chat: None,
            bot: "atlas".into(),
            answer: Answer::Mentioned,
            memory: None,
            allow,
            bots: Allow::Nobody,
        }
    }

    fn person(platform: &str, id: &str) -> Person {
        Person { platform: platform.into(), id: id.into() }
    }

    fn sender(id: Option<&str>, is_bot: bool) -> Sender {
        let person = id.map(|id| person("telegram", id));
        Sender { person, name: "owner".into(), is_bot }
    }

    fn people() -> People {
        People {
            owners: [person("telegram", "1")].into(),
            deciders: [person("telegram", "9")].into(),
        }
    }

    #[test]
    fn the_standing_follows_from_the_id_alone() {
        let everybody = route(Allow::Everybody);
        assert_eq!(role(&people(), &everybody, &sender(Some("1"), false)), Role::Owner);
        assert_eq!(role(&people(), &everybody, &sender(Some("2"), false)), Role::Guest);
        let these = route(Allow::These(vec!["2".into()]));
        assert_eq!(role(&people(), &these, &sender(Some("2"), false)), Role::Guest);
        assert_eq!(role(&people(), &these, &sender(Some("3"), false)), Role::Stranger);
        assert_eq!(role(&people(), &these, &sender(Some("9"), false)), Role::Decider);
    }

    #[test]
    fn a_chat_that_speaks_as_itself_is_nobody() {
        let everybody = Route { bots: Allow::Everybody, ..route(Allow::Everybody) };
        for is_bot in [false, true] {
            assert_eq!(role(&people(), &everybody, &sender(None, is_bot)), Role::Stranger);
        }
    }

    #[test]
    fn a_bot_is_nobody_unless_the_route_lets_it_in_and_never_an_owner() {
        let bot = |bots, id| {
            let route = Route { bots, ..route(Allow::Everybody) };
            role(&people(), &route, &sender(Some(id), true))
        };
        assert_eq!(bot(Allow::Nobody, "1"), Role::Stranger);
        assert_eq!(bot(Allow::These(vec!["5".into()]), "6"), Role::Stranger);
        assert_eq!(bot(Allow::These(vec!["5".into()]), "5"), Role::Bot);
        for id in ["1", "9"] {
            assert_eq!(bot(Allow::Everybody, id), Role::Bot, "its id is in the configuration");
        }
    }

    #[test]
    fn an_owner_of_one_platform_is_nobody_on_another() {
        for id in ["1", "9"] {
            let mut sender = sender(Some("1"), false);
            sender.person = Some(person("discord", id));
            assert_eq!(role(&people(), &route(Allow::Nobody), &sender), Role::Stranger);
        }
    }

    #[test]
    fn who_may_do_what_is_one_table() {
        use Action::{Allow, Decide, Guests, Look, Stop, Talk};
        use ChatKind::{Direct, Group};
        let all = [Talk, Look, Stop, Allow, Guests, Decide];
        let table: [(Role, ChatKind, &[Action]); 10] = [
            (Role::Owner, Direct, &all),
            (Role::Owner, Group, &[Talk, Look, Stop, Allow, Decide]),
            (Role::Decider, Direct, &all),
            (Role::Decider, Group, &[Talk, Look, Stop, Allow, Decide]),
            (Role::Guest, Direct, &[Talk, Look, Stop]),
            (Role::Guest, Group, &[Talk, Look, Stop]),
            (Role::Bot, Direct, &[]),
            (Role::Bot, Group, &[Talk]),
            (Role::Stranger, Direct, &[]),
            (Role::Stranger, Group, &[]),
        ];
        for (role, place, allowed) in table {
            for action in all {
                let expected = allowed.contains(&action);
                assert_eq!(may(role, place, action), expected, "{role:?} {place:?} {action:?}");
            }
        }
    }

    #[test]
    fn a_guest_stops_no_turn_of_the_owner_s() {
        use Standing::{Guest, Owner, Stranger};
        assert!(may_stop(Owner, Owner) && may_stop(Owner, Guest) && may_stop(Guest, Guest));
        assert!(!may_stop(Guest, Owner) && !may_stop(Stranger, Stranger));
    }
}
