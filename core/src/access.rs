//! Who may do what. One function for messages, commands and buttons.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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

/// The characters of a pairing code: no letter that looks like a digit.
pub const PAIRING_ALPHABET: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Characters of a pairing code.
pub const PAIRING_LENGTH: usize = 8;

/// A code as its hash: case, spaces and dashes do not count. Only this is stored.
#[must_use]
pub fn pairing_hash(code: &str) -> String {
    hex(&Sha256::digest(pairing_letters(code).as_bytes()))
}

/// Whether a message can be a pairing code: eight of its characters and nothing else, one of them a
/// digit (so that ordinary words are not looked up).
#[must_use]
pub fn looks_like_pairing_code(text: &str) -> bool {
    if text.len() > 32 {
        return false;
    }
    let letters = pairing_letters(text);
    letters.chars().count() == PAIRING_LENGTH
        && letters.chars().all(|letter| PAIRING_ALPHABET.contains(letter))
        && letters.chars().any(|letter| letter.is_ascii_digit())
}

fn pairing_letters(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '-').flat_map(char::to_uppercase).collect()
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
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

/// Whether somebody of this standing may stop a turn of that one: guests stop what guests asked, and
/// the owner stops anything.
#[must_use]
pub fn may_stop(who: Standing, turn_of: Standing) -> bool {
    may(who, Action::Stop) && (who == Standing::Owner || who == turn_of)
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
        }
    }

    fn sender(id: Option<&str>, is_bot: bool) -> Sender {
        let person = id.map(|id| Person { platform: "telegram".into(), id: id.into() });
        Sender { person, name: "owner".into(), is_bot }
    }

    fn people() -> People {
        People { owners: [Person { platform: "telegram".into(), id: "1".into() }].into() }
    }

    #[test]
    fn the_standing_follows_from_the_id_alone() {
        let everybody = route(Allow::Everybody);
        assert_eq!(standing(&people(), &everybody, &sender(Some("1"), false)), Standing::Owner);
        assert_eq!(standing(&people(), &everybody, &sender(Some("2"), false)), Standing::Guest);
        let these = route(Allow::These(vec!["2".into()]));
        assert_eq!(standing(&people(), &these, &sender(Some("2"), false)), Standing::Guest);
        assert_eq!(standing(&people(), &these, &sender(Some("3"), false)), Standing::Stranger);
    }

    #[test]
    fn a_chat_that_speaks_as_itself_and_a_bot_are_nobody() {
        let everybody = route(Allow::Everybody);
        assert_eq!(standing(&people(), &everybody, &sender(None, false)), Standing::Stranger);
        assert_eq!(standing(&people(), &everybody, &sender(Some("1"), true)), Standing::Stranger);
    }

    #[test]
    fn an_owner_of_one_platform_is_nobody_on_another() {
        let mut sender = sender(Some("1"), false);
        sender.person = Some(Person { platform: "discord".into(), id: "1".into() });
        assert_eq!(standing(&people(), &route(Allow::Nobody), &sender), Standing::Stranger);
    }

    #[test]
    fn a_guest_stops_no_turn_of_the_owner_s() {
        use Standing::{Guest, Owner, Stranger};
        assert!(may_stop(Owner, Owner) && may_stop(Owner, Guest) && may_stop(Guest, Guest));
        assert!(!may_stop(Guest, Owner) && !may_stop(Stranger, Stranger));
    }

    #[test]
    fn a_pairing_code_is_found_however_it_is_typed() {
        assert_eq!(pairing_hash("ABCD-2345"), pairing_hash(" abcd 2345\n"));
        assert!(looks_like_pairing_code("abcd 2345"));
        for text in ["ABCDEFGH", "ABCD-234", "ABCD-23456", "I0I0-2345", "", "hello there"] {
            assert!(!looks_like_pairing_code(text), "{text}");
        }
    }
}
