//! Commands that the gateway itself answers. A command is stored like any message, so it is answered
//! once, also when the process dies in between; and beside the conversation's turn, so that `/stop`
//! does not wait for what it is to stop.

pub mod allow;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use crate::access::{Action, Standing, may_stop};
use crate::conversation::compaction;
use crate::engine::Engine;
use crate::event::Inbound;
use crate::ids::Seq;
use crate::ports::{NewDelivery, PendingCommand, PendingWhat, Status, StoreError};

/// How often the store is looked into without a ring.
const SWEEP: Duration = Duration::from_secs(5);

/// The command that is not for everybody.
pub const ALLOW: &str = "allow";

/// The commands, as help lists them and platforms show them in a menu.
pub const COMMANDS: [(&str, &str); 4] = [
    ("status", "what is going on"),
    ("stop", "end the answer that is being made"),
    (ALLOW, "for the owner: let somebody in"),
    ("help", "what you can say here"),
];

/// What a message wants as a command, None where it is one for the bot to read.
#[must_use]
pub fn action(inbound: &Inbound) -> Option<Action> {
    let line = inbound.command.as_ref()?;
    match line.name.as_str() {
        "status" | "help" | "start" => Some(Action::Look),
        "stop" => Some(Action::Stop),
        ALLOW => Some(allow::action(&line.rest)),
        _ => None,
    }
}

/// Answers commands.
pub struct Commands {
    engine: Arc<Engine>,
    started: DateTime<Utc>,
}

impl Commands {
    /// The commands of this engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        let started = engine.clock.now();
        Self { engine, started }
    }

    /// Works until `stop` is true.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            if let Err(error) = self.answer_all().await {
                tracing::error!(%error, "commands cannot be answered; trying again in a few seconds");
            }
            tokio::select! {
                () = self.engine.bells.commands.notified() => {}
                () = tokio::time::sleep(SWEEP) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
    }

    async fn answer_all(&self) -> Result<(), StoreError> {
        let mut first = Ok(());
        for command in self.engine.store.pending_commands().await? {
            if self.engine.begins(&command.accepted_by) {
                // One that cannot be answered holds up no other.
                let answered = self.answer(&command).await;
                first = first.and(answered);
            }
        }
        first
    }

    async fn answer(&self, command: &PendingCommand) -> Result<(), StoreError> {
        let name = command.inbound.command.as_ref().map_or("", |line| line.name.as_str());
        let stops = name == "stop";
        let text = match name {
            "status" => self.status(command).await?,
            "stop" => self.stopped(command).await?.to_owned(),
            ALLOW => allow::answer(&self.engine, command).await?,
            _ => help(self.decides(command)),
        };
        let answer = NewDelivery {
            reply_to: Some(command.inbound.message.clone()),
            ..NewDelivery::notice(command.place.clone(), text)
        };
        let now = self.engine.clock.now();
        self.engine.store.settle_command(command.inbox, &[answer], stops, now).await?;
        if stops {
            self.engine.bells.conversation(command.conversation).notify_one();
        }
        self.engine.bells.outbox.notify_one();
        self.engine.bells.changed.notify_waiters();
        Ok(())
    }

    /// Whether it comes from somebody who lets others in.
    fn decides(&self, command: &PendingCommand) -> bool {
        let person = command.inbound.sender.person.as_ref();
        command.standing == Standing::Owner
            || person.is_some_and(|person| self.engine.home().deciders.contains(person))
    }

    /// What a command to stop finds. The store does it, when the command is settled.
    async fn stopped(&self, command: &PendingCommand) -> Result<&'static str, StoreError> {
        let loaded = self.engine.store.load(command.conversation, Seq(i64::MAX)).await?;
        let waiting = self.engine.store.pending(command.conversation).await?;
        let may = |of: Standing| may_stop(command.standing, of);
        let waits = waiting.iter().any(|row| {
            let PendingWhat::Said { standing, .. } = row.what else { return false };
            row.inbox < command.inbox && may(standing)
        });
        Ok(match loaded.turn {
            Some(open) if may(open.standing) => "Stopped.",
            _ if waits => "Stopped.",
            Some(_) => "Only the owner can stop this answer.",
            None => "Nothing is being answered here.",
        })
    }

    async fn status(&self, command: &PendingCommand) -> Result<String, StoreError> {
        let status = self.engine.store.status(command.conversation).await?;
        let home = self.engine.home();
        let Some(bot) = home.bot(command.bot) else { return Ok("This bot is gone.".to_owned()) };
        let model = home.models.get(&bot.model).map(|model| model.info());
        let limit = compaction::limit(home.compact_at, model.and_then(|info| info.window));
        let shown = model.map_or("none", |info| info.signer.rsplit('|').next().unwrap_or_default());
        let up = self.engine.clock.now() - self.started;
        Ok(render(&bot.shown, shown, &status, limit, up))
    }
}

fn render(bot: &str, model: &str, status: &Status, limit: u64, up: chrono::TimeDelta) -> String {
    let mut lines = vec![format!("{bot} · model {model}")];
    let tokens = status.tokens.unwrap_or_default();
    let context = tokens.input + tokens.output;
    let mut line =
        format!("{} messages, {} in front of the model", status.messages, status.episode_messages);
    if let Some(percent) = (context * 100).checked_div(limit).filter(|_| context > 0) {
        line = format!("{line} ({percent}% of the way to the next cut)");
    }
    lines.push(line);
    if let Some(cached) = (tokens.cached * 100).checked_div(tokens.input) {
        lines.push(format!("{cached}% of the last request came from the cache"));
    }
    let doing = if status.turn_open { "answering now" } else { "nothing to answer" };
    lines.push(format!("{doing}, {} waiting here, {} to be sent", status.waiting, status.queue));
    lines.push(format!("up for {}", shown_duration(up)));
    lines.join("\n")
}

fn shown_duration(time: chrono::TimeDelta) -> String {
    let (days, hours, minutes) = (time.num_days(), time.num_hours() % 24, time.num_minutes() % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// What can be said here. `decides`: to somebody who lets others in.
fn help(decides: bool) -> String {
    let mut text = "Write to me as you would to a person. I remember what you ask me to remember; \
                    what you tell me in private holds in all our private chats.\n"
        .to_owned();
    for (name, what) in COMMANDS.iter().filter(|(name, _)| decides || *name != ALLOW) {
        text.push_str(&format!("\n/{name} – {what}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Tokens;

    #[test]
    fn a_status_reads_in_five_lines() {
        let tokens = Tokens { input: 9_000, cached: 8_100, cache_write: 0, output: 600 };
        let status = Status {
            messages: 1_234,
            episode_messages: 80,
            episodes: 3,
            tokens: Some(tokens),
            waiting: 0,
            turn_open: false,
            queue: 2,
        };
        let text = render("Atlas", "qwen3", &status, 64_000, chrono::TimeDelta::minutes(1_505));
        assert_eq!(
            text,
            "Atlas · model qwen3\n\
             1234 messages, 80 in front of the model (15% of the way to the next cut)\n\
             90% of the last request came from the cache\n\
             nothing to answer, 0 waiting here, 2 to be sent\n\
             up for 1 d 1 h"
        );
    }

    #[test]
    fn help_names_every_command() {
        let (text, guests) = (help(true), help(false));
        for (name, what) in COMMANDS {
            assert!(text.contains(&format!("/{name} – {what}")));
            assert_eq!(guests.contains(&format!("/{name} – {what}")), name != ALLOW);
        }
    }
}
