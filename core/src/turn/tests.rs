use super::*;
use crate::access::Standing;
use crate::ids::{Seq, TurnId};
use crate::ports::TurnNotes;

fn at() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

fn open(steps: u32) -> OpenTurn {
    OpenTurn {
        id: TurnId(7),
        standing: Standing::Owner,
        opened_at: at(),
        notes: TurnNotes { steps, ..TurnNotes::default() },
    }
}

fn call(id: &str) -> Call {
    Call { id: id.into(), name: "memory".into(), arguments: "{}".into() }
}

fn said() -> Body {
    Body::note("hello")
}

fn asked(ids: &[&str]) -> Body {
    Body::Assistant {
        text: String::new(),
        calls: ids.iter().map(|id| call(id)).collect(),
        blocks: None,
    }
}

fn result(id: &str) -> Body {
    Body::Tool { call: id.into(), name: "memory".into(), text: "done".into(), outside: false }
}

fn decide(bodies: Vec<Body>, change: impl FnOnce(&mut Turn<'_>)) -> Step {
    decide_in(&open(0), bodies, change)
}

fn decide_in(open: &OpenTurn, bodies: Vec<Body>, change: impl FnOnce(&mut Turn<'_>)) -> Step {
    let messages: Vec<Message> = bodies
        .into_iter()
        .zip(1..)
        .map(|(body, seq)| Message { seq: Seq(seq), turn: Some(TurnId(7)), at: at(), body })
        .collect();
    let mut turn = Turn {
        open,
        messages: &messages,
        attempt: 1,
        stop_requested: false,
        taken_up: at(),
        now: at(),
    };
    change(&mut turn);
    next(&turn)
}

#[test]
fn a_question_is_asked_and_an_answer_ends() {
    assert_eq!(decide(vec![said()], |_| ()), Step::AskModel);
    assert_eq!(decide(vec![said(), asked(&[])], |_| ()), Step::Finish);
}

#[test]
fn calls_without_a_result_are_run_in_their_order() {
    let step = decide(vec![said(), asked(&["a", "b", "c"]), result("b")], |_| ());
    assert_eq!(step, Step::RunTools(vec![(0, call("a")), (2, call("c"))]));
}

#[test]
fn after_all_results_the_model_is_asked_also_when_messages_joined() {
    let bodies = vec![said(), asked(&["a"]), result("a")];
    assert_eq!(decide(bodies.clone(), |_| ()), Step::AskModel);
    let joined = [bodies, vec![said()]].concat();
    assert_eq!(decide(joined, |_| ()), Step::AskModel);
}

#[test]
fn a_request_to_stop_comes_before_everything() {
    let step = decide(vec![said(), asked(&["a"])], |turn| turn.stop_requested = true);
    assert_eq!(step, Step::Stop(Why::Asked));
}

#[test]
fn the_bounds_hold_but_leave_no_call_without_a_result() {
    let full = open(MAX_STEPS);
    assert_eq!(
        decide_in(&full, vec![said(), asked(&["a"])], |_| ()),
        Step::RunTools(vec![(0, call("a"))])
    );
    assert_eq!(
        decide_in(&full, vec![said(), asked(&["a"]), result("a")], |_| ()),
        Step::Stop(Why::Steps)
    );
    let late = |turn: &mut Turn<'_>| turn.now = at() + Duration::minutes(MAX_MINUTES);
    assert_eq!(decide(vec![said()], late), Step::Stop(Why::Time));
}

#[test]
fn the_time_that_a_process_was_down_does_not_count() {
    let later = |turn: &mut Turn<'_>| {
        turn.taken_up = at() + Duration::hours(1);
        turn.now = at() + Duration::hours(1);
    };
    assert_eq!(decide(vec![said()], later), Step::AskModel);
}

#[test]
fn the_third_failure_gives_up() {
    assert_eq!(decide(vec![said()], |turn| turn.attempt = 3), Step::AskModel);
    assert_eq!(decide(vec![said()], |turn| turn.attempt = 4), Step::Stop(Why::Failures));
}

#[test]
fn messages_of_other_turns_do_not_count() {
    let open = open(0);
    let other = Message { seq: Seq(1), turn: Some(TurnId(6)), at: at(), body: asked(&["z"]) };
    let mine = Message { seq: Seq(2), turn: Some(TurnId(7)), at: at(), body: said() };
    let messages = [other, mine];
    let turn = Turn {
        open: &open,
        messages: &messages,
        attempt: 1,
        stop_requested: false,
        taken_up: at(),
        now: at(),
    };
    assert_eq!(next(&turn), Step::AskModel);
}
