//! The suite: everything that needs the outside, as one binary.
#![expect(clippy::expect_used, reason = "a test says what is wrong by failing")]

use atlas_tests::harness::Harness;

mod access;
mod again;
mod anthropic;
mod architecture;
mod audience;
mod bad_input;
mod cache;
mod cases;
mod commands;
mod crowd;
mod discord;
mod discord_backlog;
mod discord_check;
mod discord_commands;
mod discord_out;
mod discord_socket;
mod discord_tls;
mod fallback;
mod files;
mod gone;
mod guest;
mod init;
mod kill;
mod left_over;
mod memory;
mod models;
mod one_conversation;
mod places;
mod prefix;
mod reload;
mod stop;
mod store;
mod telegram_backlog;
mod terminal;
mod wakes;
mod wire;

/// A scene: both stand-ins, a home, and the executable under test.
fn scene() -> Harness {
    Harness::new(env!("CARGO_BIN_EXE_under-test"))
}
