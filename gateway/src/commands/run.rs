//! `atlas run`: the gateway, until somebody ends it.

use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::{Context, Failure};
use crate::app::{App, Options};
use crate::workers::spawn;

pub(super) async fn run(context: Context) -> Result<ExitCode, Failure> {
    let watched = context.watched()?;
    let config = watched.config.clone();
    if config.accounts.is_empty() {
        tracing::warn!("No account is set up, so nobody can write: add [accounts.<name>]");
    }
    let stop = stop_on_signals()?;
    let options = Options { seat: None, clock: context.seams.clock, wrap: context.seams.wrap };
    let app = App::build(config, options).await?.watching(watched);
    app.run(stop, context.started).await?;
    Ok(ExitCode::SUCCESS)
}

/// A switch that SIGTERM and SIGINT turn. Whoever sends a second one does not want to wait.
fn stop_on_signals() -> Result<watch::Receiver<bool>, Failure> {
    let (mut term, mut int) = (hear(SignalKind::terminate())?, hear(SignalKind::interrupt())?);
    let (stop, stopped) = watch::channel(false);
    spawn(async move {
        either(&mut term, &mut int).await;
        stop.send_replace(true);
        either(&mut term, &mut int).await;
        tracing::warn!("Ended at once; what was under way goes on at the next start");
        std::process::exit(1);
    });
    Ok(stopped)
}

pub(super) fn hear(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| {
        Failure::new(format!("Signals cannot be heard: {error}"), "Start Atlas in another way.")
    })
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}
