//! One contract a port: what every implementation must do. A second implementation runs the same.

pub mod memory_files;
pub mod store;
