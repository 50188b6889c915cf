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

mod messages {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::slice::from_ref;

    use super::*;

    /// Asks in Anthropic's dialect, with these headers besides the key.
    fn ask_with(model: &Model, headers: &str, body: &Value) -> (u16, String) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(model.address).unwrap();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-api-key: {KEY}\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer)
    }

    fn body(messages: &Value) -> Value {
        json!({
            "model": "m", "max_tokens": 9, "stream": true, "metadata": {"user_id": "k"},
            "messages": messages,
        })
    }

    fn ask(model: &Model, messages: &Value) -> (u16, String) {
        ask_with(model, "anthropic-version: 2023-06-01\r\n", &body(messages))
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn user(blocks: &[Value]) -> Value {
        json!({"role": "user", "content": blocks})
    }

    fn assistant(blocks: &[Value]) -> Value {
        json!({"role": "assistant", "content": blocks})
    }

    fn call(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "t", "input": {}})
    }

    fn result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
    }

    /// The thought of an answer, as a client stores it.
    fn thought(answer: &str) -> Value {
        let signature = answer.split("\"signature\":\"").nth(2).unwrap().split('"').next().unwrap();
        json!({"type": "thinking", "thinking": "I wonder.", "signature": signature})
    }

    #[test]
    fn an_answer_is_a_stream_of_this_dialects_events() {
        let model = Model::start(&Bell::new());
        let args = json!({"x": 1});
        model.script(
            Takes::All,
            [say("hello there").thinking("I wonder.").and_call("t", &args), status(529, "full")],
        );
        let (code, answer) = ask(&model, &json!([user(&[text("a")])]));
        assert_eq!(code, 200);
        let events: Vec<&str> =
            answer.lines().filter_map(|line| line.trim().strip_prefix("event: ")).collect();
        assert_eq!(events.first(), Some(&"message_start"));
        assert_eq!(events.last(), Some(&"message_stop"));
        assert!(answer.contains("\"signature_delta\"") && answer.contains("\"partial_json\""));
        assert!(answer.contains("\"stop_reason\":\"tool_use\""));
        let (code, answer) = ask(&model, &json!([user(&[text("a")])]));
        assert!(code == 529 && answer.contains("overloaded_error"), "{answer}");
        assert_eq!(model.problems(), Vec::<String>::new());
    }

    #[test]
    fn requests_that_the_real_server_refuses_are_found() {
        let model = Model::start(&Bell::new());
        let (a, b) = (text("a"), text("b"));
        let said =
            |blocks: &[Value]| json!([user(&[text("a")]), assistant(blocks), user(&[text("b")])]);
        let mut marked = vec![text("a"); 5];
        for block in &mut marked {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        for (messages, fault) in [
            (json!([]), "at least one message"),
            (json!([assistant(&[text("a")])]), "must alternate"),
            (json!([user(&[text("a")]), user(&[text("b")])]), "must alternate"),
            (json!([user(&[text("a")]), assistant(&[text("b")])]), "end with a user message"),
            (json!([user(&[text(" ")])]), "non-whitespace"),
            (json!([user(&[])]), "must not be empty"),
            (json!([user(&marked)]), "Found 5"),
            (said(&[call("1")]), "without `tool_result` blocks"),
            (json!([user(&[result("1")])]), "unexpected `tool_use_id`"),
            (
                json!([
                    user(from_ref(&a)),
                    assistant(&[call("1")]),
                    user(&[b.clone(), result("1")])
                ]),
                "must come before",
            ),
            (
                json!([
                    user(from_ref(&a)),
                    assistant(&[call("1"), call("1")]),
                    user(&[result("1")])
                ]),
                "must be unique",
            ),
            (said(&[call("a b")]), "should match pattern"),
            (
                said(&[json!({"type": "thinking", "thinking": "x", "signature": "s"})]),
                "final block",
            ),
            (
                said(&[json!({"type": "thinking", "thinking": "x", "signature": "s"}), b.clone()]),
                "Invalid `signature`",
            ),
        ] {
            let (code, answer) = ask(&model, &messages);
            assert!(
                code == 400 && answer.contains("invalid_request_error"),
                "{messages}: {answer}"
            );
            let failures = model.take_failures().join("\n");
            assert!(failures.contains(fault), "{messages}: {failures}");
        }
        let mut without = body(&json!([user(from_ref(&a))]));
        without["max_tokens"] = Value::Null;
        ask_with(&model, "anthropic-version: 2023-06-01\r\n", &without);
        assert!(model.take_failures()[0].contains("max_tokens"));
        for version in ["", "anthropic-version: 2099-01-01\r\n"] {
            ask_with(&model, version, &body(&json!([user(from_ref(&a))])));
            assert!(model.take_failures()[0].contains("not a valid version"));
        }
    }

    #[test]
    fn a_thought_is_taken_back_as_it_was_and_where_it_was() {
        let model = Model::start(&Bell::new());
        model.rule(Takes::All, |_| say("hello").thinking("I wonder."));
        let first = user(&[text("a")]);
        let thought = thought(&ask(&model, &json!([first])).1);
        let with = |first: &Value, thought: &Value| {
            json!([first, assistant(&[thought.clone(), text("hello")]), user(&[text("b")])])
        };
        assert_eq!(ask(&model, &with(&first, &thought)).0, 200);
        let mut changed = thought.clone();
        changed["thinking"] = "I wonder!".into();
        assert_eq!(ask(&model, &with(&first, &changed)).0, 400);
        assert!(model.take_failures()[0].contains("was changed"));

        let elsewhere = user(&[text("A")]);
        model.announce_break();
        assert_eq!(ask(&model, &with(&elsewhere, &thought)).0, 200, "it is not bound");
        model.bind_thoughts();
        let (code, answer) = ask(&model, &with(&elsewhere, &thought));
        assert!(code == 400 && answer.contains("bound to a different conversation"), "{answer}");
        let mut dropping = body(&with(&elsewhere, &thought));
        dropping["thinking"] = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        let headers = "anthropic-version: 2023-06-01\r\nanthropic-beta: thinking-binding-controls-2026-08-01\r\n";
        assert_eq!(ask_with(&model, headers, &dropping).0, 200);
        model.announce_break();
        assert_eq!(ask(&model, &with(&first, &thought)).0, 200, "at its place it is taken");

        model.forget_signatures();
        let (code, answer) = ask(&model, &with(&first, &thought));
        assert!(code == 400 && answer.contains("Invalid `signature`"), "{answer}");
        assert_eq!(model.problems(), Vec::<String>::new());
    }
}
