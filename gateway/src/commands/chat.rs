//! `atlas chat`: a bot in this terminal.
//!
//! The terminal is a platform like the others; here are its streams. Answers go to standard output,
//! everything else to standard error.

mod left_over;
mod print;
mod prompt;
mod script;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use atlas_adapters::terminal::{Printer, Terminal};
use atlas_config::{BotConfig, Config, Model, Provider};
use atlas_core::bot::MAIN;
use atlas_core::ids::BotName;
use atlas_core::ports::StoreError;
use tokio::signal::unix::{Signal, SignalKind};
use tokio::time::{sleep, timeout};

use super::run::hear;
use super::{Context, Failure};
use crate::app::{App, Options, Seat};
use crate::running::Running;
use print::Streams;

/// How long a step in progress may take when somebody leaves: the gateway, or the next terminal,
/// goes on with it.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Who answers; `atlas` where nobody is named
    pub(super) bot: Option<String>,
    /// Send this, print the answer and end; can be given again, for what follows the answer
    #[arg(short = 'm', long = "message", value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) messages: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, context: Context) -> Result<ExitCode, Failure> {
    let config = context.config()?;
    let bot = chosen(&config, arguments.bot.as_deref())?.clone();
    let greeting = greeting(&config, &bot);
    let at_prompt =
        arguments.messages.is_empty() && io::stdin().is_terminal() && io::stdout().is_terminal();
    if at_prompt {
        let prompt = prompt::Prompt::new(config.home.join("history"))?;
        let talk = Talk::begin(config, bot.name, prompt.printer(), context).await?;
        print::note(&format!("{greeting}\n/help lists the commands, Ctrl-D or /quit leaves."));
        left_over::print(&talk, false).await?;
        return prompt.run(talk).await;
    }
    let streams = Arc::new(Streams::default());
    let talk = Talk::begin(config, bot.name, streams.clone(), context).await?;
    print::note(&greeting);
    left_over::print(&talk, true).await?;
    let lines = script::Lines::of(arguments.messages);
    script::run(talk, lines, &streams).await
}

/// The bot of this name.
fn chosen<'a>(config: &'a Config, name: Option<&str>) -> Result<&'a BotConfig, Failure> {
    let name = name.unwrap_or(MAIN);
    config.bots.iter().find(|bot| bot.name.as_str() == name).ok_or_else(|| {
        let names: Vec<&str> = config.bots.iter().map(|bot| bot.name.as_str()).collect();
        Failure::new(
            format!("There is no bot called {name:?} in this home."),
            format!("There are: {}. Another one is a folder bots/<name>/.", names.join(", ")),
        )
    })
}

/// Who answers, and which model it took.
fn greeting(config: &Config, bot: &BotConfig) -> String {
    let model = config.models.get(&bot.model).map(described).unwrap_or_default();
    format!("{} answers, {model}.", bot.shown)
}

fn described(model: &Model) -> String {
    match model.provider {
        Provider::Offline => {
            "by the offline stand-in: a few rules, no model ([models.default] sets one)".to_owned()
        }
        Provider::Anthropic | Provider::OpenAi => {
            let server = model.base_url.as_deref().map(|url| format!(" at {url}"));
            format!("with the model {}{}", model.model, server.unwrap_or_default())
        }
    }
}

/// A terminal at work.
struct Talk {
    running: Running,
    terminal: Arc<Terminal>,
}

/// How a wait for an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// Nothing is under way any more.
    Answered,
    /// Somebody stopped it, and it has stopped.
    Stopped,
    /// Somebody leaves: they ended the process, or do not wait for that.
    Left,
}

impl Talk {
    async fn begin(
        config: Config,
        bot: BotName,
        printer: Arc<dyn Printer>,
        context: Context,
    ) -> Result<Self, Failure> {
        let options = Options {
            seat: Some(Seat { printer, bot }),
            clock: context.seams.clock,
            wrap: context.seams.wrap,
        };
        let app = App::build(config, options).await?;
        let terminal = app.terminal.clone().ok_or_else(|| Failure::new("No terminal.", ""))?;
        Ok(Self { running: Running::start(app).await?, terminal })
    }

    fn app(&self) -> &App {
        self.running.app()
    }

    /// Gives a line to the intake. A database that fails is tried again for a while.
    async fn say(&self, text: &str) -> Result<(), Failure> {
        let event = self.terminal.typed(text, self.app().engine.clock.now());
        patiently(|| self.app().intake.accept(vec![event.clone()])).await?;
        Ok(())
    }

    async fn is_quiet(&self) -> Result<bool, Failure> {
        let store = &self.app().engine.store;
        Ok(patiently(|| store.is_quiet(self.terminal.place())).await?)
    }

    /// Waits until everything that was said is answered and printed.
    async fn quiet(&self) -> Result<(), Failure> {
        loop {
            // Heard from here on, so that nothing is missed between the look and the wait.
            let changed = self.app().engine.bells.changed.notified();
            if self.is_quiet().await? {
                return Ok(());
            }
            let _ = timeout(Duration::from_millis(250), changed).await;
        }
    }

    /// Waits for the answer. An interruption stops the turn, a second one does not wait for that. Whoever
    /// ends the process has it end when the turn has stopped.
    async fn answered(&self, signals: &mut Signals) -> Result<Waited, Failure> {
        let heard = tokio::select! {
            quiet = self.quiet() => return quiet.map(|()| Waited::Answered),
            heard = signals.next() => heard,
        };
        print::note("Stopping. Once more leaves at once.");
        self.say("/stop").await?;
        tokio::select! {
            quiet = self.quiet() => quiet.map(|()| match heard {
                Heard::Interrupt => Waited::Stopped,
                Heard::Terminate => Waited::Left,
            }),
            _ = signals.next() => Ok(Waited::Left),
        }
    }

    async fn end(self) {
        self.running.end_within(PATIENCE).await;
    }
}

/// SIGINT and SIGTERM.
struct Signals(Signal, Signal);

/// What was heard of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// SIGINT: stop what is under way.
    Interrupt,
    /// SIGTERM: end.
    Terminate,
}

impl Signals {
    fn hear() -> Result<Self, Failure> {
        Ok(Self(hear(SignalKind::interrupt())?, hear(SignalKind::terminate())?))
    }

    async fn next(&mut self) -> Heard {
        tokio::select! {
            _ = self.0.recv() => Heard::Interrupt,
            _ = self.1.recv() => Heard::Terminate,
        }
    }
}

/// Tries five times, with growing rests.
async fn patiently<T, F>(mut work: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for rest in [50, 200, 800, 3000] {
        match work().await {
            Ok(done) => return Ok(done),
            Err(error) => tracing::debug!(%error, "The database failed; trying again"),
        }
        sleep(Duration::from_millis(rest)).await;
    }
    work().await
}
