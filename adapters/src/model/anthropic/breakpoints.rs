//! Where the server is told to keep what it has read. A server compares what comes with what it kept
//! block by block, backwards from each mark and twenty blocks far, and takes four marks at most:
//!
//! 1. the end of the instructions, which covers the tools before them;
//! 2. the last block of the request before, where that one's own mark was;
//! 3. the newest block, for the request after;
//! 4. where more than [`APART`] blocks lie between these two, one in their middle.
//!
//! The marks move from request to request. What they stand on does not change by it: servers compare
//! blocks without their marks.

/// The most blocks between two marks: fewer than a server looks back.
const APART: usize = 18;

/// How long a server keeps what it has read, from its last use on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheTtl {
    /// Five minutes.
    FiveMinutes,
    /// An hour; writing costs more.
    Hour,
}

impl CacheTtl {
    /// The mark, as a field of a block.
    fn field(self) -> &'static str {
        match self {
            Self::FiveMinutes => r#""cache_control":{"type":"ephemeral"}"#,
            Self::Hour => r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        }
    }
}

/// A block, where marks are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// It is a block of the model's own message.
    pub(super) own: bool,
    /// A mark may stand on it.
    pub(super) marks: bool,
}

/// The indices of the blocks of all messages that get a mark, in order: at most three.
pub(super) fn marked(spots: &[Spot]) -> Vec<usize> {
    let Some(newest) = (0..spots.len()).rev().find(|at| spots[*at].marks) else {
        return Vec::new();
    };
    // The request before ended where the model's last message begins.
    let last_own = (0..spots.len()).rev().find(|at| spots[*at].own);
    let before = last_own
        .and_then(|own| (0..own).rev().find(|at| !spots[*at].own))
        .filter(|at| spots[*at].marks);
    let mut marked = Vec::new();
    if let Some(before) = before {
        marked.push(before);
        if newest - before > APART {
            let middle = before + (newest - before) / 2;
            marked.extend((before + 1..=middle).rev().find(|at| spots[*at].marks));
        }
    }
    marked.push(newest);
    marked
}

/// The block with the mark. `block` is a JSON object with at least one field.
pub(super) fn with_mark(block: &str, ttl: CacheTtl) -> String {
    let open = block.trim_end();
    let open = open.strip_suffix('}').unwrap_or(open);
    format!("{open},{}}}", ttl.field())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    const USER: Spot = Spot { own: false, marks: true };
    const OWN: Spot = Spot { own: true, marks: true };
    const THINKING: Spot = Spot { own: true, marks: false };

    #[test]
    fn the_first_request_marks_its_last_block() {
        assert_eq!(marked(&[USER, USER]), [1]);
        assert_eq!(marked(&[]), [0_usize; 0]);
    }

    #[test]
    fn the_end_of_the_request_before_and_the_newest_block_are_marked() {
        assert_eq!(marked(&[USER, THINKING, OWN, USER]), [0, 3]);
        assert_eq!(marked(&[USER, OWN, USER, THINKING, OWN, OWN, USER, USER]), [2, 7]);
    }

    #[test]
    fn a_step_of_more_than_eighteen_blocks_has_a_mark_in_its_middle() {
        let step = |calls: usize| {
            let mut spots = vec![USER];
            spots.extend(vec![OWN; calls]);
            spots.extend(vec![USER; calls]);
            spots
        };
        assert_eq!(marked(&step(9)), [0, 18]);
        assert_eq!(marked(&step(10)), [0, 10, 20]);
        assert_eq!(marked(&step(19)), [0, 19, 38]);
        let mut thinking = step(10);
        thinking[10] = THINKING;
        assert_eq!(marked(&thinking), [0, 9, 20], "no mark on reasoning");
    }

    #[test]
    fn a_mark_is_one_more_field_and_changes_no_other_byte() {
        for block in
            [r#"{"type":"text","text":"a}"}"#, r#"{"input":{"a":{}}}"#, "{\"a\":\"}\\\"\"} "]
        {
            for ttl in [CacheTtl::FiveMinutes, CacheTtl::Hour] {
                let marked = with_mark(block, ttl);
                let bare = block.trim_end().strip_suffix('}').unwrap();
                assert_eq!(marked, format!("{bare},{}}}", ttl.field()));
                let marked: Map<String, Value> = serde_json::from_str(&marked).unwrap();
                assert_eq!(marked["cache_control"]["type"], "ephemeral");
            }
        }
    }

    proptest! {
        #[test]
        fn there_are_at_most_three_marks_and_none_on_reasoning(
            spots in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..80)
        ) {
            let spots: Vec<Spot> =
                spots.into_iter().map(|(own, marks)| Spot { own, marks: marks || !own }).collect();
            let marked = marked(&spots);
            prop_assert!(marked.len() <= 3);
            prop_assert!(marked.is_sorted() && marked.iter().all(|at| spots[*at].marks));
        }
    }
}
