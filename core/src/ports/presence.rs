//! Which processes of this home are alive.

use crate::ids::HolderId;

/// Tells whether the process behind a claim still lives. A process proves its life by the lock on
/// its file `run/<id>.lock`, never by the clock.
pub trait Presence: Send + Sync + 'static {
    /// This process.
    fn me(&self) -> &HolderId;

    /// Whether that process lives. True for one that cannot be judged, for instance of another
    /// machine: a claim is then waited for, not taken.
    fn alive(&self, holder: &HolderId) -> bool;
}
