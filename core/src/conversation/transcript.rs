//! Mends a transcript before it is sent. Whatever happened to the rows, no request leaves with a
//! call that has no result, a result that has no call, an empty name or an empty text.
//!
//! Pure, and blind to what comes later: appending a row changes nothing that was rendered before, as
//! long as the model is only asked when all calls have their results.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::message::{Body, Call, Part};

/// What stands for a result that was never stored.
pub const NO_RESULT: &str = "(no result was stored for this call)";

/// What stands for a text that is empty.
const NOTHING: &str = "(nothing)";

/// A transcript that a model's server accepts.
#[must_use]
pub fn mend<'a>(bodies: impl IntoIterator<Item = &'a Body>) -> Vec<Arc<Body>> {
    let mut mended = Vec::new();
    let mut owed: Vec<Call> = Vec::new();
    for body in bodies {
        match body {
            Body::Tool { call, .. } => {
                if let Some(index) = owed.iter().position(|owed| &owed.id == call) {
                    owed.remove(index);
                    mended.push(Arc::new(with_text(body.clone())));
                }
            }
            Body::User { .. } => {
                pay(&mut owed, &mut mended);
                mended.push(Arc::new(with_text(body.clone())));
            }
            Body::Assistant { .. } => {
                pay(&mut owed, &mut mended);
                if let Some(body) = mended_answer(body) {
                    if let Body::Assistant { calls, .. } = &body {
                        owed.clone_from(calls);
                    }
                    mended.push(Arc::new(body));
                }
            }
        }
    }
    pay(&mut owed, &mut mended);
    mended
}

/// Gives every call that waits a result that says there is none.
fn pay(owed: &mut Vec<Call>, mended: &mut Vec<Arc<Body>>) {
    for call in owed.drain(..) {
        let text = NO_RESULT.to_owned();
        mended.push(Arc::new(Body::Tool { call: call.id, name: call.name, text, outside: false }));
    }
}

/// An answer without calls that cannot be answered. A provider's own message goes only unchanged.
fn mended_answer(body: &Body) -> Option<Body> {
    let Body::Assistant { text, calls, blocks } = body else { return None };
    let mut seen = BTreeSet::new();
    let kept: Vec<Call> = calls
        .iter()
        .filter(|call| !call.id.trim().is_empty() && !call.name.trim().is_empty())
        .filter(|call| seen.insert(call.id.as_str()))
        .cloned()
        .collect();
    if kept.is_empty() && text.trim().is_empty() {
        return None;
    }
    let blocks = blocks.clone().filter(|_| kept.len() == calls.len());
    Some(Body::Assistant { text: text.clone(), calls: kept, blocks })
}

fn with_text(body: Body) -> Body {
    match body {
        Body::Tool { call, name, text, outside } if text.trim().is_empty() => {
            Body::Tool { call, name, text: NOTHING.to_owned(), outside }
        }
        Body::User { parts } if parts.iter().all(is_empty) => Body::note(NOTHING),
        other => other,
    }
}

fn is_empty(part: &Part) -> bool {
    match part {
        Part::Said { .. } => false,
        Part::Observed { text, .. }
        | Part::Document { text, .. }
        | Part::Summary { text, .. }
        | Part::Note { text } => text.trim().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Blocks;

    fn call(id: &str, name: &str) -> Call {
        Call { id: id.into(), name: name.into(), arguments: "{}".into() }
    }

    fn answer(text: &str, calls: Vec<Call>) -> Body {
        let blocks = Some(Blocks { signer: "s".into(), raw: "{}".into() });
        Body::Assistant { text: text.into(), calls, blocks }
    }

    fn result(id: &str, text: &str) -> Body {
        Body::Tool { call: id.into(), name: "memory".into(), text: text.into(), outside: false }
    }

    /// What every server asks of a transcript.
    fn is_sound(bodies: &[Arc<Body>]) -> bool {
        let mut owed: Vec<String> = Vec::new();
        for body in bodies {
            match &**body {
                Body::Tool { call, name, text, .. } => {
                    let Some(index) = owed.iter().position(|id| id == call) else { return false };
                    owed.remove(index);
                    if name.is_empty() || text.trim().is_empty() {
                        return false;
                    }
                }
                Body::User { parts } if !owed.is_empty() || parts.is_empty() => return false,
                Body::User { .. } => {}
                Body::Assistant { .. } if !owed.is_empty() => return false,
                Body::Assistant { text, calls, .. } => {
                    if text.trim().is_empty() && calls.is_empty() {
                        return false;
                    }
                    owed = calls.iter().map(|call| call.id.clone()).collect();
                }
            }
        }
        owed.is_empty()
    }

    #[test]
    fn case_74_a_partial_call_and_an_orphan_result_are_mended() {
        let bodies = [
            Body::note("hi"),
            result("orphan", "lost"),
            answer("", vec![call("a", "memory"), call("b", ""), call("", "memory")]),
            Body::note("still there?"),
            answer("", vec![]),
            answer("yes", vec![]),
        ];
        let mended = mend(&bodies);
        assert!(is_sound(&mended));
        assert_eq!(mended.len(), 5);
        assert_eq!(*mended[2], result("a", NO_RESULT));
        assert!(
            matches!(&*mended[1], Body::Assistant { blocks: None, calls, .. } if calls.len() == 1)
        );
    }

    #[test]
    fn a_sound_transcript_is_left_as_it_is() {
        let bodies = [
            Body::note("hi"),
            answer("", vec![call("a", "memory"), call("b", "memory")]),
            result("b", "2"),
            result("a", "1"),
            answer("done", vec![]),
        ];
        let mended: Vec<Body> = mend(&bodies).iter().map(|body| (**body).clone()).collect();
        assert_eq!(mended, bodies);
    }

    fn any_body() -> impl Strategy<Value = Body> {
        let id = prop::sample::select(vec!["", "a", "b", "c"]);
        let name = prop::sample::select(vec!["", "memory", " "]);
        let text = prop::sample::select(vec!["", " \n", "words"]);
        let calls = prop::collection::vec((id.clone(), name.clone()), 0..4).prop_map(|calls| {
            calls.into_iter().map(|(id, name)| call(id, name)).collect::<Vec<_>>()
        });
        prop_oneof![
            text.clone().prop_map(Body::note),
            (text.clone(), calls).prop_map(|(text, calls)| answer(text, calls)),
            (id, text).prop_map(|(id, text)| result(id, text)),
        ]
    }

    proptest! {
        #[test]
        fn whatever_is_stored_is_mended(bodies in prop::collection::vec(any_body(), 0..12)) {
            prop_assert!(is_sound(&mend(&bodies)));
        }

        #[test]
        fn mending_twice_changes_nothing(bodies in prop::collection::vec(any_body(), 0..12)) {
            let once = mend(&bodies);
            let twice = mend(once.iter().map(|body| &**body));
            prop_assert_eq!(once, twice);
        }
    }
}
