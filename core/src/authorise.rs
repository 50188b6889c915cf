//! Who may change memory: one pure table (`memory.md`, *Two words that decide everything*).
//!
//! Nothing here reads a file or knows a tool. Everything that asks for a change asks here first.

use crate::access::Standing;
use crate::audience::Audience;
use crate::ports::Origin;

/// Whether text that the owner did not write, and that the home's files do not hold, entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taint {
    /// Only the owner's words and the home's own files.
    Clean,
    /// Other people's messages, web pages, attachments, … entered in this turn (for a review: in
    /// the part that it rereads).
    Outside,
}

/// What is asked for, as far as the table looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where the change comes from.
    pub origin: Origin,
    /// Whether outside text entered.
    pub taint: Taint,
    /// Who reads the conversation.
    pub audience: Audience,
    /// Whose turn it is.
    pub standing: Standing,
    /// Whether the file is loaded in this conversation.
    pub loaded: bool,
    /// Whether every operation only adds.
    pub additions: bool,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is made now.
    Apply,
    /// It waits for the owner.
    Propose,
    /// It is not made, and nothing waits.
    Refuse(Refusal),
}

/// Why a change is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Another person's turn: memory is the owner's.
    NotTheOwner,
    /// The file is not loaded in this shared conversation, so nothing of it may be shown or changed
    /// here. The owner's private chat is the place.
    NotLoadedHere,
}

/// The table.
#[must_use]
pub fn authorise(asked: Asked) -> Verdict {
    match asked.origin {
        // Somebody who decides has decided; an edit by hand has happened and is recorded.
        Origin::Approval | Origin::Undo | Origin::CommandLine | Origin::HandEdit => Verdict::Apply,
        Origin::Review => review(asked),
        Origin::Tool => match asked.standing {
            Standing::Owner => owners_tool(asked),
            Standing::Guest | Standing::Stranger => Verdict::Refuse(Refusal::NotTheOwner),
        },
    }
}

fn review(asked: Asked) -> Verdict {
    match (asked.taint, asked.additions) {
        (Taint::Clean, true) => Verdict::Apply,
        (Taint::Clean, false) | (Taint::Outside, _) => Verdict::Propose,
    }
}

fn owners_tool(asked: Asked) -> Verdict {
    match (asked.audience, asked.loaded, asked.taint) {
        (Audience::Private, _, Taint::Clean) | (Audience::Shared, true, Taint::Clean) => {
            Verdict::Apply
        }
        (Audience::Private, _, Taint::Outside) | (Audience::Shared, true, Taint::Outside) => {
            Verdict::Propose
        }
        (Audience::Shared, false, _) if asked.additions => Verdict::Propose,
        (Audience::Shared, false, _) => Verdict::Refuse(Refusal::NotLoadedHere),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINS: [Origin; 6] = [
        Origin::Tool,
        Origin::Review,
        Origin::Approval,
        Origin::Undo,
        Origin::CommandLine,
        Origin::HandEdit,
    ];

    /// Every combination of the inputs.
    fn all() -> Vec<Asked> {
        let mut all = Vec::new();
        for origin in ORIGINS {
            for taint in [Taint::Clean, Taint::Outside] {
                for audience in [Audience::Private, Audience::Shared] {
                    for standing in [Standing::Owner, Standing::Guest, Standing::Stranger] {
                        for (loaded, additions) in
                            [(true, true), (true, false), (false, true), (false, false)]
                        {
                            all.push(Asked {
                                origin,
                                taint,
                                audience,
                                standing,
                                loaded,
                                additions,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    /// The table of the specification, row by row, in the words it is written in.
    fn expected(a: &Asked) -> Verdict {
        use Verdict::{Apply, Propose, Refuse};
        let private = a.audience == Audience::Private;
        let outside = a.taint == Taint::Outside;
        match a.origin {
            Origin::Tool if a.standing != Standing::Owner => Refuse(Refusal::NotTheOwner),
            Origin::Tool if private => {
                if outside {
                    Propose
                } else {
                    Apply
                }
            }
            Origin::Tool if a.loaded && !outside => Apply,
            Origin::Tool if a.loaded || a.additions => Propose,
            Origin::Tool => Refuse(Refusal::NotLoadedHere),
            Origin::Review if outside || !a.additions => Propose,
            Origin::Review => Apply,
            _ => Apply,
        }
    }

    #[test]
    fn every_row_of_the_table_holds() {
        let all = all();
        assert_eq!(all.len(), 6 * 2 * 2 * 3 * 4);
        for asked in all {
            assert_eq!(authorise(asked), expected(&asked), "{asked:?}");
        }
    }

    #[test]
    fn nothing_with_outside_text_is_applied_by_a_tool_or_a_review() {
        for asked in all() {
            let by_model = matches!(asked.origin, Origin::Tool | Origin::Review);
            if by_model && asked.taint == Taint::Outside {
                assert_ne!(authorise(asked), Verdict::Apply, "{asked:?}");
            }
        }
    }

    #[test]
    fn another_persons_turn_changes_nothing_and_proposes_nothing() {
        for asked in all() {
            if asked.origin == Origin::Tool && asked.standing != Standing::Owner {
                assert_eq!(authorise(asked), Verdict::Refuse(Refusal::NotTheOwner), "{asked:?}");
            }
        }
    }

    #[test]
    fn a_hand_edit_is_always_recorded() {
        for asked in all() {
            if asked.origin == Origin::HandEdit {
                assert_eq!(authorise(asked), Verdict::Apply, "{asked:?}");
            }
        }
    }

    #[test]
    fn a_file_that_is_not_loaded_in_a_shared_conversation_is_never_written_by_a_tool() {
        for asked in all() {
            let there = asked.audience == Audience::Shared && !asked.loaded;
            if asked.origin == Origin::Tool && there {
                assert_ne!(authorise(asked), Verdict::Apply, "{asked:?}");
            }
        }
    }
}
