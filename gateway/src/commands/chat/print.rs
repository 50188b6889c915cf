//! Standard output for answers, standard error for everything else.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::PoisonError;

use atlas_adapters::terminal::Printer;
use atlas_core::ports::{DeliveryKind, Outgoing};
use tokio::sync::watch;

/// Prints to the process's streams, and remembers what its caller exits with.
pub(super) struct Streams {
    failures: Mutex<u32>,
    closed: watch::Sender<bool>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { failures: Mutex::new(0), closed: watch::Sender::new(false) }
    }
}

impl Streams {
    /// How many answers failed until now.
    pub(super) fn failures(&self) -> u32 {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Becomes true when nobody reads standard output any more.
    pub(super) fn closed(&self) -> watch::Receiver<bool> {
        self.closed.subscribe()
    }
}

impl Printer for Streams {
    fn print(&self, message: &Outgoing) -> io::Result<()> {
        if message.kind == DeliveryKind::Failure {
            *self.failures.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        let printed = print(message);
        if printed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.closed.send_replace(true);
        }
        printed
    }
}

/// Prints a message to the stream where its kind belongs.
pub(super) fn print(message: &Outgoing) -> io::Result<()> {
    match message.kind {
        DeliveryKind::Answer => line(&mut io::stdout().lock(), &plain(&message.text)),
        DeliveryKind::Failure | DeliveryKind::Notice => {
            line(&mut io::stderr().lock(), &plain(&message.text))
        }
    }
}

/// The text without what a terminal takes for an order: a model may repeat anything it has read.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Says something beside the conversation.
pub(super) fn note(text: &str) {
    // Where nobody listens, nobody misses it.
    let _ = line(&mut io::stderr().lock(), text);
}

fn line(stream: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(stream, "{text}")?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_terminal_is_given_no_orders() {
        assert_eq!(plain("a\tb\n**ü** 🐈"), "a\tb\n**ü** 🐈");
        assert_eq!(plain("\u{1b}]0;title\u{7}x\u{9b}31my\r"), "]0;titlex31my");
    }
}
