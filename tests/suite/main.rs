//! The suite: everything that needs the outside, as one binary.
#![expect(clippy::expect_used, reason = "a test says what is wrong by failing")]

mod architecture;
mod memory;
mod store;
