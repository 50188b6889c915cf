//! One contract a port: what every implementation must do. A second implementation runs the same.

pub mod store;
