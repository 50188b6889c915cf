//! Who may do what: every cell on the wire. The table knows no platform; a platform brings a
//! [`Stage`].

use atlas_tests::harness::Harness;

mod discord;
mod telegram;

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Owner,
    /// Of `[[deciders]]`.
    Decider,
    /// Of the account's `allow`.
    Guest,
    /// Let in by a code.
    LetIn,
    Stranger,
    /// A bot that the routes of the group and the topic let in.
    Bot,
    /// Any other bot.
    OtherBot,
    /// No person, though it bears the owner's name: an anonymous admin, a webhook.
    Masked,
}

/// Where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Dm,
    /// Or a server's channel.
    Group,
    /// Or a thread.
    Topic,
}

/// How it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Typed,
    /// A command chosen from the platform's own list. It is never met with silence: the platform
    /// would tell that the bot is broken.
    Chosen,
}

/// What is said to the bot, a column each.
const WHAT: [&str; 5] = ["hello", "/status", "/stop", "/allow remove 1", "/allow"];

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Out {
    /// The model's answer.
    Said,
    /// The answer to a command.
    Done,
    /// A word that they may not, and why.
    Refused,
    /// A line with a code.
    Code,
    /// Nothing at all.
    Silence,
    /// A word that they may not, which tells nothing else.
    Away,
}

use Out::{Away, Code, Done, Refused, Said, Silence};
use Place::{Dm, Group, Topic};

impl Way {
    /// What a cell of the table means for what is said in this way.
    fn of(self, cell: Out) -> Out {
        match (self, cell) {
            (Self::Chosen, Silence) => Away,
            _ => cell,
        }
    }

    /// Whether nobody else may see what comes of it.
    fn aside(self, out: Out) -> bool {
        self == Self::Chosen && matches!(out, Refused | Away)
    }
}

/// What is typed; of what is chosen, silence becomes a word aside ([`Way::of`]). Places that cannot be
/// (a bot's DM with a bot, an anonymous admin's DM) have no row.
const TABLE: [(Who, Place, [Out; 5]); 21] = [
    (Who::Owner, Dm, [Said, Done, Done, Done, Done]),
    (Who::Owner, Group, [Said, Done, Done, Done, Refused]),
    (Who::Owner, Topic, [Said, Done, Done, Done, Refused]),
    (Who::Decider, Dm, [Said, Done, Done, Done, Done]),
    (Who::Decider, Group, [Said, Done, Done, Done, Refused]),
    (Who::Decider, Topic, [Said, Done, Done, Done, Refused]),
    (Who::Guest, Dm, [Said, Done, Done, Refused, Refused]),
    (Who::Guest, Group, [Said, Done, Done, Refused, Refused]),
    (Who::Guest, Topic, [Said, Done, Done, Refused, Refused]),
    (Who::LetIn, Dm, [Said, Done, Done, Refused, Refused]),
    (Who::LetIn, Group, [Said, Done, Done, Refused, Refused]),
    (Who::LetIn, Topic, [Said, Done, Done, Refused, Refused]),
    (Who::Stranger, Dm, [Code, Silence, Silence, Silence, Silence]),
    (Who::Stranger, Group, [Silence; 5]),
    (Who::Stranger, Topic, [Silence; 5]),
    (Who::Bot, Group, [Said, Silence, Silence, Silence, Silence]),
    (Who::Bot, Topic, [Said, Silence, Silence, Silence, Silence]),
    (Who::OtherBot, Group, [Silence; 5]),
    (Who::OtherBot, Topic, [Silence; 5]),
    (Who::Masked, Group, [Silence; 5]),
    (Who::Masked, Topic, [Silence; 5]),
];

/// A platform with everybody on it, and the gateway running.
trait Stage {
    /// The scene.
    fn scene(&mut self) -> &mut Harness;
    /// How this can be said by them.
    fn ways(&self, who: Who, what: &str) -> &'static [Way];
    /// Somebody speaks to the bot. Returns when nothing but what it does itself is waited for.
    fn speak(&mut self, who: Who, place: Place, way: Way, text: &str);
    /// What the bot said there up to now.
    fn heard(&self, who: Who, place: Place) -> Vec<Heard>;
}

/// Something that the bot said.
#[derive(Debug)]
struct Heard {
    text: String,
    /// Nobody sees it but whom it is for.
    aside: bool,
}

/// Every cell; all that are wrong are told at once.
fn play(stage: &mut dyn Stage) {
    let mut wrong = Vec::new();
    for (who, place, row) in TABLE {
        for (what, cell) in WHAT.into_iter().zip(row) {
            for way in stage.ways(who, what) {
                let (before, stored) = (stage.heard(who, place).len(), events(stage.scene()));
                stage.speak(who, place, *way, what);
                // Whatever comes of it, it is kept.
                stage.scene().until("it is stored", |scene| (events(scene) > stored).then_some(()));
                stage.scene().settled();
                let heard = stage.heard(who, place).split_off(before);
                let expected = way.of(cell);
                let seen = heard.iter().all(|heard| heard.aside == way.aside(expected));
                if outcome(&heard) != Some(expected) || !seen {
                    let cell = format!("{who:?} {place:?} {what} {way:?}");
                    wrong.push(format!("{cell}: {expected:?}, but {heard:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn events(scene: &mut Harness) -> usize {
    scene.home.rows("SELECT json_array(id) FROM inbox").len()
}

/// None where more than one thing was said.
fn outcome(heard: &[Heard]) -> Option<Out> {
    let begins =
        |text: &str, beginnings: &[&str]| beginnings.iter().any(|one| text.starts_with(one));
    match heard {
        [] => Some(Silence),
        [Heard { text, .. }] if text == "Said." => Some(Said),
        [Heard { text, .. }] if begins(text, &["Only the owner, and", "Who waits"]) => {
            Some(Refused)
        }
        [Heard { text, .. }] if begins(text, &["This is not for you"]) => Some(Away),
        [Heard { text, .. }] if begins(text, &["I do not know you yet."]) => Some(Code),
        [_] => Some(Done),
        _ => None,
    }
}
