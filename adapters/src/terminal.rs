//! The terminal as a platform: typed lines come in as events, deliveries go out to a printer.
//!
//! Each process is a chat of its own, named by its holder id, so that an answer finds the terminal
//! that asked. Reading lines, prompts and streams are the executable's; this only knows words.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use atlas_core::event::files::Attached;
use atlas_core::event::{Addressed, ChatKind, CommandLine, Envelope, Event, Inbound, Sender};
use atlas_core::ids::{AccountId, ChatKey, HolderId, Person, PlatformMessage, PlatformName};
use atlas_core::ports::{
    Capabilities, Encoded, FetchError, Fetched, Outgoing, Platform, Receipt, Repeat, SendError,
};
use chrono::{DateTime, Utc};

/// The account of every terminal, and the name of the platform.
pub const TERMINAL: &str = "terminal";

/// The person at a terminal: whoever can read the home's files owns it.
#[must_use]
pub fn owner() -> Person {
    Person { platform: TERMINAL.into(), id: "owner".into() }
}

/// Puts a message in front of the person. The message counts as delivered when this returns.
pub trait Printer: Send + Sync + 'static {
    /// Prints and flushes. May block for as long as the reader of a pipe does.
    ///
    /// # Errors
    ///
    /// The stream is closed or full: the message stays undelivered, for the next terminal.
    fn print(&self, message: &Outgoing) -> io::Result<()>;
}

/// One terminal.
pub struct Terminal {
    account: AccountId,
    place: ChatKey,
    printer: Arc<dyn Printer>,
    typed: AtomicI64,
    printed: AtomicI64,
}

impl Terminal {
    /// The terminal of this process.
    #[must_use]
    pub fn new(process: &HolderId, printer: Arc<dyn Printer>) -> Self {
        let account = AccountId::from(TERMINAL);
        let place = ChatKey { account: account.clone(), chat: process.as_str().into() };
        Self { account, place, printer, typed: AtomicI64::new(0), printed: AtomicI64::new(0) }
    }

    /// Where this terminal's lines are written and answered.
    #[must_use]
    pub fn place(&self) -> &ChatKey {
        &self.place
    }

    /// A typed line as the event that it is. Each call is another event, also for the same words.
    #[must_use]
    pub fn typed(&self, text: &str, at: DateTime<Utc>) -> Envelope {
        let order = self.typed.fetch_add(1, Ordering::Relaxed) + 1;
        let command = command(text);
        let inbound = Inbound {
            lineage: vec![self.place.chat.clone()],
            kind: ChatKind::Direct,
            chat_name: None,
            message: PlatformMessage(format!("in-{order}")),
            order,
            sender: Sender { person: Some(owner()), name: "owner".to_owned(), is_bot: false },
            text: text.to_owned(),
            outside: false,
            files: Vec::new(),
            addressed: if command.is_some() { Addressed::Commanded } else { Addressed::Directly },
            command,
            sent_at: at,
        };
        Envelope {
            account: self.account.clone(),
            platform: PlatformName::from(TERMINAL),
            key: format!("{}:{order}", self.place.chat),
            raw: text.to_owned(),
            event: Event::Message(inbound),
        }
    }
}

/// The command at the start of a line: `/name`, then nothing or white space. A path
/// (`/etc/hosts is odd`) is none.
fn command(text: &str) -> Option<CommandLine> {
    let line = text.trim_start().strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| CommandLine { name: name.to_ascii_lowercase(), rest: rest.trim().to_owned() })
}

#[async_trait]
impl Platform for Terminal {
    fn account(&self) -> &AccountId {
        &self.account
    }

    fn platform(&self) -> PlatformName {
        PlatformName::from(TERMINAL)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { chats_pass: true, ..Capabilities::default() }
    }

    /// The whole text, as it is: a terminal has no limit and shows Markdown plainly.
    fn encode(&self, message: &Outgoing) -> Vec<Encoded> {
        vec![Encoded(message.text.clone())]
    }

    async fn send(
        &self,
        message: &Outgoing,
        part: &Encoded,
        _index: usize,
        repeat: Option<Repeat>,
    ) -> Result<Receipt, SendError> {
        let mark = if repeat.is_some() { "♻︎ " } else { "" };
        let shown = Outgoing { text: format!("{mark}{}", part.0), ..message.clone() };
        let printer = self.printer.clone();
        // A pipe whose reader is slow must not hold up a thread that others work on.
        match tokio::task::spawn_blocking(move || printer.print(&shown)).await {
            Ok(Ok(())) => {
                let number = self.printed.fetch_add(1, Ordering::Relaxed) + 1;
                Ok(Receipt { message: PlatformMessage(format!("out-{number}")) })
            }
            Ok(Err(error)) => Err(SendError::Transient(error.to_string())),
            Err(error) => Err(SendError::Unknown(error.to_string())),
        }
    }

    /// Nothing that is typed comes with a file.
    async fn fetch(&self, _file: &Attached, _most: usize) -> Result<Fetched, FetchError> {
        Err(FetchError::Gone)
    }

    async fn typing(&self, _chat: &ChatKey) {}
}

#[cfg(test)]
mod tests;
