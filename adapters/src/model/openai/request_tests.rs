use std::sync::Arc;

use atlas_core::access::Standing;
use atlas_core::ids::{ChatKey, InboxId};
use atlas_core::message::Part;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::problem::Problem;

const SIGNER: &str = "openai|here|m";

fn server(quirks: &Quirks) -> Server<'_> {
    Server {
        model: "m",
        signer: SIGNER,
        max_output: None,
        limit_names: ["max_tokens", "max_completion_tokens"],
        strict_roles: false,
        reasoning: true,
        quirks,
    }
}

fn request(messages: Vec<Body>) -> ModelRequest {
    let spec = ToolSpec {
        name: "memory".into(),
        description: "Keeps facts.".into(),
        schema: json!({"type": "object", "properties": {"z": {}, "a": {}}}),
    };
    ModelRequest {
        system: "Be kind.".into(),
        tools: Arc::new([spec]),
        messages: messages.into_iter().map(Arc::new).collect(),
        strict_roles: false,
        reasoning: true,
        cache_key: "home-7".into(),
    }
}

fn user(text: &str) -> Body {
    let place = ChatKey { account: "tg".into(), chat: "7".into() };
    let (inbox, standing, header) = (InboxId(1), Standing::Owner, String::new());
    Body::User {
        parts: vec![Part::Said {
            inbox,
            place,
            standing,
            header,
            text: text.into(),
            outside: false,
        }],
    }
}

fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: "memory".into(), arguments: arguments.into() }
}

fn assistant(text: &str, calls: Vec<Call>, raw: Option<(&str, &str)>) -> Body {
    let blocks = raw.map(|(signer, raw)| Blocks { signer: signer.into(), raw: raw.into() });
    Body::Assistant { text: text.into(), calls, blocks }
}

fn result(call: &str, text: &str) -> Body {
    Body::Tool { call: call.into(), name: "memory".into(), text: text.into(), outside: false }
}

fn rendered(messages: Vec<Body>, change: impl FnOnce(&mut Server<'_>)) -> String {
    let quirks = Quirks::default();
    let mut server = server(&quirks);
    change(&mut server);
    String::from_utf8(render(&request(messages), &server).unwrap()).unwrap()
}

fn messages(messages: Vec<Body>, strict_roles: bool) -> Vec<Value> {
    let text = rendered(messages, |server| server.strict_roles = strict_roles);
    let body: Value = serde_json::from_str(&text).unwrap();
    body["messages"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn fields_have_one_order_and_messages_come_last() {
    let raw = r#"{"role":"assistant","content":null,"reasoning_content":"hm",  "tool_calls":[{"id":"a","type":"function","function":{"name":"memory","arguments":"{ }"},"extra_content":{"s":"1"}}]}"#;
    let rows = vec![
        user("Hi."),
        assistant("", vec![call("a", "{ }")], Some((SIGNER, raw))),
        result("a", "Done."),
        assistant("Kept.", vec![], None),
    ];
    let expected = [
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"prompt_cache_key":"home-7","tools":[{"type":"function","function":{"name":"memory","description":"Keeps facts.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi."},"#,
        raw,
        r#",{"role":"tool","tool_call_id":"a","content":"Done."},{"role":"assistant","content":"Kept."}]}"#,
    ];
    assert_eq!(rendered(rows, |server| server.max_output = Some(100)), expected.concat());
}

#[test]
fn the_limit_of_output_has_the_servers_name() {
    let own = rendered(vec![], |server| {
        server.max_output = Some(9);
        server.limit_names = ["max_completion_tokens", "max_tokens"];
    });
    assert!(own.contains(r#""max_completion_tokens":9"#) && !own.contains(r#""max_tokens""#));
    assert!(!rendered(vec![], |_| {}).contains("tokens\""));
}

#[test]
fn another_models_message_is_given_as_words_and_calls() {
    let rows = vec![
        user("Hi."),
        assistant("", vec![call("a", "{\"x\":1}")], Some(("openai|there|m", "{\"secret\":1}"))),
        result("a", "Done."),
        assistant("Kept.", vec![], Some(("anthropic|m", "{}"))),
    ];
    assert_eq!(
        messages(rows, false)[1..],
        [
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "memory", "arguments": "{\"x\":1}"}}]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "Done."}),
            json!({"role": "assistant", "content": "Kept."}),
        ]
    );
}

// Case 74: what was mended is sent as it was mended, and nothing empty or broken leaves.
#[test]
fn case_74_a_message_that_was_mended_is_not_replayed_as_it_was() {
    let raw = r#"{"role":"assistant","content":"I keep both.","tool_calls":[{"id":"a","type":"function","function":{"name":"memory","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"memory","arguments":"{\"x"}}]}"#;
    let rows = vec![
        user(" "),
        assistant("I keep both.", vec![call("a", "{}")], Some((SIGNER, raw))),
        result("a", ""),
        assistant("", vec![call("c", "{\"x")], Some((SIGNER, "not json"))),
        result("c", "No."),
        assistant("", vec![], None),
    ];
    let sent = messages(rows, false);
    let ids = |message: &Value| message["tool_calls"].as_array().unwrap().len();
    assert_eq!(sent[0]["content"], "(an empty message)");
    assert_eq!((ids(&sent[1]), &sent[1]["tool_calls"][0]["id"]), (1, &json!("a")));
    assert_eq!(sent[2]["content"], "(no output)");
    assert_eq!(sent[3]["tool_calls"][0]["function"]["arguments"], "{\"_unparsed\":\"{\\\"x\"}");
    assert_eq!(sent[5]["content"], "(no answer)");
}

#[test]
fn strict_roles_join_what_may_not_stand_side_by_side() {
    let rows = || {
        vec![
            user("One."),
            user("Two."),
            assistant("", vec![call("a", "{}"), call("b", "{}")], None),
            result("a", "A."),
            result("b", "B."),
            user("Three."),
            assistant("Kept.", vec![], Some((SIGNER, r#"{"role":"assistant","content":"Kept."}"#))),
            assistant("(stopped)", vec![], None),
            user("Four."),
        ]
    };
    let strict = messages(rows(), true);
    let said: Vec<(&str, &str)> = strict
        .iter()
        .map(|message| {
            (message["role"].as_str().unwrap(), message["content"].as_str().unwrap_or(""))
        })
        .collect();
    assert_eq!(
        said,
        [
            ("user", "One.\n\nTwo."),
            ("assistant", ""),
            ("tool", "A."),
            ("tool", "B.\n\n[Said while the tools ran]\nThree."),
            ("assistant", "Kept.\n\n(stopped)"),
            ("user", "Four."),
        ]
    );
    assert_eq!(messages(rows(), false).len(), rows().len());
}

#[test]
fn what_a_server_does_not_take_is_left_out_everywhere() {
    let raw = r#"{"role":"assistant","content":"a","reasoning":"hm","tool_calls":[{"id":"call_1","type":"function","function":{"name":"memory","arguments":"{}"},"extra":1}]}"#;
    let rows = || {
        vec![
            user("Hi."),
            assistant("a", vec![call("call_1", "{}")], Some((SIGNER, raw))),
            result("call_1", "Done."),
        ]
    };
    let mut quirks = Quirks::default();
    let sent = optional_fields(&request(rows()), &server(&quirks));
    assert_eq!(
        sent.iter().map(String::as_str).collect::<Vec<_>>(),
        ["extra", "prompt_cache_key", "reasoning", "stream_options"]
    );
    for field in ["reasoning", "extra", "prompt_cache_key"] {
        let body = format!(r#"{{"error":{{"message":"Unknown name \"{field}\""}}}}"#);
        assert!(quirks.learn(&Problem::from_body(400, body.as_bytes()), &sent));
    }
    let nine =
        r#"{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}"#;
    assert!(quirks.learn(&Problem::from_body(400, nine.as_bytes()), &sent));
    let body = render(&request(rows()), &server(&quirks)).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body.get("prompt_cache_key"), None);
    let id = body["messages"][3]["tool_call_id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(
        body["messages"][2],
        json!({"role": "assistant", "content": "a", "tool_calls": [{"id": id, "type": "function", "function": {"name": "memory", "arguments": "{}"}}]})
    );
}

#[test]
fn a_long_cache_key_is_shortened_to_the_same_one() {
    let mut long = request(vec![]);
    long.cache_key = "k".repeat(100);
    let key = cache_key(&long).unwrap().into_owned();
    assert_eq!((key.len(), Some(key.as_str())), (64, cache_key(&long).as_deref()));
}

fn bodies() -> impl Strategy<Value = Vec<Body>> {
    let turn = (any::<String>(), any::<String>(), any::<String>(), 0..3_u8).prop_map(|(said, arguments, text, kind)| {
        let mut turn = vec![user(&said)];
        if kind > 0 {
            let call = call("a", &arguments);
            let raw = json!({"role": "assistant", "content": null, "vendor": said, "tool_calls": [{"id": "a", "function": {"arguments": arguments}}]}).to_string();
            turn.push(assistant("", vec![call], (kind == 1).then_some((SIGNER, &raw))));
            turn.push(result("a", &text));
        }
        turn.push(assistant(&text, vec![], None));
        turn
    });
    proptest::collection::vec(turn, 1..4).prop_map(|turns| turns.concat())
}

proptest! {
    #[test]
    fn nothing_that_was_sent_is_rewritten(rows in bodies()) {
        let whole = rendered(rows.clone(), |_| {});
        for end in 0..rows.len() {
            let earlier = rendered(rows[..end].to_vec(), |_| {});
            let earlier = earlier.strip_suffix("]}").unwrap();
            prop_assert!(whole.starts_with(earlier), "{earlier}\n{whole}");
        }
        // With strict roles too, wherever a request can have been sent: after a person or a result.
        let strict = messages(rows.clone(), true);
        for end in 1..rows.len() {
            if matches!(rows[end], Body::Assistant { .. }) {
                let earlier = messages(rows[..end].to_vec(), true);
                prop_assert_eq!(&strict[..earlier.len()], &earlier[..]);
            }
        }
    }

    #[test]
    fn arguments_that_are_sent_are_always_an_object(arguments in any::<String>()) {
        let sent = sound(&arguments);
        prop_assert!(serde_json::from_str::<Map<String, Value>>(&sent).is_ok());
        prop_assert_eq!(sound(&sent), sent.clone());
    }
}
