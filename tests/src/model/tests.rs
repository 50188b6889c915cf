//! The stand-in answers as scripted, and finds what a client may not do.

use serde_json::{Value, json};

use super::*;
use crate::wire::request;

fn ask(model: &Model, messages: &Value) -> Option<(u16, String)> {
    let body = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": messages, "tools": [], "prompt_cache_key": "k",
    });
    request(model.address, "POST", "/v1/chat/completions", &body)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant_call(id: &str) -> Value {
    let call = json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "done"})
}

#[test]
fn answers_come_as_scripted_and_one_too_many_is_a_failure() {
    let model = Model::start(&Bell::new());
    model.script(Takes::All, [say("hello there"), status(429, "slow down").retry_after(3)]);
    let (code, body) = ask(&model, &json!([user("a")])).unwrap();
    assert_eq!(code, 200);
    assert!(body.contains("\"content\":\"hello t\"") && body.contains("data: [DONE]"), "{body}");
    assert!(body.contains("\"cached_tokens\":0"));
    assert_eq!(model.problems(), ["All: 1 answers never asked for"]);
    assert_eq!(ask(&model, &json!([user("a")])).unwrap().0, 429);
    assert_eq!(model.problems(), Vec::<String>::new());
    assert_eq!(ask(&model, &json!([user("a")])).unwrap().0, 400);
    assert_eq!(model.take_failures().len(), 1);
}

#[test]
fn a_truncated_answer_breaks_off_without_an_end() {
    let model = Model::start(&Bell::new());
    model.script(Takes::All, [truncated("half of it")]);
    let (_, body) = ask(&model, &json!([user("a")])).unwrap();
    assert!(!body.contains("finish_reason\":\"stop") && !body.contains("[DONE]"), "{body}");
    assert!(!body.ends_with("0\r\n\r\n"), "the stream was closed in order");
}

#[test]
fn lanes_take_what_is_theirs() {
    let model = Model::start(&Bell::new());
    model.script(Takes::Containing("seo"), [say("for seo")]);
    model.rule(Takes::All, |request| say(&request.last("user")));
    let answers = |text: &str| ask(&model, &json!([user(text)])).unwrap().1;
    model.announce_break();
    assert!(answers("x").contains("\"content\":\"x\""));
    assert!(answers("seo").contains("for seo"));
    assert_eq!(model.problems(), Vec::<String>::new());
}

#[test]
fn requests_that_servers_refuse_are_found() {
    let model = Model::start(&Bell::new());
    for (messages, fault) in [
        (json!([user("a"), assistant_call("1"), user("b")]), "before the results"),
        (json!([user("a"), assistant_call("1")]), "ends before the results"),
        (json!([user("a"), result("1")]), "a result of no open call"),
        (json!([user("a"), assistant_call("1"), result("1"), result("1")]), "of no open call"),
        (json!([user("")]), "is empty"),
        (json!([{"role": "user", "content": [{"type": "text", "text": ""}]}]), "is empty"),
        (json!([user("a"), {"role": "assistant", "content": ""}, user("b")]), "is empty"),
        (json!([user("a"), {"role": "system", "content": "s"}]), "not first"),
        (json!([user("a"), {"role": "assistant", "content": "b"}]), "the assistant's own words"),
        (json!([user("a"), assistant_call(""), result("")]), "is empty or given twice"),
    ] {
        assert_eq!(ask(&model, &messages).unwrap().0, 400, "{messages}");
        let failures = model.take_failures();
        assert!(failures[0].contains(fault), "{messages}: {failures:?}");
    }
}

#[test]
fn the_prefix_rule_is_kept_or_told() {
    let model = Model::start(&Bell::new());
    model.rule(Takes::All, |_| say("ok"));
    let assistant = json!({"role": "assistant", "content": "ok"});
    assert_eq!(ask(&model, &json!([user("a")])).unwrap().0, 200);
    ask(&model, &json!([user("a"), assistant, user("b")]));
    assert_eq!(model.problems(), Vec::<String>::new());
    assert!(model.last().unwrap().cached > 0);
    ask(&model, &json!([user("A"), assistant, user("b"), assistant, user("c")]));
    assert!(model.take_failures()[0].contains("message 0 of 3 was rewritten"));
    model.announce_break();
    ask(&model, &json!([user("new")]));
    assert_eq!(model.problems(), Vec::<String>::new());
}

#[test]
fn strict_roles_refuse_a_user_after_a_tool() {
    let model = Model::start(&Bell::new());
    model.rule(Takes::All, |_| say("ok"));
    model.strict_roles();
    let taken = json!([user("a"), assistant_call("1"), result("1")]);
    assert_eq!(ask(&model, &taken).unwrap().0, 200);
    let refused = json!([user("a"), assistant_call("1"), result("1"), user("b")]);
    assert_eq!(ask(&model, &refused).unwrap().0, 400);
    model.announce_break();
    assert_eq!(ask(&model, &json!([user("a"), user("b")])).unwrap().0, 400);
    assert_eq!(model.problems(), Vec::<String>::new());
}

#[test]
fn a_held_answer_waits_for_its_gate() {
    let bell = Bell::new();
    let model = Model::start(&bell);
    let gate = model.gate();
    model.script(Takes::All, [say("hello there").held(&gate)]);
    let asks = model.clone();
    let waiting = std::thread::spawn(move || ask(&asks, &json!([user("a")])).unwrap());
    crate::bell::until(&bell, "the gate", || model.describe(), || gate.reached().then_some(()));
    gate.open();
    assert!(waiting.join().unwrap().1.contains("[DONE]"));
}
