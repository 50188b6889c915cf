//! Talking at a prompt, with history. One can write while an answer is on its way; it then joins.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use atlas_adapters::terminal::Printer;
use atlas_core::ports::Outgoing;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor, ExternalPrinter};
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc;

use super::{Failure, Talk, print};
use crate::commands::run::hear;

/// Lines that the history keeps.
const HISTORY: usize = 1000;

/// A prompt that has not begun to ask.
pub(super) struct Prompt {
    editor: DefaultEditor,
    history: PathBuf,
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
    /// A prompt on this terminal, and what prints above it.
    pub(super) fn new(history: PathBuf) -> Result<(Self, Arc<dyn Printer>), Failure> {
        let broken = |error: ReadlineError| {
            Failure::new(
                format!("This terminal cannot show a prompt: {error}."),
                "Pipe lines into `atlas chat`, or send a text with -m.",
            )
        };
        let config = Config::builder()
            .max_history_size(HISTORY)
            .map_err(broken)?
            .auto_add_history(true)
            .build();
        let mut editor = DefaultEditor::with_config(config).map_err(broken)?;
        let above = editor.create_external_printer().map_err(broken)?;
        // The first time there is none.
        let _ = editor.load_history(&history);
        Ok((Self { editor, history }, Arc::new(Above(Mutex::new(above)))))
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
            let read = match self.editor.readline("> ") {
                Ok(line) => Typed::Line(line),
                Err(ReadlineError::Interrupted) => Typed::Interrupt,
                Err(_) => Typed::End,
            };
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
    let mut terminated = hear(SignalKind::terminate())?;
    let mut interrupted = false;
    while ask.send(()).await.is_ok() {
        let typed = tokio::select! {
            typed = lines.recv() => typed.unwrap_or(Typed::End),
            _ = terminated.recv() => return Ok(()),
        };
        let twice = interrupted && matches!(typed, Typed::Interrupt);
        interrupted = matches!(typed, Typed::Interrupt);
        match typed {
            Typed::End => return Ok(()),
            Typed::Interrupt if twice => return Ok(()),
            Typed::Interrupt => interrupt(talk).await?,
            Typed::Line(line) => match line.trim() {
                "" => {}
                "/quit" => return Ok(()),
                _ => talk.say(&line).await?,
            },
        }
    }
    Ok(())
}

/// The first Ctrl-C: stops what is under way, or says how to leave.
async fn interrupt(talk: &Talk) -> Result<(), Failure> {
    if talk.is_quiet().await? {
        print::note("Ctrl-C once more, Ctrl-D or /quit leaves.");
        return Ok(());
    }
    print::note("Stopping. Ctrl-C once more leaves.");
    talk.say("/stop").await
}

/// Prints above the line that is being typed.
struct Above<P>(Mutex<P>);

impl<P: ExternalPrinter + Send + 'static> Printer for Above<P> {
    fn print(&self, message: &Outgoing) -> io::Result<()> {
        let mut printer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        printer.print(format!("{}\n", message.text)).map_err(io::Error::other)
    }
}
