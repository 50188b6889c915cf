//! Memory: what it holds, how it is found, and the only way to write it.
//!
//! [`entries`] is the grammar of a bounded file, [`matching`] finds an entry, [`operations`] works
//! out what a change would make of a text, [`replies`] says it to the model, [`screen`] keeps attacks
//! out, [`levels`] says which files a conversation loads, [`documents`] shows them to the model, and
//! [`MemoryWriter`] writes. Who may write is decided in [`authorise`](crate::authorise).

pub mod documents;
pub mod entries;
pub mod levels;
pub mod matching;
pub mod operations;
mod replies;
pub mod screen;
mod settle;
mod writer;

pub use writer::{MemoryWriter, WriteError, Written};
