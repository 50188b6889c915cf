//! Logs, to standard error: for people on a terminal, JSON elsewhere.
//!
//! A log line is a sentence readable alone, plus fields. Message text appears above TRACE never,
//! and so a panic is logged by its place; what it said is at TRACE.

use std::io::{self, IsTerminal};
use std::panic::{self, PanicHookInfo};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::Directive;

/// What libraries may say at most, whatever `RUST_LOG` asks for: beyond it they write frames and calls
/// with the tokens in them.
const MOST: [&str; 3] = ["serenity=warn", "tungstenite=debug", "tokio_tungstenite=debug"];

/// Starts logging for this process. `quiet` leaves only warnings where `RUST_LOG` says nothing;
/// a second call changes nothing.
pub fn start(quiet: bool, color: bool) {
    let default = if quiet { "warn" } else { "info" };
    // A library's own doings are of interest only to who asks for them.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let most = MOST.iter().filter_map(|most| most.parse::<Directive>().ok());
    let filter = most.fold(filter, EnvFilter::add_directive);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = if io::stderr().is_terminal() {
        builder.with_ansi(color).with_target(false).try_init()
    } else {
        builder.json().flatten_event(true).with_ansi(false).try_init()
    };
    if started.is_ok() {
        panic::set_hook(Box::new(log_panic));
    }
}

fn log_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(panic.place = place, "A task of Atlas broke off; this is a bug");
    let said = info.payload_as_str().unwrap_or("nothing");
    tracing::trace!(panic.said = said, "What the broken task said");
}
