//! Reads the history of one chat from its cursor to its end, and hands it to the intake page by page.

use std::sync::Arc;
use std::time::Duration;

use atlas_core::event::Envelope;
use atlas_core::intake::Intake;
use serde_json::value::RawValue;
use serenity::model::id::ChannelId;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::super::decode::{self, Head, Me, Where};
use super::super::place;
use super::super::rest::{CallError, PAGE, messages_after};
use super::DiscordSource;
use super::chats::cursor_of;
use super::work::Done;

/// Tries of one step before the rest is left to the next session; 1, 2, 4, … seconds lie between.
const TRIES: u32 = 8;
/// Pages that are read of what is too old to be answered, before the rest of that is passed over.
const OLD_PAGES: u32 = 10;

/// One reading.
pub(super) struct CatchUp<'a> {
    pub(super) source: &'a DiscordSource,
    pub(super) intake: &'a Intake,
    pub(super) me: Me,
    pub(super) place: Where,
    pub(super) chat: u64,
    /// The cursor.
    pub(super) after: u64,
    pub(super) readers: Arc<Semaphore>,
}

/// Why a reading breaks off.
enum Broken {
    Call(CallError),
    Store(String),
}

impl CatchUp<'_> {
    /// Reads to the end, or as far as it can be read.
    pub(super) async fn run(mut self) -> Done {
        let permit = self.readers.clone().acquire_owned().await;
        let name = self.after.to_string();
        let ended = self.pages(&name).await;
        drop(permit);
        let (account, chat, up_to) = (&self.source.account, self.chat, self.after);
        match &ended {
            Ok(0) => {}
            Ok(messages) => {
                info!(%account, chat, messages, "read what was written meanwhile");
            }
            Err(Broken::Call(CallError::Refused { code, words })) => {
                debug!(%account, chat, code, words, "the bot may not read a channel's history");
            }
            Err(Broken::Call(error)) => {
                warn!(%account, chat, %error, "what was written meanwhile cannot be read; tried again with the next session");
            }
            Err(Broken::Store(error)) => {
                warn!(%account, chat, error, "what was written meanwhile cannot be stored; tried again with the next session");
            }
        }
        Done::CaughtUp { chat, up_to, whole: ended.is_ok() }
    }

    /// How many messages there were.
    async fn pages(&mut self, reading: &str) -> Result<usize, Broken> {
        let (mut all, mut old) = (0, 0);
        loop {
            let mut page = self.page().await?;
            page.sort_by_key(|(message, _)| *message);
            let full = page.len() >= PAGE;
            all += page.len();
            let Some((last, _)) = page.last() else { return Ok(all) };
            self.after = self.after.max(*last);
            self.store(page, reading).await?;
            if !full {
                return Ok(all);
            }
            let answered = place::first_at(self.intake.now() - self.source.backlog);
            if self.after < answered {
                old += 1;
            }
            if old >= OLD_PAGES {
                self.after = self.after.max(answered);
                old = 0;
            }
        }
    }

    async fn page(&self) -> Result<Vec<(u64, Box<RawValue>)>, Broken> {
        let mut tries = 0;
        loop {
            let asked =
                messages_after(self.source.api.http(), ChannelId::new(self.chat), self.after).await;
            match asked {
                Ok(page) => {
                    let number = |raw: &RawValue| Head::read(raw.get()).map(|head| head.message());
                    // One without a number is kept with the page, and moves no cursor.
                    return Ok(page
                        .into_iter()
                        .map(|raw| (number(&raw).unwrap_or(0), raw))
                        .collect());
                }
                Err(error @ CallError::Passing(_)) if tries + 1 < TRIES => {
                    debug!(account = %self.source.account, %error, "a page of history cannot be read now");
                    sleep(Duration::from_secs(1 << tries)).await;
                    tries += 1;
                }
                Err(error) => return Err(Broken::Call(error)),
            }
        }
    }

    async fn store(&self, page: Vec<(u64, Box<RawValue>)>, reading: &str) -> Result<(), Broken> {
        let by_others = page
            .iter()
            .filter(|(_, raw)| !Head::read(raw.get()).is_some_and(|head| head.is_by(&self.me)));
        let account = &self.source.account;
        let events: Vec<Envelope> = by_others
            .map(|(_, raw)| decode::written(account, &self.me, &self.place, raw.get()))
            .collect();
        let cursor = [cursor_of(self.chat, self.place.direct, self.after)];
        let mut tries = 0;
        loop {
            let stored = async {
                self.intake.accept_backlog(events.clone(), self.source.backlog, reading).await?;
                self.intake.read_up_to(account, &cursor).await
            };
            match stored.await {
                Ok(()) => return Ok(()),
                Err(_) if tries + 1 < TRIES => {
                    sleep(Duration::from_secs(1 << tries)).await;
                    tries += 1;
                }
                Err(error) => return Err(Broken::Store(error.to_string())),
            }
        }
    }
}
