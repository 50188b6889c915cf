//! Stand-ins for the outside, as servers on the wire, and the harness that starts, kills and
//! restarts the real application against them.
//!
//! Tests are plain functions without `async`: the servers work on a runtime of their own, and a test
//! waits for facts ([`bell::until`]), never for time. Nothing here knows the inside of the
//! application: it is reached as people, platforms and a model's server reach it.
#![expect(clippy::expect_used, reason = "a test kit says what is wrong by failing the test")]

pub mod bell;
pub mod contract;
pub mod discord;
pub mod download;
pub mod faults;
pub mod harness;
pub mod home;
pub mod model;
pub mod process;
pub mod telegram;
pub mod wire;

/// How often a campaign goes round: `tenth` as a rule, ten times as often where `ATLAS_SOAK` is set
/// (`just soak`). Each round has a number, which is all that it may draw from.
#[must_use]
pub fn rounds(tenth: usize) -> std::ops::Range<usize> {
    #[expect(clippy::disallowed_methods, reason = "it says how long to test, not how to run")]
    let soak = std::env::var_os("ATLAS_SOAK").is_some();
    0..if soak { tenth * 10 } else { tenth }
}
