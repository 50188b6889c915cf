//! When an episode has grown too long: where it is cut, and what stands at the head of the next one.
//!
//! The cut here is deterministic: it keeps the newest part whole, between complete steps, and says in
//! one line that the rest is archived. Nothing is lost: archived messages stay in the database.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::ids::{Seq, TurnId};
use crate::memory::documents::middle_out;
use crate::message::{Body, Message, Part};
use crate::ports::Loaded;

/// The limit where the configuration says nothing and the window is unknown or large, in tokens.
const COMPACT_AT: u64 = 64_000;

/// What an episode may hold before it is cut, in tokens.
#[must_use]
pub fn limit(configured: Option<u32>, window: Option<u32>) -> u64 {
    if let Some(tokens) = configured {
        return u64::from(tokens);
    }
    window.map_or(COMPACT_AT, |window| (u64::from(window) * 6 / 10).min(COMPACT_AT))
}

/// What the next request would hold, in tokens: the provider's own last count, and an estimate of
/// what has come since.
#[must_use]
pub fn size(loaded: &Loaded, instructions: &str) -> u64 {
    let since = |seq: Option<Seq>| -> u64 {
        let new = loaded.messages.iter().filter(|message| Some(message.seq) > seq);
        new.map(|message| estimate(&message.body)).sum()
    };
    match &loaded.counted {
        Some((tokens, seq)) if tokens.input > 0 => tokens.input + tokens.output + since(Some(*seq)),
        _ => since(None) + estimate_text(instructions),
    }
}

/// A message's tokens, estimated by its bytes.
pub(super) fn estimate(body: &Body) -> u64 {
    const FRAME: u64 = 8;
    FRAME
        + match body {
            Body::User { parts } => parts.iter().map(estimate_part).sum(),
            Body::Assistant { blocks: Some(blocks), .. } => estimate_text(&blocks.raw),
            Body::Assistant { text, calls, .. } => {
                estimate_text(text)
                    + calls.iter().map(|call| estimate_text(&call.arguments) + FRAME).sum::<u64>()
            }
            Body::Tool { text, .. } => estimate_text(text),
        }
}

fn estimate_part(part: &Part) -> u64 {
    match part {
        Part::Said { header, text, .. } => estimate_text(header) + estimate_text(text),
        Part::Observed { text, .. }
        | Part::Document { text, .. }
        | Part::Summary { text, .. }
        | Part::Note { text } => estimate_text(text),
    }
}

/// Four bytes a token: near enough for English, and a little high for scripts of three bytes a
/// character, which is the safe side.
fn estimate_text(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX) / 4 + 1
}

/// Characters that the head of an episode repeats of what was asked in the open turn.
const ASKED: usize = 4_000;

/// How much of an episode a cut keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The newest quarter.
    Quarter,
    /// The newest sixteenth: a quarter was still too much.
    Little,
}

/// Where an episode is cut: what stands before the index is archived. None where nothing would go.
#[must_use]
pub fn place(messages: &[Message], keep: Keep) -> Option<usize> {
    let sizes: Vec<u64> = messages.iter().map(|message| estimate(&message.body)).collect();
    let all: u64 = sizes.iter().sum();
    let budget = all / if keep == Keep::Quarter { 4 } else { 16 };
    let mut kept = 0;
    let mut cut = messages.len();
    for index in (0..messages.len()).rev() {
        kept += sizes[index];
        if kept > budget && cut < messages.len() {
            break;
        }
        // Never between a call and its result: a cut stands before a user's or the model's message.
        if !matches!(messages[index].body, Body::Tool { .. }) && starts_a_step(messages, index) {
            cut = index;
        }
    }
    (cut > 0 && cut < messages.len()).then_some(cut)
}

/// Whether the message before this one ends a complete step.
fn starts_a_step(messages: &[Message], index: usize) -> bool {
    let before = index.checked_sub(1).map(|before| &messages[before].body);
    !matches!(before, Some(Body::Assistant { calls, .. }) if !calls.is_empty())
}

/// What a message holds, with the turn that it belongs to.
pub type Owned = (Option<TurnId>, Body);

/// The head of the next episode and what is kept behind it, each with its turn. What people asked in
/// the turn that stands `open` is told again in the head, or nobody would know what the kept steps
/// are for.
#[must_use]
pub fn carry(
    messages: &[Message],
    cut: usize,
    open: Option<TurnId>,
    documents: Vec<Part>,
    zone: Tz,
) -> (Owned, Vec<Owned>) {
    let (archived, kept) = messages.split_at(cut);
    let mut parts = vec![summary(archived, zone)];
    parts.extend(documents);
    let asked = open.map(|turn| asked(archived, turn)).unwrap_or_default();
    let mut turn = open.filter(|_| !asked.is_empty());
    parts.extend(asked);
    let mut rest: Vec<Owned> = kept
        .iter()
        .filter_map(|message| Some((message.turn, without_documents(&message.body)?)))
        .collect();
    // Two user messages never follow each other: a kept one that came first goes into the head.
    if let Some((first_turn, Body::User { parts: first })) = rest.first() {
        turn = turn.or(*first_turn);
        parts.extend(first.iter().cloned());
        rest.remove(0);
    }
    ((turn, Body::User { parts }), rest)
}

/// What people said in a turn, the newest of it, within [`ASKED`].
fn asked(archived: &[Message], turn: TurnId) -> Vec<Part> {
    let mut left = ASKED;
    let mut asked = Vec::new();
    let bodies = archived.iter().filter(|message| message.turn == Some(turn));
    let parts = bodies.filter_map(|message| match &message.body {
        Body::User { parts } => Some(parts),
        _ => None,
    });
    for part in parts.flatten().rev() {
        let Part::Said { inbox, place, standing, header, text, outside } = part else { continue };
        if left == 0 {
            break;
        }
        let note = "[… left out here: the whole message is archived …]";
        let text = match text.char_indices().nth(left) {
            None => text.clone(),
            Some(_) => middle_out(text, left / 4 * 3, left / 4, note),
        };
        left = left.saturating_sub(text.chars().count());
        let (inbox, standing, outside) = (*inbox, *standing, *outside);
        let (place, header) = (place.clone(), header.clone());
        asked.push(Part::Said { inbox, place, standing, header, text, outside });
    }
    asked.reverse();
    asked
}

fn without_documents(body: &Body) -> Option<Body> {
    let Body::User { parts } = body else { return Some(body.clone()) };
    let parts: Vec<Part> = parts
        .iter()
        .filter(|part| !matches!(part, Part::Document { .. } | Part::Summary { .. }))
        .cloned()
        .collect();
    (!parts.is_empty()).then_some(Body::User { parts })
}

fn summary(archived: &[Message], zone: Tz) -> Part {
    let day = |at: DateTime<Utc>| at.with_timezone(&zone).format("%Y-%m-%d").to_string();
    let outside = archived.iter().any(|message| message.body.is_outside());
    let text = match archived.last() {
        Some(last) => format!(
            "(The conversation up to {} is archived: {} messages. They are kept, and not shown here.)",
            day(last.at),
            last.seq
        ),
        None => "(The conversation goes on.)".to_owned(),
    };
    Part::Summary { text, outside }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Standing;
    use crate::ids::{ChatKey, InboxId};
    use crate::message::Call;

    fn messages(bodies: Vec<Body>) -> Vec<Message> {
        bodies
            .into_iter()
            .zip(1..)
            .map(|(body, seq)| Message {
                seq: Seq(seq),
                turn: Some(TurnId(seq / 4)),
                at: DateTime::UNIX_EPOCH,
                body,
            })
            .collect()
    }

    fn step(id: &str) -> [Body; 2] {
        let call = Call { id: id.into(), name: "memory".into(), arguments: "{}".into() };
        [
            Body::Assistant { text: String::new(), calls: vec![call], blocks: None },
            Body::Tool {
                call: id.into(),
                name: "memory".into(),
                text: "done ".repeat(20),
                outside: false,
            },
        ]
    }

    #[test]
    fn the_limit_is_the_smaller_of_two() {
        assert_eq!(limit(None, None), 64_000);
        assert_eq!(limit(None, Some(200_000)), 64_000);
        assert_eq!(limit(None, Some(32_768)), 19_660);
        assert_eq!(limit(Some(90_000), Some(32_768)), 90_000);
    }

    #[test]
    fn the_newest_quarter_is_kept() {
        let all = messages((0..40).map(|_| Body::note("twelve bytes, and some more")).collect());
        let cut = place(&all, Keep::Quarter).expect("there is something to archive");
        assert_eq!(cut, 30);
    }

    #[test]
    fn one_message_cannot_be_cut() {
        assert_eq!(place(&messages(vec![Body::note("hello")]), Keep::Quarter), None);
        assert_eq!(place(&[], Keep::Little), None);
    }

    #[test]
    fn a_kept_user_message_goes_into_the_head_without_its_documents() {
        let document = Part::Document {
            path: "memory/USER.md".into(),
            hash: None,
            cut: false,
            text: "old".into(),
        };
        let fresh = Part::Document {
            path: "memory/USER.md".into(),
            hash: Some("1".into()),
            cut: false,
            text: "new".into(),
        };
        let note = Part::Note { text: "hello".into() };
        let all = messages(vec![
            Body::note("before"),
            Body::User { parts: vec![document.clone(), note.clone()] },
            Body::line("hi"),
            Body::User { parts: vec![document] },
        ]);
        let ((turn, head), rest) = carry(&all, 1, None, vec![fresh.clone()], Tz::UTC);
        assert_eq!(turn, all[1].turn);
        let Body::User { parts } = head else { panic!("a head is a user message") };
        assert!(matches!(parts[0], Part::Summary { outside: false, .. }));
        assert_eq!(parts[1..], [fresh, note]);
        assert_eq!(rest, [(all[2].turn, Body::line("hi"))]);
    }

    fn said(text: &str) -> Part {
        Part::Said {
            inbox: InboxId(1),
            place: ChatKey { account: "tg".into(), chat: "5".into() },
            standing: Standing::Owner,
            header: "[owner]".into(),
            text: text.into(),
            outside: false,
        }
    }

    #[test]
    fn a_cut_within_a_turn_keeps_what_was_asked_however_often_it_comes() {
        let mut all = messages(vec![Body::note("long ago"), Body::line("yes")]);
        let mut bodies = vec![Body::User { parts: vec![said("sum up the book")] }];
        bodies.extend((0..9).flat_map(|step_of| step(&step_of.to_string())));
        all.extend(messages(bodies).into_iter().map(|message| Message {
            seq: Seq(message.seq.0 + 2),
            turn: Some(TurnId(9)),
            ..message
        }));
        for keep in [Keep::Quarter, Keep::Little, Keep::Little] {
            let cut = place(&all, keep).expect("there is something to archive");
            let (head, rest) = carry(&all, cut, Some(TurnId(9)), Vec::new(), Tz::UTC);
            let Body::User { parts } = &head.1 else { panic!("a head is a user message") };
            assert!(parts.contains(&said("sum up the book")), "{parts:?}");
            let carried = std::iter::once(head).chain(rest).zip(30..);
            all = carried
                .map(|((turn, body), seq)| Message {
                    seq: Seq(seq),
                    turn,
                    at: DateTime::UNIX_EPOCH,
                    body,
                })
                .collect();
        }
    }

    #[test]
    fn a_huge_question_is_repeated_in_part() {
        let all = messages(vec![Body::User { parts: vec![said(&"x".repeat(50_000))] }]);
        let [Part::Said { text, .. }] = &asked(&all, TurnId(0))[..] else { panic!("one part") };
        assert!(text.chars().count() < ASKED + 100 && text.contains("left out"), "{text}");
    }

    fn any_episode() -> impl Strategy<Value = Vec<Message>> {
        let unit = prop_oneof![
            "[a-z ]{1,40}".prop_map(|text| vec![Body::note(text)]),
            "[a-z]{1,40}".prop_map(|text| vec![Body::line(text)]),
            Just(step("a").to_vec()),
        ];
        prop::collection::vec(unit, 0..30).prop_map(|units| messages(units.concat()))
    }

    proptest! {
        #[test]
        fn a_cut_never_parts_a_call_from_its_result(all in any_episode(), little in any::<bool>()) {
            let keep = if little { Keep::Little } else { Keep::Quarter };
            if let Some(cut) = place(&all, keep) {
                prop_assert!(cut > 0 && cut < all.len());
                let ((_, head), rest) = carry(&all, cut, all.last().and_then(|last| last.turn), Vec::new(), Tz::UTC);
                let bodies: Vec<Body> = std::iter::once(head).chain(rest.into_iter().map(|kept| kept.1)).collect();
                let mended = crate::conversation::transcript::mend(&bodies);
                prop_assert_eq!(mended.len(), bodies.len());
            }
        }
    }
}
