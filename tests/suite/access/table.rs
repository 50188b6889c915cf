//! Who may do what: every cell on the wire. The table knows no platform; a platform brings a
//! [`Stage`].

use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram::{BOT_NAME, Chat, Draft, User};

use crate::scene;

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
    /// A chat that speaks as itself.
    AnonymousAdmin,
}

/// Where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Dm,
    Group,
    Topic,
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
    /// A word that they may not.
    Refused,
    /// A line with a code.
    Code,
    /// Nothing at all.
    Silence,
}

use Out::{Code, Done, Refused, Said, Silence};
use Place::{Dm, Group, Topic};

/// Places that cannot be (a bot's DM with a bot, an anonymous admin's DM) have no row.
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
    (Who::AnonymousAdmin, Group, [Silence; 5]),
    (Who::AnonymousAdmin, Topic, [Silence; 5]),
];

/// A platform with everybody on it, and the gateway running.
trait Stage {
    /// The scene.
    fn scene(&mut self) -> &mut Harness;
    /// Somebody speaks to the bot.
    fn speak(&self, who: Who, place: Place, text: &str);
    /// What the bot said there up to now.
    fn heard(&self, who: Who, place: Place) -> Vec<String>;
}

/// Every cell; all that are wrong are told at once.
fn play(stage: &mut dyn Stage) {
    let mut wrong = Vec::new();
    for (who, place, row) in TABLE {
        for (what, expected) in WHAT.into_iter().zip(row) {
            let (before, stored) = (stage.heard(who, place).len(), events(stage.scene()));
            stage.speak(who, place, what);
            // Whatever comes of it, it is kept.
            stage.scene().until("it is stored", |scene| (events(scene) > stored).then_some(()));
            stage.scene().settled();
            let heard = stage.heard(who, place).split_off(before);
            if outcome(&heard) != Some(expected) {
                wrong.push(format!("{who:?} {place:?} {what}: {expected:?}, but {heard:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn events(scene: &mut Harness) -> usize {
    scene.home.rows("SELECT json_array(id) FROM inbox").len()
}

/// None where more than one thing was said.
fn outcome(heard: &[String]) -> Option<Out> {
    match heard {
        [] => Some(Silence),
        [text] if text == "Said." => Some(Said),
        [text] if text.starts_with("Only the owner, and") || text.starts_with("Who waits") => {
            Some(Refused)
        }
        [text] if text.starts_with("I do not know you yet.") => Some(Code),
        [_] => Some(Done),
        _ => None,
    }
}

struct OnTelegram {
    scene: Harness,
    group: Chat,
    forum: Chat,
}

const THREAD: i64 = 55;

impl OnTelegram {
    fn open() -> Self {
        let mut scene = scene();
        let (group, forum) = (scene.group(), Chat::forum(-2_001, "Forum", &[THREAD]));
        let token = "token = \"env:STAND_IN_TOKEN\"";
        scene.config = scene.config.replace(token, &format!("{token}\nallow = [\"77\"]"));
        scene.configure("[[deciders]]\nname = \"Dia\"\ntelegram = [\"55\"]");
        scene.configure("[limits]\nguest = \"1000/h\"\nchat = \"1000/h\"");
        for chat in [&group, &forum] {
            let id = chat.id;
            scene.configure(&format!(
                "[[routes]]\naccount = \"tg\"\nchat = \"{id}\"\nallow_bots = [\"801\"]"
            ));
        }
        scene.model.rule(Takes::All, |_| say("Said."));
        scene.start();
        let mut stage = Self { scene, group, forum };
        stage.let_in();
        stage
    }

    fn let_in(&mut self) {
        let person = self.user(Who::LetIn);
        self.scene.telegram.dm(&person, "may I?");
        let code = super::code(&mut self.scene, person.id);
        self.scene.dm(&format!("/allow {code}"));
        self.scene.sent_to(person.id, "You may talk with me now. What is it?");
        self.scene.settled();
    }

    fn user(&self, who: Who) -> User {
        let bot = |id| User { is_bot: true, ..User::new(id, "A bot") };
        match who {
            Who::Owner | Who::AnonymousAdmin => self.scene.owner(),
            Who::Decider => User::new(55, "Dia"),
            Who::Guest => User::new(77, "Ben"),
            Who::LetIn => User::new(88, "Lea"),
            Who::Stranger => User::new(99, "Eve"),
            Who::Bot => bot(801),
            Who::OtherBot => bot(802),
        }
    }
}

impl Stage for OnTelegram {
    fn scene(&mut self) -> &mut Harness {
        &mut self.scene
    }

    fn speak(&self, who: Who, place: Place, text: &str) {
        let user = self.user(who);
        let chat = match place {
            Dm => Chat::dm(&user),
            Group => self.group.clone(),
            Topic => self.forum.clone(),
        };
        let draft = match (place, text.split_once(' ')) {
            (Dm, _) => Draft::text(&chat, &user, text),
            (_, Some((name, rest))) if name.starts_with('/') => {
                Draft::text(&chat, &user, &format!("{name}{BOT_NAME} {rest}"))
            }
            _ if text.starts_with('/') => Draft::text(&chat, &user, &format!("{text}{BOT_NAME}")),
            _ => Draft::text(&chat, &user, &format!("{BOT_NAME} {text}")).mentioning(BOT_NAME),
        };
        let draft = if place == Topic { draft.in_topic(THREAD) } else { draft };
        let draft = if who == Who::AnonymousAdmin { draft.anonymous() } else { draft };
        self.scene.telegram.write(draft);
    }

    fn heard(&self, who: Who, place: Place) -> Vec<String> {
        let (chat, thread) = match place {
            Dm => (self.user(who).id, None),
            Group => (self.group.id, None),
            Topic => (self.forum.id, Some(THREAD)),
        };
        let sent = self.scene.telegram.sent().into_iter();
        let here = sent.filter(|sent| sent.chat == chat && sent.thread == thread);
        here.map(|sent| sent.text).collect()
    }
}

#[test]
fn every_cell_of_the_table_on_telegram() {
    play(&mut OnTelegram::open());
}
