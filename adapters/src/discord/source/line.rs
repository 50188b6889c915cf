//! One connection to the gateway, from HELLO to its end: the heart that beats in it, and what is done
//! with each frame.
//!
//! A connection that has gone silent is noticed here: HELLO, the first event and the acknowledgement
//! of each heartbeat must come in time.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use uuid::Uuid;

use super::events::Told;
use super::frame::Frame;
use super::socket::{Heard, Socket};
use super::stopped;
use super::work::Work;

/// How long HELLO may take, and then, without a frame, READY or RESUMED.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long what was heard may take to be stored when the account is stopped.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The account is stopped.
    Stopped,
    /// It broke; its session may go on.
    Lost {
        /// How.
        why: String,
        /// How far it had come.
        stage: Stage,
    },
    /// Its session is over.
    Invalid {
        /// How.
        why: String,
        /// How far it had come.
        stage: Stage,
    },
    /// Only a person can mend it.
    Fatal(&'static str),
    /// The bot may not read messages' content.
    NoContentIntent,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// No session yet.
    Handshake,
    /// READY or RESUMED came.
    Ready,
    /// And a heartbeat was heard after it.
    Proven,
}

/// A connection.
pub(super) struct Line<'l, 'a> {
    socket: Socket,
    work: &'l mut Work<'a>,
    /// What identifies or resumes, until it is sent.
    begin: Option<Value>,
    heart: Heart,
    stage: Stage,
}

/// The heart.
struct Heart {
    every: Option<Duration>,
    /// When it beats next, or when the handshake has taken too long.
    due: Instant,
    /// The last beat was heard.
    heard: bool,
    /// When the handshake has taken too long.
    handshake: Option<Instant>,
}

impl<'l, 'a> Line<'l, 'a> {
    pub(super) fn new(socket: Socket, work: &'l mut Work<'a>, begin: Value) -> Self {
        let due = Instant::now() + HANDSHAKE;
        let heart = Heart { every: None, due, heard: true, handshake: Some(due) };
        Self { socket, work, begin: Some(begin), heart, stage: Stage::Handshake }
    }

    /// Serves it to its end.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) -> End {
        loop {
            let due = self.heart.handshake.map_or(self.heart.due, |late| late.min(self.heart.due));
            let end = tokio::select! {
                () = stopped(&mut stop) => return self.farewell().await,
                () = sleep_until(due) => self.late_or_beat().await,
                heard = self.socket.next() => self.heard(heard).await,
                () = self.work.step() => None,
            };
            if let Some(end) = end {
                return end;
            }
            if self.work.got_stuck() {
                return self.lost("events cannot be stored");
            }
        }
    }

    /// What was heard is stored, if that does not take long: it would come again.
    async fn farewell(self) -> End {
        let Self { socket, work, .. } = self;
        let store = async {
            while work.is_storing() {
                work.step().await;
            }
        };
        let _ = timeout(FAREWELL, store).await;
        socket.close().await;
        End::Stopped
    }

    fn lost(&self, why: impl Into<String>) -> End {
        End::Lost { why: why.into(), stage: self.stage }
    }

    async fn late_or_beat(&mut self) -> Option<End> {
        let now = Instant::now();
        if self.heart.handshake.is_some_and(|late| late <= now) {
            return Some(self.lost("Discord says nothing"));
        }
        if self.heart.due > now {
            return None;
        }
        if !self.heart.heard {
            return Some(self.lost("a heartbeat was not heard"));
        }
        self.heart.heard = false;
        self.beat().await
    }

    async fn beat(&mut self) -> Option<End> {
        let every = self.heart.every.unwrap_or(HANDSHAKE);
        self.heart.due = Instant::now() + every;
        let beat = self.work.session.beat();
        self.send(&beat).await
    }

    async fn send(&mut self, frame: &Value) -> Option<End> {
        self.socket.send(frame).await.err().map(|why| self.lost(why))
    }

    async fn heard(&mut self, heard: Heard) -> Option<End> {
        match heard {
            Heard::Text(text) => self.frame(&text).await,
            Heard::Bytes(length) => {
                self.work.unknown("", format!("a frame of {length} bytes that are no text"));
                None
            }
            Heard::Closed(code) => Some(self.closed(code)),
            Heard::Broken(why) => Some(self.lost(why)),
        }
    }

    async fn frame(&mut self, text: &str) -> Option<End> {
        match Frame::read(text) {
            Frame::Dispatch { seq, name, data } => self.told(seq, &name, &data),
            Frame::Beat => self.beat().await,
            Frame::Reconnect => Some(self.lost("Discord asks to connect again")),
            Frame::Invalid(true) => Some(self.lost("the session is interrupted")),
            Frame::Invalid(false) => {
                let why = "the session is over".to_owned();
                Some(End::Invalid { why, stage: self.stage })
            }
            Frame::Hello(interval) => self.hello(Duration::from_millis(interval)).await,
            Frame::Acknowledged => {
                self.acknowledged();
                None
            }
            Frame::Unknown(why) => {
                self.work.unknown(text, why);
                None
            }
        }
    }

    async fn hello(&mut self, every: Duration) -> Option<End> {
        // The first beat at random, so that many clients do not beat in step.
        let part = f64::from(Uuid::new_v4().as_bytes()[0]) / 256.0;
        let now = Instant::now();
        self.heart.every = Some(every);
        self.heart.due = now + every.mul_f64(part);
        self.heart.handshake = Some(now + HANDSHAKE);
        let begin = self.begin.take()?;
        self.send(&begin).await
    }

    fn told(&mut self, seq: u64, name: &str, data: &str) -> Option<End> {
        match self.work.told(seq, name, data) {
            Ok(Told::Ready | Told::Resumed) => {
                self.stage = self.stage.max(Stage::Ready);
                self.heart.handshake = None;
            }
            // Before RESUMED comes what was missed, however much that is.
            Ok(Told::Other) if self.stage == Stage::Handshake => {
                self.heart.handshake = Some(Instant::now() + HANDSHAKE);
            }
            Ok(Told::Other) => {}
            Err(why) => return Some(End::Invalid { why, stage: Stage::Handshake }),
        }
        None
    }

    fn acknowledged(&mut self) {
        self.heart.heard = true;
        if self.stage == Stage::Handshake {
            return;
        }
        self.stage = Stage::Proven;
        if self.work.session.is_continuous() {
            self.work.chats.checkpoint();
        }
    }

    fn closed(&self, code: u16) -> End {
        match code {
            4004 => End::Fatal(super::TOKEN_REFUSED),
            4010..=4012 => End::Fatal(
                "Discord refuses this version of Atlas (it closes with 4010, 4011 or 4012: shards or \
                 interface); look for a newer one and start again",
            ),
            4013 => End::Fatal(super::INTENTS_REFUSED),
            4014 => End::NoContentIntent,
            4003 | 4007 | 4009 => {
                let why = format!("Discord ended the session ({code})");
                End::Invalid { why, stage: self.stage }
            }
            code => self.lost(format!("Discord closed the connection ({code})")),
        }
    }
}
