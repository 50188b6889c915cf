//! Talking at a prompt, with history. It asks for the next line when the last one is answered; what
//! is typed meanwhile waits in the terminal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use atlas_adapters::terminal::Printer;
use atlas_core::ports::Outgoing;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use tokio::sync::mpsc;

use super::{Failure, Signals, Talk, Waited, print};

/// Lines that the history keeps.
const HISTORY: usize = 1000;

const PROMPT: &str = "> ";

/// A prompt that has not begun to ask.
pub(super) struct Prompt {
    editor: DefaultEditor,
    history: PathBuf,
    asking: Arc<AtomicBool>,
}

/// What somebody did at the prompt.
enum Typed {
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

impl Prompt {
    /// A prompt on this terminal.
    pub(super) fn new(history: PathBuf) -> Result<Self, Failure> {
        let broken = |error: ReadlineError| {
            Failure::new(
                format!("This terminal cannot show a prompt: {error}."),
                "Pipe lines into `atlas chat`, or send a text with -m.",
            )
        };
        let config = Config::builder().max_history_size(HISTORY).map_err(broken)?;
        let config = config.auto_add_history(true).build();
        let mut editor = DefaultEditor::with_config(config).map_err(broken)?;
        // The first time there is none.
        let _ = editor.load_history(&history);
        Ok(Self { editor, history, asking: Arc::default() })
    }

    /// What prints beside this prompt.
    pub(super) fn printer(&self) -> Arc<dyn Printer> {
        Arc::new(Beside { asking: self.asking.clone() })
    }

    /// Talks until somebody leaves.
    pub(super) async fn run(self, talk: Talk) -> Result<ExitCode, Failure> {
        let (typed, mut lines) = mpsc::channel(1);
        let (ask, asked) = mpsc::channel(1);
        thread::spawn(move || self.read(&typed, asked));
        let ended = converse(&talk, &mut lines, &ask).await;
        talk.end().await;
        ended.map(|()| ExitCode::SUCCESS)
    }

    /// Reads a line each time it is asked to. Not before: a prompt left waiting at the end would
    /// leave the terminal as line editing needs it and nobody else.
    fn read(mut self, typed: &mpsc::Sender<Typed>, mut asked: mpsc::Receiver<()>) {
        while asked.blocking_recv().is_some() {
            self.asking.store(true, Ordering::SeqCst);
            let read = match self.editor.readline(PROMPT) {
                Ok(line) => Typed::Line(line),
                Err(ReadlineError::Interrupted) => Typed::Interrupt,
                Err(_) => Typed::End,
            };
            self.asking.store(false, Ordering::SeqCst);
            save(&mut self.editor, &self.history);
            if typed.blocking_send(read).is_err() {
                return;
            }
        }
    }
}

fn save(editor: &mut DefaultEditor, history: &Path) {
    if let Err(error) = editor.save_history(history) {
        tracing::debug!(%error, "The history was not saved");
    }
}

async fn converse(
    talk: &Talk,
    lines: &mut mpsc::Receiver<Typed>,
    ask: &mpsc::Sender<()>,
) -> Result<(), Failure> {
    let mut signals = Signals::hear()?;
    let mut interrupted = false;
    while ask.send(()).await.is_ok() {
        let typed = tokio::select! {
            typed = lines.recv() => typed.unwrap_or(Typed::End),
            _ = signals.next() => return Ok(()),
        };
        let before = std::mem::replace(&mut interrupted, matches!(typed, Typed::Interrupt));
        let line = match typed {
            Typed::End => return Ok(()),
            Typed::Interrupt if before => return Ok(()),
            Typed::Interrupt => {
                print::note("Ctrl-C once more, Ctrl-D or /quit leaves.");
                continue;
            }
            Typed::Line(line) => line,
        };
        match line.trim() {
            "" => continue,
            "/quit" => return Ok(()),
            _ => talk.say(&line).await?,
        }
        if talk.answered(&mut signals).await? == Waited::Left {
            return Ok(());
        }
    }
    Ok(())
}

/// Prints where the terminal is, at a prompt or not.
struct Beside {
    asking: Arc<AtomicBool>,
}

impl Printer for Beside {
    fn print(&self, message: &Outgoing) -> io::Result<()> {
        if !self.asking.load(Ordering::SeqCst) {
            return print::print(message);
        }
        // Over the prompt, which is shown again below. A line's end needs its own return there.
        let text = print::plain(&message.text).replace('\n', "\r\n");
        let mut out = io::stdout().lock();
        write!(out, "\r\x1b[K{text}\r\n{PROMPT}")?;
        out.flush()
    }
}
