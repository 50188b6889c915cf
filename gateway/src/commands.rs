//! The command line: what was typed, and which of the commands does it.
//!
//! A command prints to standard output what it was asked for, and everything else to standard
//! error. It fails with a [`Failure`]: one line of what, one of how to mend it.

mod allow;
mod chat;
mod check;
mod init;
mod pair;
mod run;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_config::{Config, EX_CONFIG, Errors, HomeError, Source, prepare_home};
use atlas_core::instructions::DEFAULT_SOUL;
use atlas_core::ports::{Clock, StoreError, SystemClock};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::app::Wrap;
use crate::reload::Watched;

/// What production and tests choose differently, besides the configuration.
pub struct Seams {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Wraps the finished ports; the identity in production.
    pub wrap: Wrap,
}

impl Seams {
    /// The machine's clock, and the ports as they are.
    #[must_use]
    pub fn production() -> Self {
        Self { clock: Arc::new(SystemClock), wrap: Box::new(|ports| ports) }
    }
}

/// Bots with fixed conversations, on Telegram, on Discord and in the terminal.
#[derive(Debug, Parser)]
#[command(name = "atlas", version)]
#[command(
    after_help = "Try `atlas chat` first: it needs no key and no account. `atlas init` connects a bot."
)]
struct CommandLine {
    /// The home: a folder, or the name of one below ~/.atlas/homes
    #[arg(long, global = true, value_name = "NAME|PATH")]
    home: Option<String>,
    /// Print without colours
    #[arg(long, global = true)]
    no_color: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every account and bot of the home (what `atlas` alone does)
    Run,
    /// Connect a bot on Telegram or Discord: its token, checked at once, and a code that makes you its owner
    Init(init::Arguments),
    /// Talk in the terminal
    Chat(chat::Arguments),
    /// Look at configuration, tokens, models, database and files: what is wrong, and how to mend it
    Check(check::Arguments),
    /// Become the owner: print a one-time code to send to one of the bots
    Pair(pair::Arguments),
    /// Let in whoever gave you their code, take it back, or list who waits and who was let in
    Allow(allow::Arguments),
}

/// What every command is given.
struct Context {
    /// `--home`.
    home: Option<String>,
    /// When the process started.
    started: Instant,
    seams: Seams,
}

impl Context {
    /// The checked configuration of the home, which is made first where there is none.
    fn config(&self) -> Result<Config, Failure> {
        self.watched().map(|watched| watched.config)
    }

    /// The same, with what tells whether it changes later.
    fn watched(&self) -> Result<Watched, Failure> {
        let source = Source::from_process(self.home.as_deref())?;
        let home = prepare_home(&source.home, DEFAULT_SOUL)?;
        let watched = Watched::read(source)?;
        for warning in home.warnings.iter().chain(&watched.config.warnings) {
            tracing::warn!("{warning}");
        }
        Ok(watched)
    }
}

/// Does what the arguments say, from the first to the last.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>, seams: Seams) -> ExitCode {
    let started = Instant::now();
    let line = match parse(args) {
        Ok(line) => line,
        // Help and version go to standard output with 0, usage errors to standard error with 2.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let quiet = !matches!(line.command, None | Some(Command::Run));
    crate::telemetry::start(quiet, !line.no_color);
    let context = Context { home: line.home, started, seams };
    match in_runtime(line.command.unwrap_or(Command::Run), context) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn parse(args: impl IntoIterator<Item = OsString>) -> Result<CommandLine, clap::Error> {
    let args: Vec<OsString> = args.into_iter().collect();
    // Before the parser runs, since its own errors have colours.
    let plain = args.iter().any(|arg| arg == "--no-color");
    let color = if plain { ColorChoice::Never } else { ColorChoice::Auto };
    let matches = CommandLine::command().color(color).try_get_matches_from(args)?;
    CommandLine::from_arg_matches(&matches)
}

fn in_runtime(command: Command, context: Context) -> Result<ExitCode, Failure> {
    let runtime = runtime()?;
    let code = runtime.block_on(async {
        match command {
            Command::Run => run::run(context).await,
            Command::Init(arguments) => init::run(arguments, context).await,
            Command::Chat(arguments) => chat::run(arguments, context).await,
            Command::Check(arguments) => check::run(arguments, context).await,
            Command::Pair(arguments) => pair::run(arguments, context).await,
            Command::Allow(arguments) => allow::run(arguments, context).await,
        }
    });
    // A thread may still wait for a line that nobody types.
    runtime.shutdown_timeout(Duration::from_millis(100));
    code
}

fn runtime() -> Result<Runtime, Failure> {
    // Work waits for servers and disks, not for processors; each thread costs memory.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().min(4));
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().map_err(|error| {
        Failure::new(format!("Atlas cannot start: {error}"), "Free some memory or processes.")
    })
}

/// Why a command failed, for a person.
#[derive(Debug)]
pub struct Failure {
    what: String,
    mend: String,
    code: u8,
}

impl Failure {
    /// A failure with exit code 1: what went wrong, and how to mend it, a line each.
    #[must_use]
    pub fn new(what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), mend: mend.into(), code: 1 }
    }

    /// Writes it to standard error.
    fn report(&self) -> ExitCode {
        // Nobody listens any more where standard error is closed: the code still tells.
        let _ = writeln!(io::stderr(), "{self}");
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if self.mend.is_empty() { Ok(()) } else { write!(f, "\n  {}", self.mend) }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let mend = match &error {
            StoreError::Unwritable(_) => "Make room on the disk, and see that the home is yours.",
            _ => "`atlas check` says what is wrong with the home.",
        };
        Self::new(sentence(&error.to_string()), mend)
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        Self::new(sentence(&error.what), error.mend)
    }
}

impl From<Errors> for Failure {
    /// Starting again mends nothing, so the code is one that a service manager heeds.
    fn from(errors: Errors) -> Self {
        Self { what: errors.render(), mend: String::new(), code: EX_CONFIG }
    }
}

/// What a closed standard output means: whoever read it has what they want (`| head`). Anything else
/// that is wrong with it is a failure.
fn closed_output(error: io::Error) -> Result<(), Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(());
    }
    Err(Failure::new(format!("Nothing can be printed: {error}."), "Look where the output goes."))
}

/// A text as a sentence: with a capital and one full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CommandLine, i32> {
        parse(line.split(' ').map(Into::into)).map_err(|error| error.exit_code())
    }

    #[test]
    fn atlas_alone_is_atlas_run() {
        assert!(parsed("atlas").unwrap().command.is_none());
        assert!(matches!(parsed("atlas run").unwrap().command, Some(Command::Run)));
    }

    #[test]
    fn the_home_can_stand_before_and_after_the_command() {
        for line in ["atlas --home work check", "atlas check --home work"] {
            assert_eq!(parsed(line).unwrap().home.as_deref(), Some("work"));
        }
    }

    #[test]
    fn a_usage_error_is_2_and_help_is_0() {
        assert_eq!(parsed("atlas dance").unwrap_err(), 2);
        assert_eq!(parsed("atlas chat -m").unwrap_err(), 2);
        assert_eq!(parsed("atlas help").unwrap_err(), 0);
        assert_eq!(parsed("atlas --version").unwrap_err(), 0);
    }

    #[test]
    fn texts_to_send_keep_their_order() {
        let Some(Command::Chat(chat)) = parsed("atlas chat seo -m one -m two").unwrap().command
        else {
            panic!("not a chat");
        };
        assert_eq!(chat.bot.as_deref(), Some("seo"));
        assert_eq!(chat.messages, ["one", "two"]);
    }
}
