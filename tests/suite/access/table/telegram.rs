//! The table on Telegram.

use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, say};
use atlas_tests::telegram::{BOT_NAME, Chat, Draft, User};

use super::Place::{Dm, Group, Topic};
use super::{Heard, Place, Stage, Way, Who, play};
use crate::access::code;
use crate::scene;

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
        let code = code(&mut self.scene, person.id);
        self.scene.dm(&format!("/allow {code}"));
        self.scene.sent_to(person.id, "You may talk with me now. What is it?");
        self.scene.settled();
    }

    fn user(&self, who: Who) -> User {
        let bot = |id| User { is_bot: true, ..User::new(id, "A bot") };
        match who {
            Who::Owner | Who::Masked => self.scene.owner(),
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

    fn ways(&self, _: Who, _: &str) -> &'static [Way] {
        // What is chosen from its menu is typed for whoever chose it.
        &[Way::Typed]
    }

    fn speak(&mut self, who: Who, place: Place, _: Way, text: &str) {
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
        let draft = if who == Who::Masked { draft.anonymous() } else { draft };
        self.scene.telegram.write(draft);
    }

    fn heard(&self, who: Who, place: Place) -> Vec<Heard> {
        let (chat, thread) = match place {
            Dm => (self.user(who).id, None),
            Group => (self.group.id, None),
            Topic => (self.forum.id, Some(THREAD)),
        };
        let sent = self.scene.telegram.sent().into_iter();
        let here = sent.filter(|sent| sent.chat == chat && sent.thread == thread);
        here.map(|sent| Heard { text: sent.text, aside: false }).collect()
    }
}

#[test]
fn every_cell_of_the_table_on_telegram() {
    play(&mut OnTelegram::open());
}
