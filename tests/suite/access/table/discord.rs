//! The table on Discord.

use atlas_tests::discord::{Channel, Draft, User};
use atlas_tests::harness::Harness;
use atlas_tests::model::{Takes, say};

use super::Place::{Dm, Group, Topic};
use super::{Heard, Place, Stage, Way, Who, play};
use crate::discord::on_discord;
use crate::discord_commands::code;

struct OnDiscord {
    scene: Harness,
    channel: Channel,
    thread: Channel,
}

impl OnDiscord {
    fn open() -> Self {
        let (mut scene, _, channel) = on_discord();
        let thread = scene.discord.open(&channel.thread("a thread"));
        let token = "token = \"env:STAND_IN_DISCORD_TOKEN\"";
        scene.config = scene.config.replace(token, &format!("{token}\nallow = [\"77\"]"));
        scene.configure("[[deciders]]\nname = \"Dia\"\ndiscord = [\"55\"]");
        scene.configure("[limits]\nguest = \"1000/h\"\nchat = \"1000/h\"");
        let id = channel.id;
        scene.configure(&format!(
            "[[routes]]\naccount = \"dc\"\nchat = \"{id}\"\nallow_bots = [\"801\"]"
        ));
        scene.model.rule(Takes::All, |_| say("Said."));
        scene.start_connected();
        let mut stage = Self { scene, channel, thread };
        stage.let_in();
        stage
    }

    fn let_in(&mut self) {
        let (person, owner) = (self.user(Who::LetIn), self.scene.discord_owner());
        self.scene.discord.dm(&person, "may I?");
        let code = code(&mut self.scene, &person);
        self.scene.discord.dm(&owner, &format!("/allow {code}"));
        let dm = self.scene.discord.dm_of(&person);
        self.scene.discord_said(dm, "You may talk with me now. What is it?");
        self.scene.settled();
    }

    fn user(&self, who: Who) -> User {
        match who {
            Who::Owner | Who::Masked => self.scene.discord_owner(),
            Who::Decider => User::new(55, "dia"),
            Who::Guest => User::new(77, "ben"),
            Who::LetIn => User::new(88, "lea"),
            Who::Stranger => User::new(99, "eve"),
            Who::Bot => User::bot(801, "a bot"),
            Who::OtherBot => User::bot(802, "a bot"),
        }
    }

    fn channel(&self, who: Who, place: Place) -> u64 {
        match place {
            Dm => self.scene.discord.dm_of(&self.user(who)),
            Group => self.channel.id,
            Topic => self.thread.id,
        }
    }
}

impl Stage for OnDiscord {
    fn scene(&mut self) -> &mut Harness {
        &mut self.scene
    }

    fn ways(&self, who: Who, what: &str) -> &'static [Way] {
        // Nobody but a person has the list in front of them.
        let person = !matches!(who, Who::Bot | Who::OtherBot | Who::Masked);
        if person && what.starts_with('/') { &[Way::Typed, Way::Chosen] } else { &[Way::Typed] }
    }

    fn speak(&mut self, who: Who, place: Place, way: Way, text: &str) {
        let (user, channel) = (self.user(who), self.channel(who, place));
        if way == Way::Chosen {
            let command = text.trim_start_matches('/');
            let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
            let command = self.scene.discord.command(channel, &user, name, rest);
            self.scene.until("it is acknowledged", |scene| scene.discord.acknowledged(command));
            return;
        }
        let draft = if place == Dm { Draft::text } else { Draft::to_bot };
        let draft = draft(channel, &user, text);
        self.scene.discord.write(if who == Who::Masked { draft.by_webhook() } else { draft });
    }

    fn heard(&self, who: Who, place: Place) -> Vec<Heard> {
        let channel = self.channel(who, place);
        let here = self.scene.discord.sent().into_iter().filter(|sent| sent.channel == channel);
        here.map(|sent| Heard { text: sent.text, aside: sent.ephemeral }).collect()
    }
}

#[test]
fn every_cell_of_the_table_on_discord() {
    play(&mut OnDiscord::open());
}
