//! Atlas's rules and flow. Nothing here knows a platform, a database or a network: those are ports,
//! and adapters stand behind them.
#![warn(missing_docs)]

pub mod access;
pub mod audience;
pub mod authorise;
pub mod bot;
pub mod change;
pub mod commands;
pub mod conversation;
pub mod courier;
pub mod engine;
pub mod event;
pub mod home;
pub mod ids;
pub mod instructions;
pub mod intake;
pub mod memory;
pub mod message;
pub mod ports;
mod retry;
pub mod router;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tools;
pub mod turn;
pub mod typing;
pub mod worker;
