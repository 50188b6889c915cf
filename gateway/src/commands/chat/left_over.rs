//! What terminals that are gone never printed: shown at the next start, closed after a day.

use atlas_core::engine::Engine;
use atlas_core::ids::{HolderId, PlatformChat};
use atlas_core::ports::{Delivery, Outgoing, Settlement};
use chrono::TimeDelta;

use super::{Failure, Talk, print};

/// Hours after which nobody wants to read it any more.
const HOURS: i64 = 24;

/// Prints what is left over; `aside`: to standard error, whatever it is.
pub(super) async fn print(talk: &Talk, aside: bool) -> Result<(), Failure> {
    let engine = &*talk.app().engine;
    let account = &talk.terminal.place().account;
    let mut chats = engine.store.chats_with_deliveries(account).await?;
    // A terminal's chat is named by its process.
    chats.retain(|chat: &PlatformChat| !engine.presence.alive(&HolderId::from(chat.as_str())));
    if chats.is_empty() {
        return Ok(());
    }
    // What they were printing when they died is theirs until it is freed.
    for chat in &chats {
        engine.store.free(&HolderId::from(chat.as_str())).await?;
    }
    let (me, now) = (engine.presence.me(), engine.clock.now());
    loop {
        let left = engine.store.claim_left_over(me, &chats, account, now).await?;
        if left.is_empty() {
            return Ok(());
        }
        for delivery in &left {
            settle(engine, delivery, aside).await?;
        }
    }
}

async fn settle(engine: &Engine, delivery: &Delivery, aside: bool) -> Result<(), Failure> {
    let now = engine.clock.now();
    let old = now - delivery.created_at > TimeDelta::hours(HOURS);
    // A terminal prints a message in one part: its receipt is there, only the end was not stored.
    let printed = !delivery.sent.is_empty();
    let settlement = if printed {
        Settlement::Sent
    } else if old {
        let reason = format!("no terminal was opened for {HOURS} hours");
        Settlement::Closed { reason, note: None, notice: None }
    } else {
        show(delivery, aside);
        Settlement::Sent
    };
    engine.store.settle(delivery.new.id, delivery.fence, &settlement, now).await?;
    Ok(())
}

/// Prints it, marked where it may have been printed before.
fn show(delivery: &Delivery, aside: bool) {
    let mark = if delivery.unsettled_since.is_some() { "♻︎ " } else { "" };
    let text = format!("{mark}{}", delivery.new.text);
    if aside {
        return print::note(&print::plain(&text));
    }
    let new = &delivery.new;
    let (id, to) = (new.id, new.to.clone());
    let reply_to = new.reply_to.clone();
    let message = Outgoing { id, to, text, silent: new.silent, kind: new.kind, reply_to };
    // Standard output of a terminal; where it fails, the person sees as much.
    let _ = print::print(&message);
}
