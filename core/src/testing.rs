//! Stand-ins for ports, in process, for unit tests and benchmarks: never part of a build for people.
//! The suite uses the real adapters.

pub mod bots;
mod clock;
pub mod intents;
pub mod memory_files;
mod model;
mod platform;

pub use clock::FakeClock;
pub use model::EchoModel;
pub use platform::RecordingPlatform;
