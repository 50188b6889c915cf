//! The harness: stand-ins, a home, and the real application as a process of its own, started, killed
//! and restarted as a test says.
//!
//! When it is dropped, the test fails on everything left over: an answer that the script expected and
//! nobody asked for, an outbox that is not empty, a route that no server has, an error in the log that
//! the test did not announce, a token anywhere in the log at TRACE.

use std::process::{Command, ExitStatus};
use std::sync::Arc;

use serde_json::Value;

use crate::bell::{self, Bell};
use crate::discord::{self, Discord};
use crate::home::Home;
use crate::model::{self, Model};
use crate::process::Process;
use crate::telegram::{self, Chat, Sent, Telegram, User};

/// The owner's number on Telegram.
pub const OWNER: i64 = 4242;

/// The owner's number on Discord.
pub const DISCORD_OWNER: u64 = 424_200_000_000_000_042;

/// What the log says when the intake is open.
const READY: &str = "Atlas is ready";

/// The scene of one test.
#[derive(Debug)]
pub struct Harness {
    /// Rings when anything happens.
    pub bell: Arc<Bell>,
    /// Telegram.
    pub telegram: Telegram,
    /// Discord, which the application knows after [`Self::use_discord`].
    pub discord: Discord,
    /// The model's server.
    pub model: Model,
    /// The home.
    pub home: Home,
    /// What is written into `atlas.toml` at each start.
    pub config: String,
    under_test: &'static str,
    gateway: Option<Process>,
    /// Processes that ended, for the searches at the end.
    past: Vec<Process>,
    announced: Vec<String>,
    left_over_allowed: bool,
}

impl Harness {
    /// A scene with both stand-ins and a configuration that uses them. `under_test` is
    /// `env!("CARGO_BIN_EXE_under-test")`. Nothing runs yet.
    #[must_use]
    pub fn new(under_test: &'static str) -> Self {
        let bell = Bell::new();
        let (telegram, model) = (Telegram::start(&bell), Model::start(&bell));
        let discord = Discord::start(&bell);
        let config = config(&telegram, &model);
        Self {
            bell,
            telegram,
            discord,
            model,
            home: Home::new(),
            config,
            under_test,
            gateway: None,
            past: Vec::new(),
            announced: Vec::new(),
            left_over_allowed: false,
        }
    }

    /// Adds to the configuration.
    pub fn configure(&mut self, toml: &str) {
        self.config = format!("{}\n{toml}\n", self.config);
    }

    /// The owner.
    #[must_use]
    pub fn owner(&self) -> User {
        User::new(OWNER, "Ana")
    }

    /// Adds the account `dc` on Discord, and the owner's id there.
    pub fn use_discord(&mut self) {
        let owner = format!("telegram = [\"{OWNER}\"]\n");
        let both = format!("{owner}discord = [\"{DISCORD_OWNER}\"]\n");
        self.config = self.config.replace(&owner, &both);
        self.configure(&format!(
            "[accounts.dc]\nplatform = \"discord\"\ntoken = \"env:STAND_IN_DISCORD_TOKEN\"\n\
             api_base = \"{}\"\n",
            self.discord.api_base()
        ));
    }

    /// The model is asked in Anthropic's dialect.
    pub fn use_anthropic(&mut self) {
        self.config = self.config.replace("provider = \"openai\"", "provider = \"anthropic\"");
    }

    /// The owner, on Discord.
    #[must_use]
    pub fn discord_owner(&self) -> discord::User {
        discord::User::new(DISCORD_OWNER, "ana")
    }

    /// A log line of level ERROR that holds this is meant.
    pub fn announce_error(&mut self, text: &str) {
        self.announced.push(text.to_owned());
    }

    /// The home is left with work to do, on purpose.
    pub fn allow_left_over(&mut self) {
        self.left_over_allowed = true;
    }

    // The process.

    /// Starts the gateway and waits until its intake is open.
    pub fn start(&mut self) {
        self.start_with(&[]);
    }

    /// Starts the gateway with these variables, see [`crate::faults`], and waits until its intake is
    /// open or it has died.
    pub fn start_with(&mut self, variables: &[(&str, &str)]) {
        self.spawn_gateway(variables);
        self.until("the gateway is ready", |scene| {
            let gateway = scene.gateway.as_mut()?;
            (gateway.logged(READY) || gateway.ended().is_some()).then_some(())
        });
    }

    /// Starts the gateway and waits until it is connected to Discord too: what is written to a bot
    /// for the first time before that, nobody tells it.
    pub fn start_connected(&mut self) {
        self.start();
        self.connected();
    }

    /// Waits until this gateway is connected to Discord.
    pub fn connected(&mut self) {
        self.until("a connection to Discord", |scene| {
            scene.gateway.as_ref()?.logged("connected to Discord").then_some(())
        });
    }

    /// Starts the gateway and does not wait.
    pub fn spawn_gateway(&mut self, variables: &[(&str, &str)]) {
        assert!(self.gateway.is_none(), "the gateway runs already");
        self.home.write("atlas.toml", &self.config);
        let gateway = self.spawn("gateway", &["run"], variables);
        self.gateway = Some(gateway);
    }

    /// Any command of the executable, in this home, beside whatever runs.
    #[must_use]
    pub fn spawn(&self, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Process {
        if !self.home.file("atlas.toml").exists() {
            self.home.write("atlas.toml", &self.config);
        }
        Process::start(name, &mut self.command(arguments, variables), &self.bell)
    }

    /// The command as [`Self::spawn`] runs it.
    #[must_use]
    pub fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.under_test);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("ATLAS_HOME", self.home.path())
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "0")
            .env("STAND_IN_TOKEN", telegram::TOKEN)
            .env("STAND_IN_DISCORD_TOKEN", discord::TOKEN)
            .env("STAND_IN_KEY", model::KEY)
            .envs(variables.iter().copied());
        command
    }

    /// The gateway's process.
    ///
    /// # Panics
    ///
    /// Where it does not run.
    pub fn gateway(&mut self) -> &mut Process {
        self.gateway.as_mut().expect("a running gateway")
    }

    /// SIGKILL to the gateway.
    pub fn kill(&mut self) {
        let mut gateway = self.gateway.take().expect("a running gateway");
        gateway.kill();
        self.past.push(gateway);
    }

    /// SIGTERM to the gateway, and its end.
    pub fn stop(&mut self) -> ExitStatus {
        self.gateway().terminate();
        self.end()
    }

    /// The end of a gateway that was told to end.
    pub fn end(&mut self) -> ExitStatus {
        let mut gateway = self.gateway.take().expect("a running gateway");
        let status = self.ended(&mut gateway);
        self.past.push(gateway);
        status
    }

    /// Waits until the gateway died at its crash point.
    pub fn crashed(&mut self, point: &str) {
        let Some(mut gateway) = self.gateway.take() else { panic!("no gateway runs") };
        let status = self.bell.wait(bell::CEILING, || gateway.ended());
        let crashed = gateway.crashed();
        self.past.push(gateway);
        assert!(crashed, "never died at {point}, but {status:?}\n{}", self.describe());
    }

    /// A process of the scene that is to be searched at the end like the gateway.
    pub fn finish(&mut self, mut process: Process) -> (ExitStatus, String, String) {
        let status = self.ended(&mut process);
        let (out, err) = (process.out(), process.err());
        self.past.push(process);
        (status, out, err)
    }

    fn ended(&self, process: &mut Process) -> ExitStatus {
        match self.bell.wait(bell::CEILING, || process.ended()) {
            Some(status) => status,
            None => panic!("a process did not end\n{}\n{}", process.describe(), self.describe()),
        }
    }

    /// A terminal with these messages: `atlas chat -m … -m …`.
    #[must_use]
    pub fn chat(&self, messages: &[&str]) -> Process {
        let mut arguments = vec!["chat"];
        arguments.extend(messages.iter().flat_map(|message| ["-m", message]));
        self.spawn("terminal", &arguments, &[])
    }

    // Facts.

    /// Waits until a fact of the scene holds.
    ///
    /// # Panics
    ///
    /// After the ceiling, with the whole state; at once where the model's script is broken.
    pub fn until<R>(&mut self, what: &str, mut fact: impl FnMut(&mut Self) -> Option<R>) -> R {
        let bell = self.bell.clone();
        let found = bell.wait(bell::CEILING, || {
            if let Some(found) = fact(self) {
                return Some(Some(found));
            }
            (!self.model.failures().is_empty()).then_some(None)
        });
        match found {
            Some(Some(found)) => found,
            Some(None) => panic!("the script broke while waiting for: {what}\n{}", self.describe()),
            None => panic!("waited in vain for: {what}\n{}", self.describe()),
        }
    }

    /// The owner writes to the bot in private.
    pub fn dm(&self, text: &str) -> i64 {
        self.telegram.dm(&self.owner(), text)
    }

    /// Waits until a message of this text was sent to the owner's DM.
    pub fn answered(&mut self, text: &str) -> Sent {
        self.sent_to(OWNER, text)
    }

    /// Waits until a message of this text was sent to a chat.
    pub fn sent_to(&mut self, chat: i64, text: &str) -> Sent {
        self.until(&format!("{text:?} in chat {chat}"), |scene| {
            scene.telegram.sent().into_iter().find(|sent| sent.chat == chat && sent.text == text)
        })
    }

    /// Waits until a message of this text was sent to a channel of Discord.
    pub fn discord_said(&mut self, channel: u64, text: &str) -> discord::Sent {
        self.until(&format!("{text:?} in channel {channel}"), |scene| {
            let sent = scene.discord.sent().into_iter();
            sent.rev().find(|sent| sent.channel == channel && sent.text == text)
        })
    }

    /// Waits until nothing is left to be done: every update confirmed, every turn ended, every
    /// message delivered.
    pub fn settled(&mut self) {
        self.until("nothing left to be done", |scene| {
            (scene.telegram.unconfirmed() == 0 && scene.home.left_over().is_empty()).then_some(())
        });
    }

    /// What was sent to the owner's DM that was no quiet line.
    #[must_use]
    pub fn answers(&self) -> Vec<String> {
        let sent = self.telegram.sent().into_iter();
        sent.filter(|sent| sent.chat == OWNER && !sent.silent).map(|sent| sent.text).collect()
    }

    /// A group that the owner is in, routed to the main agent by the account.
    #[must_use]
    pub fn group(&self) -> Chat {
        Chat::group(-1_001, "Team")
    }

    /// The whole state, for a failure.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = String::from("──────── the scene ────────\n");
        text += &self.telegram.describe();
        text += &self.discord.describe();
        text += &self.model.describe();
        for process in self.past.iter().chain(&self.gateway) {
            text += &process.describe();
        }
        text + &self.home.describe()
    }

    /// What must not be left at the end.
    fn faults(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(mut gateway) = self.gateway.take() {
            gateway.terminate();
            match self.bell.wait(bell::CEILING, || gateway.ended()) {
                Some(status) if status.success() => {}
                status => faults.push(format!("the gateway did not end cleanly: {status:?}")),
            }
            self.past.push(gateway);
        }
        faults.extend(self.model.problems());
        faults.extend(self.telegram.problems());
        faults.extend(self.discord.problems());
        if !self.left_over_allowed {
            faults.extend(self.home.left_over());
        }
        for process in &self.past {
            faults.extend(errors(&process.log(), &self.announced));
            let everything = process.everything();
            let telegrams = secret_part(telegram::TOKEN);
            for secret in [telegram::TOKEN, telegrams, discord::TOKEN, model::KEY] {
                if let Some(line) = everything.lines().find(|line| line.contains(secret)) {
                    let line: String = line.chars().take(400).collect();
                    faults.push(format!("a token was logged: {line}"));
                }
            }
        }
        faults
    }
}

/// The half of a bot's token that is the secret.
fn secret_part(token: &str) -> &str {
    token.split_once(':').map_or(token, |(_, secret)| secret)
}

/// The lines of level ERROR that nobody announced.
fn errors(log: &[String], announced: &[String]) -> Vec<String> {
    let error = |line: &&String| {
        let parsed: Option<Value> = serde_json::from_str(line).ok();
        parsed.is_some_and(|line| line["level"] == "ERROR")
    };
    let unannounced =
        |line: &&String| !announced.iter().any(|announced| line.contains(announced.as_str()));
    log.iter().filter(error).filter(unannounced).map(|line| format!("logged: {line}")).collect()
}

fn config(telegram: &Telegram, model: &Model) -> String {
    format!(
        r#"timezone = "UTC"

[owner]
telegram = ["{OWNER}"]

[models.main]
provider = "openai"
base_url = "{}"
api_key = "env:STAND_IN_KEY"
model = "stand-in"
window = 200000

[accounts.tg]
platform = "telegram"
token = "env:STAND_IN_TOKEN"
api_base = "{}"
"#,
        model.base_url(),
        telegram.api_base()
    )
}

impl Drop for Harness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let faults = self.faults();
        assert!(faults.is_empty(), "left over:\n  {}\n{}", faults.join("\n  "), self.describe());
    }
}
