//! A configuration that changes while the gateway runs: noticed, checked whole, and taken up at once.
//!
//! Routes, bots, models, people and limits hold from the next message on; a turn at work goes on with
//! what it began with. A configuration that is broken changes nothing: the last good one stays in
//! force, and the owner is told once, and once more when it is good again. Accounts alone need a
//! restart, which is said.

use std::sync::Arc;
use std::time::Duration;

use atlas_config::{Config, Errors, Source, load};
use atlas_core::bot::Bot;
use atlas_core::engine::Engine;
use atlas_core::home::{Home, Models};
use atlas_core::ports::{NewDelivery, StoreError};
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::{Mutex, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::commands::Failure;
use crate::parts;

mod print;

use print::Print;

/// How often the files are looked at. What changed is read when it has been still for as long.
const LOOK: Duration = Duration::from_secs(1);

/// Errors that the owner is told in a message; `atlas check` shows all.
const TOLD: usize = 3;

/// The file in `run/` that says for `atlas check` what needs a restart.
pub(crate) const RESTART: &str = "run/restart";

/// What a gateway was started with, so that it can be told from what is there later.
pub(crate) struct Watched {
    /// Where the configuration comes from.
    pub(crate) source: Source,
    /// The files as they were before they were read.
    pub(crate) print: Print,
    /// What was read.
    pub(crate) config: Config,
}

/// Looks after the configuration of a running gateway.
pub(crate) struct Reload {
    source: Source,
    engine: Arc<Engine>,
    home: watch::Sender<Arc<Home>>,
    /// What the accounts run with until the end of the process.
    started: Config,
    state: Mutex<State>,
}

struct State {
    /// The files that were read last, whatever came of it.
    read: Print,
    /// The files at the last look.
    seen: Print,
    /// The configuration in force.
    config: Config,
    /// It stands in a file, and not in the environment and the defaults alone.
    from_file: bool,
    models: Models,
    /// The owner was told that it is broken.
    broken: bool,
    /// What needs a restart, as it was told.
    restart: Vec<String>,
}

impl Reload {
    /// Begins with what the gateway was started with.
    pub(crate) fn new(
        watched: Watched,
        engine: Arc<Engine>,
        home: watch::Sender<Arc<Home>>,
    ) -> Self {
        let Watched { source, print, config } = watched;
        let models = engine.home().models.clone();
        let started = config.clone();
        let (from_file, read, seen) = (print.has_file(), print.clone(), print);
        let (broken, restart) = (false, Vec::new());
        let state = State { read, seen, config, from_file, models, broken, restart };
        let reload = Self { source, engine, home, started, state: Mutex::new(state) };
        reload.note_restart(&[]);
        reload
    }

    /// Looks until `stop` is true.
    pub(crate) async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut hangup = tokio::signal::unix::signal(SignalKind::hangup())
            .inspect_err(|error| tracing::warn!(%error, "SIGHUP cannot be heard"))
            .ok();
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                _ = ticks.tick() => false,
                () = heard(&mut hangup) => true,
            };
            self.look(asked).await;
        }
    }

    /// Reads the configuration if it changed and is still since the last look, or if somebody asks.
    async fn look(&self, asked: bool) {
        let mut state = self.state.lock().await;
        let Some(print) = self.print().await else { return };
        let still = print == state.seen;
        state.seen = print.clone();
        if !asked && (print == state.read || !still) {
            return;
        }
        let gone = state.config_file_is_gone(&print);
        let loaded = if gone { Err(gone_text()) } else { self.load().await };
        // Written meanwhile: what was read may be half of it.
        if self.print().await.as_ref() != Some(&print) {
            return;
        }
        let taken_up = match loaded {
            Ok(config) => self.take_up(&mut state, config, print.has_file()).await,
            Err(errors) => self.refuse(&mut state, &errors).await,
        };
        match taken_up {
            Ok(()) => state.read = print,
            Err(error) => {
                tracing::warn!(%error, "the database failed while the configuration was taken up; trying again");
            }
        }
    }

    async fn print(&self) -> Option<Print> {
        let home = self.source.home.clone();
        tokio::task::spawn_blocking(move || Print::of(&home)).await.ok()
    }

    async fn load(&self) -> Result<Config, String> {
        let source = self.source.clone();
        match tokio::task::spawn_blocking(move || load(&source)).await {
            Ok(loaded) => loaded.map_err(|errors| told(&errors)),
            Err(_) => Err("a bug broke off its reading".to_owned()),
        }
    }

    async fn take_up(
        &self,
        state: &mut State,
        config: Config,
        from_file: bool,
    ) -> Result<(), StoreError> {
        let models = match parts::models_anew(&config, &state.config, &state.models) {
            Ok(models) => models,
            Err(failure) => return self.refuse(state, &failure.to_string()).await,
        };
        let (store, clock) = (&*self.engine.store, &*self.engine.clock);
        let home = parts::home(&config, store, clock, None, models.clone()).await?;
        for warning in config.warnings.iter().filter(|known| !state.config.warnings.contains(known))
        {
            tracing::warn!("{warning}");
        }
        self.home.send_replace(Arc::new(home));
        self.engine.bells.ring_all();
        tracing::info!("The configuration was read anew and is in force");
        let restart = needs_restart(&self.started, &config);
        self.note_restart(&restart);
        let mut news = Vec::new();
        if state.broken {
            news.push("The configuration is right again, and in force.".to_owned());
        }
        if !restart.is_empty() && restart != state.restart {
            news.push(format!("Restart Atlas to take up: {}.", restart.join(", ")));
        }
        (state.config, state.models, state.from_file) = (config, models, from_file);
        self.tell(&news.join(" ")).await?;
        (state.broken, state.restart) = (false, restart);
        Ok(())
    }

    /// The last good one stays in force. Told once, until it is good again.
    async fn refuse(&self, state: &mut State, why: &str) -> Result<(), StoreError> {
        tracing::warn!(
            "The configuration was changed and is broken; the last good one stays in force:\n{why}"
        );
        if !state.broken {
            let text = format!(
                "The configuration was changed and is broken. What held before stays in force.\n\n\
                 ```\n{why}\n```\n`atlas check` shows all of it."
            );
            self.tell(&text).await?;
        }
        state.broken = true;
        Ok(())
    }

    /// In the owner's private chat with the main agent, or with the first bot that has one.
    async fn tell(&self, text: &str) -> Result<(), StoreError> {
        if text.is_empty() {
            return Ok(());
        }
        let home = self.engine.home();
        let (main, others): (Vec<&Bot>, Vec<&Bot>) =
            home.bots.iter().partition(|bot| bot.is_main());
        for bot in main.into_iter().chain(others) {
            if let Some(place) = self.engine.store.private_place(bot.id).await? {
                let notice = NewDelivery::notice(place, text);
                self.engine.store.enqueue(&[notice], self.engine.clock.now()).await?;
                self.engine.bells.outbox.notify_one();
                return Ok(());
            }
        }
        Ok(())
    }

    /// Says what needs a restart, in the log and where `atlas check` looks.
    fn note_restart(&self, what: &[String]) {
        let file = self.source.home.join(RESTART);
        let written = if what.is_empty() {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            let list = what.join(", ");
            tracing::warn!("A restart is needed to take up: {list}");
            std::fs::write(&file, list)
        };
        if let Err(error) = written {
            tracing::warn!(%error, file = %file.display(), "what needs a restart cannot be noted");
        }
    }
}

impl State {
    /// A file that somebody takes away while it is in force is no wish for the defaults.
    fn config_file_is_gone(&self, print: &Print) -> bool {
        self.from_file && !print.has_file()
    }
}

fn gone_text() -> String {
    format!("{} is gone; an empty one means the defaults", atlas_config::FILE)
}

/// The first errors, for a message.
fn told(errors: &Errors) -> String {
    let all = errors.as_slice();
    let mut lines: Vec<String> = all.iter().take(TOLD).map(ToString::to_string).collect();
    if all.len() > TOLD {
        lines.push(format!("and {} more", all.len() - TOLD));
    }
    lines.join("\n")
}

/// The accounts that run otherwise than `now` says.
fn needs_restart(started: &Config, now: &Config) -> Vec<String> {
    let changed = now.accounts.iter().filter_map(|(id, account)| {
        let how = match started.accounts.get(id) {
            None => "new",
            Some(before) if before.connects_as(account) => return None,
            Some(_) => "changed",
        };
        Some(format!("account {id} ({how})"))
    });
    let gone = started.accounts.keys().filter(|id| !now.accounts.contains_key(*id));
    changed.chain(gone.map(|id| format!("account {id} (taken out)"))).collect()
}

/// The next SIGHUP; none where they cannot be heard.
async fn heard(hangup: &mut Option<Signal>) {
    match hangup {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

impl Watched {
    /// Reads the configuration of `source`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub(crate) fn read(source: Source) -> Result<Self, Failure> {
        let print = Print::of(&source.home);
        let config = load(&source)?;
        Ok(Self { source, print, config })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use atlas_core::ports::SystemClock;

    use super::*;
    use crate::app::{App, Options};

    #[tokio::test]
    async fn a_home_without_a_file_gets_over_a_bot_that_was_broken() {
        let folder = tempfile::tempdir().unwrap();
        let source = Source { home: folder.path().to_owned(), env: BTreeMap::new() };
        let watched = Watched::read(source).unwrap();
        let options = Options {
            seat: None,
            clock: Arc::new(SystemClock),
            wrap: Box::new(std::convert::identity),
        };
        let app = App::build(watched.config.clone(), options).await.unwrap().watching(watched);
        let reload = app.reload.as_ref().unwrap();
        let bots = app.engine.home().bots.len();
        let mission = |text: &str| {
            let bot = folder.path().join("bots/seo");
            fs::create_dir_all(&bot).unwrap();
            fs::write(bot.join("BOT.md"), text).unwrap();
        };
        mission("---\nnonsense: 1\n---\nYou look after rankings.\n");
        reload.look(true).await;
        assert!(reload.state.lock().await.broken);
        mission("You look after rankings.\n");
        reload.look(true).await;
        assert!(!reload.state.lock().await.broken);
        assert_eq!(app.engine.home().bots.len(), bots + 1);
    }
}
