//! Talking by a list of texts, or by lines from a pipe: each is sent when the one before it has
//! been answered.

use std::io::{self, BufRead};
use std::process::ExitCode;
use std::thread;

use tokio::sync::mpsc;

use super::print::Streams;
use super::{Failure, Signals, Talk, Waited};

/// What is to be said.
pub(super) enum Lines {
    /// The texts of `-m`. A failed answer ends it: what follows may build on it.
    Given(std::vec::IntoIter<String>),
    /// Standard input, to its end.
    Typed(mpsc::Receiver<String>),
}

impl Lines {
    /// These texts; where there are none, the lines of standard input.
    pub(super) fn of(messages: Vec<String>) -> Self {
        if messages.is_empty() {
            Self::Typed(read_input())
        } else {
            Self::Given(messages.into_iter())
        }
    }

    async fn next(&mut self) -> Option<String> {
        match self {
            Self::Given(texts) => texts.next(),
            Self::Typed(lines) => lines.recv().await,
        }
    }

    fn end_on_failure(&self) -> bool {
        matches!(self, Self::Given(_))
    }
}

/// A thread of its own, since a read of standard input cannot be broken off.
fn read_input() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        while matches!(input.read_until(b'\n', &mut line), Ok(read) if read > 0) {
            // Not every line is UTF-8; what is readable of it is still a message.
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
            if sender.blocking_send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}

/// What made the talk end.
enum End {
    /// Everything was said, or `/quit`.
    Said,
    /// Nobody reads the answers any more.
    Unread,
    /// Somebody interrupted it.
    Interrupted,
}

/// Says everything, and exits with 1 if an answer failed.
pub(super) async fn run(talk: Talk, lines: Lines, streams: &Streams) -> Result<ExitCode, Failure> {
    let ended = say_all(&talk, lines, streams).await;
    talk.end().await;
    Ok(match ended? {
        End::Said if streams.failures() == 0 => ExitCode::SUCCESS,
        // Quiet: whoever reads only the beginning of it (`| head`) has what they want.
        End::Unread => ExitCode::SUCCESS,
        End::Said | End::Interrupted => ExitCode::FAILURE,
    })
}

async fn say_all(talk: &Talk, mut lines: Lines, streams: &Streams) -> Result<End, Failure> {
    let mut signals = Signals::hear()?;
    let mut closed = streams.closed();
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            _ = signals.next() => return Ok(End::Interrupted),
        };
        let Some(line) = line else { return Ok(End::Said) };
        match line.trim() {
            "" => continue,
            "/quit" => return Ok(End::Said),
            _ => talk.say(&line).await?,
        }
        let waited = tokio::select! {
            waited = talk.answered(&mut signals) => waited?,
            _ = closed.wait_for(|closed| *closed) => return Ok(End::Unread),
        };
        if waited != Waited::Answered {
            return Ok(End::Interrupted);
        }
        if streams.failures() > 0 && lines.end_on_failure() {
            return Ok(End::Said);
        }
    }
}
