//! What core needs of the outside, as object-safe traits. Each has one contract test, written so
//! that a second implementation costs none.

mod clock;
mod memory_files;
mod model;
mod platform;
mod presence;
mod store;

pub use clock::{Clock, SystemClock};
pub use memory_files::{
    FileError, FileState, LockGuard, MemoryFiles, Placed, Stat, mend_unreadable,
};
pub use model::{
    Answer, Delta, End, ModelClient, ModelError, ModelInfo, ModelRequest, Tokens, ToolSpec,
};
pub use platform::{
    Capabilities, Encoded, FetchError, Fetched, Outgoing, Platform, Receipt, Repeat, SendError,
    Source,
};
pub use presence::Presence;
pub use store::*;
