use std::io;
use std::sync::{Arc, Mutex};

use atlas_core::event::{Addressed, Event, Inbound};
use atlas_core::ids::{DeliveryId, HolderId};
use atlas_core::ports::{DeliveryKind, Outgoing, Platform, Repeat, SendError};
use chrono::DateTime;

use super::{Printer, Terminal, command};

#[derive(Default)]
struct Paper(Mutex<Vec<String>>);

impl Printer for Paper {
    fn print(&self, message: &Outgoing) -> io::Result<()> {
        self.0.lock().unwrap().push(message.text.clone());
        Ok(())
    }
}

struct Closed;

impl Printer for Closed {
    fn print(&self, _message: &Outgoing) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

fn terminal(printer: Arc<dyn Printer>) -> Terminal {
    Terminal::new(&HolderId::from("terminal-1"), printer)
}

fn outgoing(terminal: &Terminal, text: &str) -> Outgoing {
    Outgoing {
        id: DeliveryId::new(),
        to: terminal.place().clone(),
        text: text.to_owned(),
        silent: false,
        kind: DeliveryKind::Answer,
        reply_to: None,
    }
}

fn inbound(terminal: &Terminal, text: &str) -> (String, Inbound) {
    let envelope = terminal.typed(text, DateTime::UNIX_EPOCH);
    match envelope.event {
        Event::Message(inbound) => (envelope.key, inbound),
        other => panic!("not a message: {other:?}"),
    }
}

#[test]
fn the_same_line_typed_twice_is_two_events_in_order() {
    let terminal = terminal(Arc::new(Paper::default()));
    let (first, one) = inbound(&terminal, "yes");
    let (second, two) = inbound(&terminal, "yes");
    assert_ne!(first, second);
    assert!(one.order < two.order);
    assert_ne!(one.message, two.message);
}

#[test]
fn a_line_is_written_in_the_place_of_its_process() {
    let terminal = terminal(Arc::new(Paper::default()));
    let (_, line) = inbound(&terminal, "hello");
    assert_eq!(&line.place(terminal.account()), terminal.place());
    assert_eq!(line.sender.person, Some(super::owner()));
    assert_eq!(line.addressed, Addressed::Directly);
}

#[test]
fn a_command_is_a_word_after_a_slash() {
    let parsed = |text: &str| command(text).map(|command| (command.name, command.rest));
    let said = |name: &str, rest: &str| Some((name.to_owned(), rest.to_owned()));
    assert_eq!(parsed("/status"), said("status", ""));
    assert_eq!(parsed("  /Stop  now please "), said("stop", "now please"));
    assert_eq!(parsed("/etc/hosts is odd"), None);
    assert_eq!(parsed("/"), None);
    assert_eq!(parsed("/ status"), None);
    assert_eq!(parsed("1/2"), None);
}

#[tokio::test]
async fn a_message_is_delivered_whole_when_it_is_printed() {
    let paper = Arc::new(Paper::default());
    let terminal = terminal(paper.clone());
    let message = outgoing(&terminal, &"long **text**\n".repeat(1000));
    let parts = terminal.encode(&message);
    assert_eq!(parts.len(), 1);
    terminal.send(&message, &parts[0], 0, None).await.unwrap();
    assert_eq!(*paper.0.lock().unwrap(), vec![message.text]);
}

#[tokio::test]
async fn a_repeat_says_that_it_is_one() {
    let paper = Arc::new(Paper::default());
    let terminal = terminal(paper.clone());
    let message = outgoing(&terminal, "hello");
    let since = DateTime::UNIX_EPOCH;
    let repeat = Repeat { since, age: std::time::Duration::from_secs(1) };
    terminal.send(&message, &terminal.encode(&message)[0], 0, Some(repeat)).await.unwrap();
    assert_eq!(*paper.0.lock().unwrap(), vec!["♻︎ hello"]);
}

#[tokio::test]
async fn what_a_closed_stream_refuses_stays_undelivered() {
    let terminal = terminal(Arc::new(Closed));
    let message = outgoing(&terminal, "hello");
    let sent = terminal.send(&message, &terminal.encode(&message)[0], 0, None).await;
    assert!(matches!(sent, Err(SendError::Transient(_))), "{sent:?}");
}
