//! The way in: polls for updates, hands them to the intake, and only then asks for the next ones,
//! which is how Telegram is told that they were received.
//!
//! Until the updates that waited are through, polls are not held: what of them is too old to be answered
//! belongs to one reading, which is over when a poll brings nothing of that age. A reading is
//! known by when the one before it was over, which the store keeps: killed in between, the next process
//! goes on with it, and nobody is told twice that something was skipped.
//!
//! The offset lives in memory only and is never computed from anything stored: numbers of updates
//! start anew at random after a quiet week. Without one, Telegram gives what was not acknowledged.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use atlas_core::event::{ChatKind, Envelope, Event};
use atlas_core::ids::AccountId;
use atlas_core::intake::Intake;
use atlas_core::ports::{Cursor, Source, StoreError};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, error, info, warn};

use super::BotAccount;
use super::api::{Api, CallError};
use super::decode::{self, decode};
use crate::http::backoff::{Backoff, Pace};

/// Between failed calls.
const PACE: Pace =
    Pace { first: Duration::from_secs(1), longest: Duration::from_secs(60), spread: (0.5, 1.0) };
/// How long Telegram holds a poll in which nothing comes.
const HOLD: Duration = Duration::from_secs(50);
/// How much longer the client waits for the end of a held poll.
const GRACE: Duration = Duration::from_secs(15);
/// After this long without updates the offset is forgotten, before Telegram forgets its numbers.
const QUIET: Duration = Duration::from_secs(6 * 24 * 60 * 60);
/// How long a clean stop waits for its acknowledgement; the inbox knows repeats anyway.
const FAREWELL: Duration = Duration::from_millis(500);

/// The cursor of an account's updates, among those of its chats: no chat has this id. It holds when the
/// last reading of what had waited was over, in milliseconds since 1970.
const UPDATES: &str = "updates";

/// The way in of one account.
pub struct TelegramSource {
    account: AccountId,
    api: Arc<Api>,
    backlog: Duration,
}

#[derive(Serialize)]
struct Poll {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    timeout: u64,
    /// Telegram remembers them: they are told once.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_updates: Option<&'static [&'static str]>,
}

/// The state of one run.
struct Poller<'a> {
    account: &'a AccountId,
    api: &'a Api,
    me: BotAccount,
    /// One more than the last number stored. None at start, after a failed poll and a quiet time.
    offset: Option<i64>,
    /// When the last update came.
    heard: Instant,
    told_kinds: bool,
    /// The age from which on messages are not answered.
    backlog: Duration,
    /// Updates may wait that are older than that.
    catching_up: bool,
    /// What names the reading that goes on or comes next; None until the store was asked.
    reading: Option<i64>,
    backoff: Backoff,
}

impl TelegramSource {
    pub(super) fn new(account: AccountId, api: Arc<Api>, backlog: Duration) -> Self {
        Self { account, api, backlog }
    }

    /// Asks who the bot is until Telegram says it. None where the token is refused.
    async fn introduce(&self) -> Option<BotAccount> {
        let mut backoff = Backoff::new(PACE);
        loop {
            match self.api.me().await {
                Ok(me) => {
                    info!(account = %self.account, bot = %me.username, "connected to Telegram");
                    if !me.can_read_all_group_messages {
                        info!(
                            account = %self.account,
                            "privacy mode is on: in groups this bot receives only commands, \
                             mentions and replies; @BotFather, /setprivacy, turns it off"
                        );
                    }
                    return Some(me);
                }
                Err(error) => sleep(trouble(&self.account, &mut backoff, &error)?).await,
            }
        }
    }
}

#[async_trait]
impl Source for TelegramSource {
    async fn run(&self, intake: Arc<Intake>, mut stop: watch::Receiver<bool>) {
        let me = tokio::select! {
            biased;
            () = stopped(&mut stop) => return,
            me = self.introduce() => me,
        };
        let Some(me) = me else { return };
        let mut poller = Poller::new(&self.account, &self.api, me, self.backlog);
        loop {
            let step = tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                polled = poller.poll() => polled,
            };
            match step {
                Ok(batch) => poller.take_in(&intake, batch, &mut stop).await,
                Err(error) => {
                    let Some(wait) = trouble(&self.account, &mut poller.backoff, &error) else {
                        return;
                    };
                    tokio::select! {
                        biased;
                        () = stopped(&mut stop) => break,
                        () = sleep(wait) => {}
                    }
                }
            }
        }
        poller.farewell().await;
    }
}

/// Returns when the stop is asked for, or whoever could ask for it is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

impl<'a> Poller<'a> {
    fn new(account: &'a AccountId, api: &'a Api, me: BotAccount, backlog: Duration) -> Self {
        Self {
            account,
            api,
            me,
            offset: None,
            heard: Instant::now(),
            told_kinds: false,
            backlog,
            catching_up: true,
            reading: None,
            backoff: Backoff::new(PACE),
        }
    }

    async fn poll(&mut self) -> Result<Vec<Box<RawValue>>, CallError> {
        self.offset = still_good(self.offset, self.heard.elapsed());
        let poll = Poll {
            offset: self.offset,
            timeout: if self.catching_up { 0 } else { HOLD.as_secs() },
            allowed_updates: (!self.told_kinds).then_some(&decode::KINDS),
        };
        let polled = self.api.call("getUpdates", &poll, HOLD + GRACE).await;
        // After a break nobody knows how long it was (this machine may have slept for weeks): what
        // was not acknowledged comes again, and the inbox knows it.
        let batch = polled.inspect_err(|_| {
            self.offset = None;
            self.catching_up = true;
        })?;
        self.told_kinds = true;
        if self.backoff.recovered() {
            info!(account = %self.account, "Telegram answers again");
        }
        Ok(batch)
    }

    /// Stores the whole batch, however long that takes; only then does the offset move on.
    async fn take_in(
        &mut self,
        intake: &Intake,
        batch: Vec<Box<RawValue>>,
        stop: &mut watch::Receiver<bool>,
    ) {
        if batch.is_empty() && !self.catching_up {
            return;
        }
        let envelopes: Vec<_> =
            batch.iter().map(|raw| decode(self.account, &self.me, raw.get())).collect();
        let mut backoff = Backoff::new(PACE);
        while let Err(error) = self.store(intake, &envelopes).await {
            self.catching_up = true;
            if backoff.is_new(&error.to_string()) {
                error!(
                    account = %self.account, %error,
                    "messages from Telegram cannot be stored; they stay there and are tried again"
                );
            }
            tokio::select! {
                biased;
                // Not acknowledged: Telegram gives them again at the next start.
                () = stopped(stop) => return,
                () = sleep(backoff.next()) => {}
            }
        }
        if !batch.is_empty() {
            self.acknowledge_up_to(&batch).await;
        }
    }

    /// Stores these. What came while a poll was held is new, whatever the clocks say; of what waited, the
    /// first batch in which nothing is too old to be answered ends the reading.
    async fn store(&mut self, intake: &Intake, envelopes: &[Envelope]) -> Result<(), StoreError> {
        let reading = match self.reading {
            Some(reading) => reading,
            None => {
                let cursors = intake.cursors(self.account).await?;
                let last = cursors.into_iter().find(|cursor| cursor.chat.as_str() == UPDATES);
                *self.reading.insert(last.map_or(0, |last| last.read_up_to))
            }
        };
        if !self.catching_up {
            intake.accept(envelopes.to_vec()).await?;
            return Ok(());
        }
        if !envelopes.is_empty() {
            let name = reading.to_string();
            intake.accept_backlog(envelopes.to_vec(), self.backlog, &name).await?;
        }
        let now = intake.now();
        if !envelopes.iter().any(|envelope| is_older(envelope, now - self.backlog)) {
            // Each has a name of its own, also where the clock was set back.
            let read_up_to = now.timestamp_millis().max(reading.saturating_add(1));
            let (chat, kind) = (UPDATES.into(), ChatKind::Group);
            intake.read_up_to(self.account, &[Cursor { chat, kind, read_up_to }]).await?;
            self.reading = Some(read_up_to);
            self.catching_up = false;
        }
        Ok(())
    }

    async fn acknowledge_up_to(&mut self, batch: &[Box<RawValue>]) {
        self.heard = Instant::now();
        match batch.iter().filter_map(|raw| decode::update_id(raw.get())).max() {
            Some(last) => self.offset = Some(last.saturating_add(1)),
            None => {
                warn!(account = %self.account, "updates without numbers came; they are stored");
                sleep(self.backoff.next()).await;
            }
        }
        debug!(account = %self.account, updates = batch.len(), "updates stored");
    }

    /// Tells Telegram of the last batch, so that the next start is not given it again.
    async fn farewell(self) {
        if self.offset.is_none() {
            return;
        }
        let poll = Poll { offset: self.offset, timeout: 0, allowed_updates: None };
        let call = self.api.call::<Vec<Box<RawValue>>>("getUpdates", &poll, FAREWELL);
        if !matches!(timeout(FAREWELL, call).await, Ok(Ok(_))) {
            debug!(account = %self.account, "stopped without acknowledging the last updates");
        }
    }
}

fn is_older(envelope: &Envelope, oldest: DateTime<Utc>) -> bool {
    matches!(&envelope.event, Event::Message(inbound) if inbound.sent_at < oldest)
}

/// The offset after this long without updates: Telegram starts its numbers anew after a week.
fn still_good(offset: Option<i64>, quiet: Duration) -> Option<i64> {
    offset.filter(|_| quiet < QUIET)
}

/// Tells of a failed call, once for each kind, and how long to wait. None where the token is
/// refused: only a person can mend that.
fn trouble(account: &AccountId, backoff: &mut Backoff, error: &CallError) -> Option<Duration> {
    match error {
        CallError::Refused(refusal) if refusal.is_bad_token() => {
            error!(
                %account,
                "Telegram refuses the token: copy it again from @BotFather (/mybots, API Token) \
                 into the configuration and start again; until then this account is off"
            );
            return None;
        }
        CallError::Refused(refusal) if refusal.code == 409 => {
            if backoff.is_new("409") {
                warn!(
                    %account, answer = %refusal.description,
                    "another program polls with this bot's token (or a webhook is set): only one \
                     of them gets each message; stop the other one, or give it a token of its own"
                );
            }
        }
        CallError::Refused(refusal) if refusal.retry_after.is_some() => {
            let wait = refusal.retry_after.unwrap_or_default();
            warn!(%account, wait_s = wait.as_secs(), "Telegram asks to poll more slowly");
            return Some(wait);
        }
        other => {
            if backoff.is_new(&other.to_string()) {
                warn!(%account, error = %other, "Telegram cannot be polled; trying again");
            }
        }
    }
    Some(backoff.next())
}

#[cfg(test)]
mod tests;
