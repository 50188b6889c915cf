use std::sync::Arc;

use atlas_core::access::Standing;
use atlas_core::ids::{ChatKey, InboxId};
use atlas_core::message::Part;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const SIGNER: &str = "anthropic|here|m";

fn server() -> Server<'static> {
    Server {
        model: "m",
        signer: SIGNER,
        max_output: 100,
        drops_reasoning: false,
        cache_ttl: CacheTtl::FiveMinutes,
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
    let (text, outside) = (text.to_owned(), false);
    Body::User { parts: vec![Part::Said { inbox, place, standing, header, text, outside }] }
}

fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: "memory".into(), arguments: arguments.into() }
}

fn assistant(text: &str, calls: Vec<Call>, blocks: Option<(&str, &str)>) -> Body {
    let blocks = blocks.map(|(signer, raw)| Blocks { signer: signer.into(), raw: raw.into() });
    Body::Assistant { text: text.into(), calls, blocks }
}

fn result(id: &str, text: &str) -> Body {
    Body::Tool { call: id.into(), name: "memory".into(), text: text.into(), outside: false }
}

fn rendered(request: &ModelRequest) -> String {
    String::from_utf8(render(request, &server()).unwrap()).unwrap()
}

fn sent(messages: Vec<Body>) -> Vec<Value> {
    let body: Value = serde_json::from_str(&rendered(&request(messages))).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// Whose block it is, and the block without its mark.
fn blocks(messages: &[Value]) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for message in messages {
        for block in message["content"].as_array().unwrap() {
            let mut block = block.clone();
            block.as_object_mut().unwrap().shift_remove("cache_control");
            blocks.push((message["role"].to_string(), block.to_string()));
        }
    }
    blocks
}

const OWN: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm  é","signature":"c2ln"},{"type":"text","text":"I do."},{"type":"tool_use","id":"a","name":"memory","input":{ "x" : 1.0 }}]}"#;

#[test]
fn fields_have_one_order_and_the_providers_blocks_go_back_byte_for_byte() {
    let rows = vec![
        user("Hi."),
        assistant("I do.", vec![call("a", "{ \"x\" : 1.0 }")], Some((SIGNER, OWN))),
        result("a", "Done."),
    ];
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let expected = [
        r#"{"model":"m","max_tokens":100,"stream":true,"metadata":{"user_id":"home-7"},"tools":[{"name":"memory","description":"Keeps facts.","input_schema":{"type":"object","properties":{"z":{},"a":{}}}}],"system":[{"type":"text","text":"Be kind.","#,
        mark,
        r#"}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi.","#,
        mark,
        r#"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm  é","signature":"c2ln"},{"type":"text","text":"I do."},{"type":"tool_use","id":"a","name":"memory","input":{ "x" : 1.0 }}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"Done.","#,
        mark,
        r#"}]}]}"#,
    ];
    assert_eq!(rendered(&request(rows)), expected.concat());
}

#[test]
fn results_and_what_was_said_meanwhile_are_one_message_right_after_the_calls() {
    let rows = vec![
        user("One."),
        user("Two."),
        assistant("", vec![call("a", "{}"), call("b", "{\"x\":1}")], None),
        result("a", "A."),
        result("b", ""),
        user("Three."),
        assistant("Kept.", vec![], None),
        assistant("(stopped)", vec![], None),
        user("Four."),
    ];
    let sent = sent(rows);
    let roles: Vec<&str> = sent.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let kinds = |at: usize| -> Vec<String> {
        let content = sent[at]["content"].as_array().unwrap();
        content.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(0), ["text", "text"]);
    assert_eq!(kinds(1), ["tool_use", "tool_use"]);
    assert_eq!(kinds(2), ["tool_result", "tool_result", "text"]);
    assert_eq!(sent[2]["content"][1]["content"], "(no output)");
    assert_eq!(kinds(3), ["text", "text"]);
}

#[test]
fn another_signers_message_is_given_as_words_and_calls() {
    let odd = "functions.memory:0";
    let rows = vec![
        user("Hi."),
        assistant("I do.", vec![call(odd, "{\"x")], Some(("openai|there|m", "{\"secret\":1}"))),
        result(odd, "Done."),
        assistant("Kept.", vec![], Some(("anthropic|here|other", OWN))),
        user("On."),
    ];
    let sent = sent(rows);
    let call = &sent[1]["content"][1];
    assert_eq!(call["input"], json!({"_unparsed": "{\"x"}));
    let id = call["id"].as_str().unwrap();
    assert!(id.chars().all(is_plain) && sent[2]["content"][0]["tool_use_id"] == id, "{id}");
    assert_eq!(sent[3]["content"], json!([{"type": "text", "text": "Kept."}]));
    assert!(!rendered(&request(vec![user("Hi."), assistant("", vec![], None)])).contains("secret"));
}

#[test]
fn a_message_that_was_mended_is_not_replayed_as_it_was() {
    let rows = vec![user("Hi."), assistant("I do.", vec![], Some((SIGNER, OWN))), user("On.")];
    assert_eq!(sent(rows)[1]["content"], json!([{"type": "text", "text": "I do."}]));
    let broken = assistant("I do.", vec![], Some((SIGNER, "not json")));
    assert_eq!(sent(vec![user("Hi."), broken, user("On.")])[1]["content"][0]["text"], "I do.");
    let thoughts =
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}"#;
    let only = assistant("", vec![], Some((SIGNER, thoughts)));
    assert_eq!(sent(vec![user("Hi."), only, user("On.")])[1]["content"][0]["text"], "(no answer)");
}

#[test]
fn without_reasoning_the_rest_of_the_message_stays_as_it_was() {
    let mut request = request(vec![
        user("Hi."),
        assistant("I do.", vec![call("a", "{}")], Some((SIGNER, OWN))),
        result("a", "Done."),
    ]);
    request.reasoning = false;
    let text = rendered(&request);
    assert!(!text.contains("thinking") && text.contains(r#""input":{ "x" : 1.0 }}"#), "{text}");
}

#[test]
fn what_is_empty_is_never_sent() {
    let mut request = request(vec![user(" "), assistant("", vec![], None), user("")]);
    request.system = " ".into();
    let text = rendered(&request);
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body.get("system"), None);
    assert_eq!(body["tools"][0]["cache_control"]["type"], "ephemeral", "the tools carry the mark");
    for (_, block) in blocks(body["messages"].as_array().unwrap()) {
        assert!(!block.contains(r#""text":"""#) && !block.contains(r#""text":" ""#), "{block}");
    }
    request.tools = Arc::new([]);
    request.cache_key = String::new();
    let body: Value = serde_json::from_str(&rendered(&request)).unwrap();
    assert_eq!((body.get("tools"), body.get("metadata")), (None, None));
}

#[test]
fn a_person_speaks_first() {
    for rows in [vec![], vec![assistant("Before.", vec![], None), user("Hi.")]] {
        assert_eq!(sent(rows)[0]["role"], "user");
    }
}

#[test]
fn a_mark_says_how_long_it_is_kept_and_the_server_what_it_passes_over() {
    let hour = Server { cache_ttl: CacheTtl::Hour, drops_reasoning: true, ..server() };
    let body = render(&request(vec![user("Hi.")]), &hour).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], mark);
    assert_eq!(body["thinking"]["block_binding"]["prefix_mismatch_behavior"], "drop_block");
}

#[test]
fn names_of_tools_that_nobody_takes_are_evened_out() {
    for (written, expected) in
        [("memory", "memory"), ("", "unknown"), ("memory.add x", "memory_add_x")]
    {
        assert_eq!(name(written), expected);
    }
    assert_eq!(name(&"n".repeat(300)).len(), NAME);
}

fn rows() -> impl Strategy<Value = Vec<Body>> {
    let turn = (any::<String>(), any::<String>(), any::<String>(), 0..4_u8, 1..24_usize);
    let turn = turn.prop_map(|(said, arguments, text, kind, calls)| {
        let mut turn = vec![user(&said)];
        if kind > 0 {
            let calls: Vec<Call> = (0..calls).map(|at| call(&format!("a{at}"), &arguments)).collect();
            let thought = json!({"type": "thinking", "thinking": said, "signature": text});
            let uses = calls.iter().map(|call| {
                json!({"type": "tool_use", "id": call.id, "name": "memory", "input": {"x": arguments}})
            });
            let content: Vec<Value> = std::iter::once(thought).chain(uses).collect();
            let raw = json!({"role": "assistant", "content": content}).to_string();
            let results: Vec<Body> = calls.iter().map(|call| result(&call.id, &text)).collect();
            turn.push(assistant("", calls, (kind == 1).then_some((SIGNER, &raw))));
            turn.extend(results);
            if kind == 3 {
                turn.push(user(&text));
            }
        }
        turn.push(assistant(&text, vec![], None));
        turn
    });
    proptest::collection::vec(turn, 1..4).prop_map(|turns| turns.concat())
}

proptest! {
    #[test]
    fn what_was_sent_is_block_by_block_the_beginning_of_what_is_sent_next(rows in rows()) {
        let whole = blocks(&sent([rows.clone(), vec![user("end")]].concat()));
        for end in 1..rows.len() {
            if matches!(rows[end], Body::Assistant { .. }) {
                let earlier = blocks(&sent(rows[..end].to_vec()));
                prop_assert_eq!(&whole[..earlier.len()], &earlier[..]);
            }
        }
    }

    #[test]
    fn the_end_of_every_request_is_marked_in_the_next_one(rows in rows()) {
        let rows = [rows, vec![user("end")]].concat();
        let mut before = None;
        for end in 1..=rows.len() {
            if end < rows.len() && !matches!(rows[end], Body::Assistant { .. }) {
                continue;
            }
            let text = rendered(&request(rows[..end].to_vec()));
            prop_assert!(text.matches("cache_control").count() <= 4);
            let messages = sent(rows[..end].to_vec());
            let marks: Vec<usize> = messages
                .iter()
                .flat_map(|message| message["content"].as_array().unwrap())
                .enumerate()
                .filter(|(_, block)| block.get("cache_control").is_some())
                .map(|(at, _)| at)
                .collect();
            if let Some(before) = before {
                prop_assert!(marks.contains(&before), "{before} {marks:?}");
            }
            let newest = blocks(&messages).len() - 1;
            prop_assert_eq!(marks.last(), Some(&newest));
            before = Some(newest);
        }
    }
}
