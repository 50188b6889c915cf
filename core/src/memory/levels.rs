//! Which memory files a conversation loads. The audience decides, never the speaker.

use crate::audience::{Audience, SharedMemory};
use crate::bot::Bot;
use crate::change::Target;

/// The owner's profile.
pub const PROFILE: &str = "memory/USER.md";
/// What the whole home agreed: an index.
pub const SHARED: &str = "shared/MEMORY.md";
/// The main agent's notes.
pub const MAIN_NOTES: &str = "memory/MEMORY.md";
/// The main agent's soul.
pub const SOUL: &str = "SOUL.md";

/// What a loaded file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Bounded entries.
    Bounded(Target),
    /// A free Markdown file.
    Free,
}

/// A file that a conversation loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its path in the home.
    pub path: String,
    /// What it is.
    pub shape: Shape,
}

/// The notes of a bot: `memory/MEMORY.md` for the main agent, its own folder's for any other.
#[must_use]
pub fn notes(bot: &Bot) -> String {
    if bot.is_main() { MAIN_NOTES.to_owned() } else { format!("bots/{}/MEMORY.md", bot.name) }
}

/// The file with a bot's soul or mission.
#[must_use]
pub fn mission(bot: &Bot) -> String {
    if bot.is_main() { SOUL.to_owned() } else { format!("bots/{}/BOT.md", bot.name) }
}

/// The files that a conversation loads, from wide to narrow. `shared` counts in a shared one only.
#[must_use]
pub fn loaded(bot: &Bot, audience: Audience, shared: SharedMemory) -> Vec<Level> {
    let profile = || Level { path: PROFILE.to_owned(), shape: Shape::Bounded(Target::User) };
    let agreed = || Level { path: SHARED.to_owned(), shape: Shape::Free };
    let notes = || Level { path: notes(bot), shape: Shape::Bounded(Target::Memory) };
    match (audience, shared) {
        (Audience::Private, _) | (Audience::Shared, SharedMemory::All) => {
            vec![profile(), agreed(), notes()]
        }
        (Audience::Shared, SharedMemory::Notes) => vec![agreed(), notes()],
        (Audience::Shared, SharedMemory::None) => Vec::new(),
    }
}

/// The paths of [`loaded`], as [`ToolContext::loaded`](crate::tools::ToolContext) wants them.
#[must_use]
pub fn loaded_paths(bot: &Bot, audience: Audience, shared: SharedMemory) -> Vec<String> {
    loaded(bot, audience, shared).into_iter().map(|level| level.path).collect()
}

/// Whether a path is one that some conversation loads: a document of it that is no longer loaded
/// must be told as such.
#[must_use]
pub(crate) fn is_level(path: &str) -> bool {
    let is_notes = || {
        path.strip_prefix("bots/")
            .and_then(|rest| rest.strip_suffix("/MEMORY.md"))
            .is_some_and(|name| !name.contains('/'))
    };
    matches!(path, PROFILE | SHARED | MAIN_NOTES) || is_notes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bots::bot;

    #[test]
    fn a_private_conversation_loads_profile_agreements_and_its_bots_notes() {
        for shared in [SharedMemory::None, SharedMemory::Notes, SharedMemory::All] {
            assert_eq!(
                loaded_paths(&bot("seo"), Audience::Private, shared),
                ["memory/USER.md", "shared/MEMORY.md", "bots/seo/MEMORY.md"]
            );
        }
        assert_eq!(
            loaded_paths(&bot("atlas"), Audience::Private, SharedMemory::None),
            ["memory/USER.md", "shared/MEMORY.md", "memory/MEMORY.md"]
        );
    }

    #[test]
    fn a_shared_conversation_loads_what_its_route_says() {
        let paths = |shared| loaded_paths(&bot("seo"), Audience::Shared, shared);
        assert!(paths(SharedMemory::None).is_empty());
        assert_eq!(paths(SharedMemory::Notes), ["shared/MEMORY.md", "bots/seo/MEMORY.md"]);
        assert_eq!(
            paths(SharedMemory::All),
            ["memory/USER.md", "shared/MEMORY.md", "bots/seo/MEMORY.md"]
        );
    }

    #[test]
    fn every_path_that_is_loaded_is_known_as_one() {
        for name in ["atlas", "seo"] {
            for path in loaded_paths(&bot(name), Audience::Private, SharedMemory::All) {
                assert!(is_level(&path), "{path}");
            }
        }
        assert!(!is_level("bots/seo/topics/MEMORY.md"));
        assert!(!is_level("skills"));
    }
}
