//! The way in: a session of Discord's gateway, kept up; what it tells goes to the intake.
//!
//! The socket is our own. Serenity's shard gives typed events alone: it drops the bytes that a payload
//! came in, writes what it cannot read to the log and loses it, and stays silent for ever after some
//! closes. Here a frame is read part by part, and what cannot be read is kept.
//!
//! A lost connection is resumed where the session allows it; after [`RESUMES`] failed tries, and
//! whenever Discord says so, a new session is begun, with a back-off that ends only when a heart has
//! beaten in it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use atlas_core::ids::AccountId;
use atlas_core::intake::Intake;
use atlas_core::ports::Source;
use serenity::model::gateway::GatewayIntents;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::api::Api;
use super::interactions::Interactions;
use super::rest::{self, CallError};
use crate::http::backoff::{Backoff, Pace};
use line::{End, Line, Stage};
use session::Session;
use socket::Socket;
use work::Work;

mod catch_up;
mod chats;
mod directory;
mod events;
mod frame;
mod line;
mod session;
mod socket;
mod work;

/// What is asked for: servers and their channels, messages in them and in DMs, and what they say.
const INTENTS: GatewayIntents = GatewayIntents::GUILDS
    .union(GatewayIntents::GUILD_MESSAGES)
    .union(GatewayIntents::DIRECT_MESSAGES)
    .union(GatewayIntents::MESSAGE_CONTENT);
/// How often one session is tried to be resumed before a new one is begun.
const RESUMES: u32 = 3;
/// Between two tries to resume.
const BETWEEN_RESUMES: Duration = Duration::from_secs(1);
/// Between new sessions that fail: Discord takes no two IDENTIFYs closer to each other than the first.
const PACE: Pace =
    Pace { first: BETWEEN_IDENTIFIES, longest: Duration::from_secs(15 * 60), spread: (1.0, 1.25) };
/// Discord takes one IDENTIFY in this time.
const BETWEEN_IDENTIFIES: Duration = Duration::from_secs(5);

/// The way in of one account.
pub struct DiscordSource {
    account: AccountId,
    api: Arc<Api>,
    interactions: Arc<Interactions>,
    backlog: Duration,
}

/// One run: what is kept from one connection to the next.
struct Run<'a> {
    source: &'a DiscordSource,
    stop: watch::Receiver<bool>,
    work: Work<'a>,
    intents: GatewayIntents,
    backoff: Backoff,
    identified: Option<Instant>,
    resumes: u32,
}

/// Why a run ends, or goes on.
enum Next {
    /// Connect again.
    Again,
    /// It was told to stop, or only a person can mend it.
    Over,
}

impl DiscordSource {
    pub(super) fn new(
        account: AccountId,
        api: Arc<Api>,
        interactions: Arc<Interactions>,
        backlog: Duration,
    ) -> Self {
        Self { account, api, interactions, backlog }
    }
}

#[async_trait]
impl Source for DiscordSource {
    async fn run(&self, intake: Arc<Intake>, stop: watch::Receiver<bool>) {
        let mut run = Run {
            source: self,
            stop,
            work: Work::new(self, &intake),
            intents: INTENTS,
            backoff: Backoff::new(PACE),
            identified: None,
            resumes: 0,
        };
        if run.load(&intake).await.is_ok() {
            while matches!(run.once().await, Next::Again) {}
        }
    }
}

/// Returns when the stop is asked for, or whoever could ask for it is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Run<'_> {
    /// Takes up how far every chat was read, however long that takes.
    async fn load(&mut self, intake: &Intake) -> Result<(), Next> {
        let mut backoff = Backoff::new(PACE);
        loop {
            match intake.cursors(&self.source.account).await {
                Ok(cursors) => {
                    self.work.chats.load(cursors);
                    return Ok(());
                }
                Err(error) => {
                    if backoff.is_new(&error.to_string()) {
                        error!(account = %self.source.account, %error, "Discord waits for the database");
                    }
                    self.rest(backoff.next()).await?;
                }
            }
        }
    }

    /// One connection, from the address to its end.
    async fn once(&mut self) -> Next {
        let resuming = self.work.session.can_resume() && self.resumes < RESUMES;
        let address =
            if resuming { self.before_resuming().await } else { self.before_identifying().await };
        let address = match address {
            Ok(address) => address,
            Err(next) => return next,
        };
        let mut stop = self.stop.clone();
        let socket = tokio::select! {
            biased;
            () = stopped(&mut stop) => return Next::Over,
            socket = Socket::connect(&address) => socket,
        };
        let end = match socket {
            Ok(socket) => self.connected(socket, resuming).await,
            Err(why) => End::Lost { why, stage: Stage::Handshake },
        };
        self.after(end)
    }

    async fn connected(&mut self, socket: Socket, resuming: bool) -> End {
        let token = self.source.api.token();
        let begin = if resuming {
            self.work.session.resume(token)
        } else {
            self.identified = Some(Instant::now());
            self.work.session = Session::default();
            Session::identify(token, self.intents)
        };
        Line::new(socket, &mut self.work, begin).run(self.stop.clone()).await
    }

    /// Waits as long as it takes, unless it is told to stop. What is under way goes on meanwhile.
    async fn rest(&mut self, wait: Duration) -> Result<(), Next> {
        let until = Instant::now() + wait;
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return Err(Next::Over),
                () = sleep_until(until) => return Ok(()),
                () = self.work.step() => {}
            }
        }
    }

    async fn before_resuming(&mut self) -> Result<String, Next> {
        if self.resumes > 0 {
            self.rest(BETWEEN_RESUMES).await?;
        }
        self.resumes += 1;
        Ok(self.work.session.address())
    }

    /// The gateway's address, once a session may be begun.
    async fn before_identifying(&mut self) -> Result<String, Next> {
        self.resumes = 0;
        let due = self.identified.map(|last| last + self.backoff.next());
        if let Some(wait) = due.and_then(|due| due.checked_duration_since(Instant::now())) {
            self.rest(wait).await?;
        }
        let mut stop = self.stop.clone();
        loop {
            let asked = tokio::select! {
                biased;
                () = stopped(&mut stop) => return Err(Next::Over),
                asked = rest::gateway(self.source.api.http()) => asked,
            };
            match asked {
                Ok(gateway) if gateway.session_start_limit.remaining > 0 => return Ok(gateway.url),
                Ok(gateway) => {
                    let wait = Duration::from_millis(gateway.session_start_limit.reset_after)
                        .max(BETWEEN_IDENTIFIES);
                    error!(
                        account = %self.source.account, wait_s = wait.as_secs(),
                        "Discord allows this bot no more sessions today; it waits until Discord \
                         does. Something begins them over and over: is the token used elsewhere?"
                    );
                    self.rest(wait).await?;
                }
                Err(CallError::Token) => return Err(self.off(TOKEN_REFUSED)),
                Err(error) => {
                    if self.backoff.is_new(&error.to_string()) {
                        warn!(account = %self.source.account, %error, "Discord cannot be reached; trying again");
                    }
                    let wait = self.backoff.next();
                    self.rest(wait).await?;
                }
            }
        }
    }

    /// What an end means for the next try.
    fn after(&mut self, end: End) -> Next {
        match end {
            End::Stopped => return Next::Over,
            End::Lost { why, stage } => {
                self.came_to(stage);
                self.tell(&why);
            }
            End::Invalid { why, stage } => {
                self.came_to(stage);
                self.work.session.forget();
                self.tell(&why);
            }
            End::Fatal(why) => return self.off(why),
            End::NoContentIntent if self.intents.contains(GatewayIntents::MESSAGE_CONTENT) => {
                error!(
                    account = %self.source.account,
                    "the bot may not read what is said in channels: switch on Message Content \
                     Intent at https://discord.com/developers/applications (the application, Bot, \
                     Privileged Gateway Intents) and start again. Until then it hears DMs, \
                     mentions by name and slash commands"
                );
                self.intents.remove(GatewayIntents::MESSAGE_CONTENT);
                self.work.session.forget();
            }
            End::NoContentIntent => return self.off(INTENTS_REFUSED),
        }
        Next::Again
    }

    /// A session that went on may be resumed again, after a moment where no heart has beaten in it.
    fn came_to(&mut self, stage: Stage) {
        match stage {
            Stage::Handshake => {}
            Stage::Ready => self.resumes = self.resumes.min(1),
            Stage::Proven => {
                self.resumes = 0;
                self.backoff.recovered();
            }
        }
    }

    fn tell(&mut self, why: &str) {
        if self.backoff.is_new(why) {
            info!(account = %self.source.account, why, "the connection to Discord ended; connecting again");
        }
    }

    /// Only a person can mend it.
    fn off(&self, why: &str) -> Next {
        error!(account = %self.source.account, "{why}; until then this account is off");
        Next::Over
    }
}

const TOKEN_REFUSED: &str = "Discord refuses the token: copy it again from \
    https://discord.com/developers/applications (the application, Bot, Reset Token) into the \
    configuration and start again";
const INTENTS_REFUSED: &str = "Discord refuses the intents (4014): see what is switched off at \
    https://discord.com/developers/applications (the application, Bot, Privileged Gateway Intents) \
    and start again";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_five_seconds_to_a_quarter_of_an_hour() {
        let bounds: Vec<_> = [0, 1, 2, 7, 8, 40].map(|n| PACE.bound(n).as_secs()).into();
        assert_eq!(bounds, [5, 10, 20, 640, 900, 900]);
        assert_eq!(PACE.spread, (1.0, 1.25));
    }
}
