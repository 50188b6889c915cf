//! Stand-ins for tests and benchmarks: never part of a build for people.

pub mod bots;
pub mod memory_files;
