//! `/allow`: who may talk besides the owner, decided in a chat. Who may give it was asked before it
//! was stored.

use std::fmt::Write as _;

use chrono::{DateTime, TimeDelta, Utc};

use crate::access::{Action, looks_like_pairing_code, pairing_hash};
use crate::engine::Engine;
use crate::ids::Person;
use crate::ports::{Admission, Guest, Guests, PendingCommand, StoreError, Waiting};

/// What somebody is told who was let in.
pub const WELCOME: &str = "You may talk with me now. What is it?";

/// People of one list that an answer shows.
const SHOWN: usize = 20;

/// What takes somebody's leave back.
const REMOVE: &str = "remove";

/// What `/allow` with this behind it wants.
pub(super) fn action(rest: &str) -> Action {
    if rest.is_empty() { Action::Guests } else { Action::Allow }
}

/// Does what the command says. Tells what came of it.
pub(super) async fn answer(
    engine: &Engine,
    command: &PendingCommand,
) -> Result<String, StoreError> {
    let line = command.inbound.command.as_ref();
    let rest = line.map_or("", |line| line.rest.as_str());
    let (word, id) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if rest.is_empty() {
        let now = engine.clock.now();
        return Ok(listed(&engine.store.guests(now).await?, now));
    }
    if word.eq_ignore_ascii_case(REMOVE) {
        return removed(engine, id.trim()).await;
    }
    if !looks_like_pairing_code(rest) {
        return Ok("A code has eight letters and digits: `/allow ABCD2345`. \
                   `/allow` alone lists who waits."
            .to_owned());
    }
    let by = command.inbound.sender.person.as_ref();
    let (hash, now) = (pairing_hash(rest), engine.clock.now());
    Ok(match engine.store.allow_guest(&hash, by, WELCOME, now).await? {
        Admission::LetIn(guest) => {
            tracing::info!(platform = %guest.person.platform, "somebody was let in by a pairing code");
            format!("{} may talk with your bots now.", shown(&guest.name, &guest.person))
        }
        Admission::Wrong => "Nobody waits with this code. A code holds for an hour, and works \
                             once; whoever has none writes to me in private."
            .to_owned(),
        Admission::LockedOut => "Too many wrong codes came from you. Try again in an hour, or \
                                 type `atlas allow CODE` on the machine."
            .to_owned(),
    })
}

async fn removed(engine: &Engine, id: &str) -> Result<String, StoreError> {
    let all = engine.store.guests(engine.clock.now()).await?.let_in;
    let meant = |guest: &&Guest| named(&guest.person, id);
    let found: Vec<&Guest> = all.iter().filter(meant).collect();
    Ok(match found[..] {
        [guest] => {
            engine.store.remove_guest(&guest.person).await?;
            tracing::info!(platform = %guest.person.platform, "somebody who was let in was put out again");
            format!("{} may not talk with your bots any more.", shown(&guest.name, &guest.person))
        }
        [] => format!(
            "Nobody of that id was let in by a code. Write `/allow {REMOVE} ID`; `/allow` alone \
             lists the ids. Who stands in atlas.toml is taken out there."
        ),
        _ => "Two have that id. Name the platform too: `/allow remove telegram:123456789`."
            .to_owned(),
    })
}

/// Whether `id` names this person: `123456789` or `telegram:123456789`.
#[must_use]
pub fn named(person: &Person, id: &str) -> bool {
    match id.split_once(':') {
        Some((platform, rest)) => {
            person.platform.as_str().eq_ignore_ascii_case(platform) && person.id.as_str() == rest
        }
        None => person.id.as_str() == id,
    }
}

fn shown(name: &str, person: &Person) -> String {
    format!("{} ({}:{})", plain(name), person.platform, person.id)
}

/// A name cannot be Markdown.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '*' | '_' | '`' | '[' | ']' | '<' | '>' | '|' | '~'))
        .collect()
}

fn listed(guests: &Guests, now: DateTime<Utc>) -> String {
    if guests.waiting.is_empty() && guests.let_in.is_empty() {
        return "Nobody waits, and nobody was let in by a code.".to_owned();
    }
    let mut text = String::new();
    let waiting = guests.waiting.iter().map(|one: &Waiting| {
        format!("{}, {}", shown(&one.name, &one.person), ago(now - one.since))
    });
    section(&mut text, "Waiting; `/allow CODE` lets in whoever gives you theirs:", waiting);
    let let_in = guests.let_in.iter().map(|one: &Guest| shown(&one.name, &one.person));
    section(&mut text, "Let in; `/allow remove ID` takes it back:", let_in);
    text
}

fn section(text: &mut String, heading: &str, lines: impl ExactSizeIterator<Item = String>) {
    let all = lines.len();
    if all == 0 {
        return;
    }
    let gap = if text.is_empty() { "" } else { "\n\n" };
    let _ = write!(text, "{gap}{heading}");
    for line in lines.take(SHOWN) {
        let _ = write!(text, "\n- {line}");
    }
    if all > SHOWN {
        let _ = write!(text, "\n- and {} more (`atlas allow` lists all)", all - SHOWN);
    }
}

fn ago(time: TimeDelta) -> String {
    match time.num_minutes() {
        ..1 => "just now".to_owned(),
        minutes => format!("{minutes} min ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(platform: &str, id: &str) -> Person {
        Person { platform: platform.into(), id: id.into() }
    }

    #[test]
    fn a_list_without_a_code_is_for_who_may_read_names() {
        assert_eq!(action(""), Action::Guests);
        assert_eq!(action("ABCD2345"), Action::Allow);
        assert_eq!(action("remove 5"), Action::Allow);
    }

    #[test]
    fn a_person_is_named_by_their_id_with_or_without_the_platform() {
        let ana = person("telegram", "77");
        assert!(named(&ana, "77") && named(&ana, "Telegram:77"));
        assert!(!named(&ana, "7") && !named(&ana, "discord:77") && !named(&ana, ""));
    }

    #[test]
    fn a_list_says_who_waits_and_who_was_let_in() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::minutes(10);
        let waiting = Waiting {
            person: person("telegram", "77"),
            name: "**Bo**".to_owned(),
            place: crate::ids::ChatKey { account: "tg".into(), chat: "77".into() },
            since: DateTime::UNIX_EPOCH,
        };
        let guest = |n: usize| Guest {
            person: person("discord", &n.to_string()),
            name: "Cy".to_owned(),
            since: now,
        };
        let guests = Guests { waiting: vec![waiting], let_in: (0..21).map(guest).collect() };
        let text = listed(&guests, now);
        assert!(text.starts_with("Waiting; `/allow CODE` lets in whoever gives you theirs:\n- Bo (telegram:77), 10 min ago\n\nLet in;"), "{text}");
        assert!(
            text.ends_with("- Cy (discord:19)\n- and 1 more (`atlas allow` lists all)"),
            "{text}"
        );
        assert!(listed(&Guests::default(), now).starts_with("Nobody waits"));
    }
}
