//! One module per outside system. No module imports a sibling: what two of them need is a port of
//! core's, or its own module with no system behind it (`http`, `markdown`).

pub mod discord;
pub mod http;
mod markdown;
pub mod memory_fs;
pub mod model;
pub mod store;
pub mod telegram;
pub mod terminal;
