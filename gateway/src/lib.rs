//! The gateway: where the parts are put together, and the command line.

pub mod app;
pub mod commands;
mod parts;
pub mod presence;
mod reload;
pub mod running;
pub mod telemetry;
pub mod workers;
