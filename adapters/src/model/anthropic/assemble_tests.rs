use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fed(events: &[Value]) -> Result<(Answer, String), ModelError> {
    let (mut assembly, mut shown) = (Assembly::default(), String::new());
    for event in events {
        shown.push_str(&assembly.event("", event.clone())?);
    }
    Ok((assembly.finish("signer")?, shown))
}

fn answer(events: &[Value]) -> Answer {
    fed(events).unwrap().0
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ends(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}})
}

fn raw(answer: &Answer) -> &str {
    answer.blocks.as_ref().map_or("", |blocks| &blocks.raw)
}

/// Reasoning, words and a call, as a server streams them.
fn whole() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "stop_reason": null, "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "They like "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "tea. é\n"})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQBCkYIARgCKkA=="})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "c2VjcmV0"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "I keep "})),
        delta(2, json!({"type": "text_delta", "text": "it."})),
        stop(2),
        json!({"type": "weather_report", "sun": true}),
        start(
            3,
            json!({"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {}, "caller": {"type": "direct"}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"fact\": \"te"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "a\",\"n\":1.0}"})),
        stop(3),
        ends("tool_use"),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn blocks_are_stored_as_they_came_and_the_models_own_json_stays_its_own() {
    let (answer, shown) = fed(&whole()).unwrap();
    assert_eq!((answer.text.as_str(), shown.as_str()), ("I keep it.", "I keep it."));
    assert_eq!(answer.end, End::Finished);
    let call = &answer.calls[0];
    assert_eq!((call.id.as_str(), call.name.as_str()), ("toolu_1", "memory"));
    assert_eq!(call.arguments, r#"{"fact": "tea","n":1.0}"#);
    assert_eq!(
        raw(&answer),
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"They like tea. é\n","signature":"EqQBCkYIARgCKkA=="},{"type":"redacted_thinking","data":"c2VjcmV0"},{"type":"text","text":"I keep it."},{"type":"tool_use","id":"toolu_1","name":"memory","input":{"fact": "tea","n":1.0},"caller":{"type":"direct"}}]}"#
    );
    assert_eq!(answer.blocks.unwrap().signer, "signer");
}

#[test]
fn what_was_read_from_the_cache_and_written_to_it_is_input_too() {
    let tokens = answer(&whole()).tokens;
    assert_eq!(tokens, Tokens { input: 125, cached: 100, cache_write: 20, output: 9 });
    let late = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 7, "cache_read_input_tokens": null, "output_tokens": 2}});
    let text = start(0, json!({"type": "text", "text": "a"}));
    assert_eq!(answer(&[text, late]).tokens, Tokens { input: 7, output: 2, ..Tokens::default() });
}

#[test]
fn a_call_without_input_has_an_empty_object_and_a_broken_one_reaches_core_as_it_is() {
    for (pieces, to_core, to_servers) in [
        (vec![], "{}", "{}"),
        (vec![""], "{}", "{}"),
        (vec!["{\"x\":", "1}"], "{\"x\":1}", "{\"x\":1}"),
        (vec!["{\"x\":"], "{\"x\":", r#"{"_unparsed":"{\"x\":"}"#),
        (vec!["[1]"], "[1]", r#"{"_unparsed":"[1]"}"#),
    ] {
        let mut events =
            vec![start(0, json!({"type": "tool_use", "id": "a", "name": "t", "input": {}}))];
        for piece in &pieces {
            events.push(delta(0, json!({"type": "input_json_delta", "partial_json": piece})));
        }
        events.extend([stop(0), ends("tool_use")]);
        let answer = answer(&events);
        assert_eq!(answer.calls[0].arguments, to_core, "{pieces:?}");
        assert!(raw(&answer).contains(&format!("\"input\":{to_servers}}}")), "{}", raw(&answer));
    }
}

#[test]
fn half_a_call_of_a_cut_answer_is_left_out_and_so_is_reasoning_that_nothing_follows() {
    let thinking = start(0, json!({"type": "thinking", "thinking": "hm", "signature": "s"}));
    let half = [
        start(1, json!({"type": "tool_use", "id": "a", "name": "t", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"x\":"})),
    ];
    let [begun, piece] = half;
    let cut = answer(&[thinking.clone(), begun, piece, ends("max_tokens")]);
    assert_eq!((cut.end, cut.calls.len(), cut.blocks), (End::Length, 0, None));
    let empty = start(1, json!({"type": "tool_use", "id": "a", "name": "t", "input": {}}));
    assert!(answer(&[empty.clone(), ends("max_tokens")]).calls.is_empty());
    assert_eq!(answer(&[empty, stop(1), ends("max_tokens")]).calls.len(), 1);
    let said = answer(&[
        start(0, json!({"type": "text", "text": "So."})),
        start(1, json!({"type": "thinking", "thinking": "hm", "signature": "s"})),
        ends("max_tokens"),
    ]);
    assert_eq!(raw(&said), r#"{"role":"assistant","content":[{"type":"text","text":"So."}]}"#);
}

#[test]
fn every_reason_for_an_end_is_known_and_unknown_ones_are_an_end() {
    let text = start(0, json!({"type": "text", "text": "a"}));
    for (reason, expected) in [
        ("end_turn", End::Finished),
        ("tool_use", End::Finished),
        ("stop_sequence", End::Finished),
        ("max_tokens", End::Length),
        ("model_context_window_exceeded", End::Length),
        ("refusal", End::Refusal),
        ("pause_turn", End::Paused),
        ("compaction", End::Finished),
    ] {
        assert_eq!(answer(&[text.clone(), ends(reason)]).end, expected, "{reason}");
    }
}

#[test]
fn a_stream_without_an_end_is_no_answer() {
    let mut events = whole();
    events.truncate(events.len() - 2);
    let why = fed(&events).unwrap_err();
    assert!(matches!(&why, ModelError::Truncated(why) if why.contains("in the middle")), "{why}");
    let why = fed(&events[..3]).unwrap_err();
    assert!(matches!(&why, ModelError::Truncated(why) if why.contains("before anything")), "{why}");
}

#[test]
fn an_error_in_the_stream_is_what_its_type_says() {
    for (kind, busy) in [
        ("overloaded_error", true),
        ("rate_limit_error", true),
        ("api_error", false),
        ("timeout_error", false),
    ] {
        let event = json!({"type": "error", "error": {"type": kind, "message": "Sorry"}});
        let why = fed(&[start(0, json!({"type": "text", "text": "a"})), event]).unwrap_err();
        assert_eq!(matches!(why, ModelError::Busy { .. }), busy, "{kind}: {why}");
        assert_eq!(matches!(why, ModelError::Unreachable(_)), !busy, "{kind}: {why}");
        assert!(why.to_string().contains("Sorry"));
    }
}

#[test]
fn empty_texts_are_no_blocks_and_parted_texts_are_paragraphs() {
    let (answer, shown) = fed(&[
        start(0, json!({"type": "text", "text": ""})),
        stop(0),
        start(1, json!({"type": "text", "text": "One."})),
        start(2, json!({"type": "text", "text": " Two."})),
        start(3, json!({"type": "thinking", "thinking": "hm", "signature": "s"})),
        start(4, json!({"type": "text", "text": "Three."})),
        start(5, json!({"type": "text", "text": " \n"})),
        ends("end_turn"),
    ])
    .unwrap();
    assert_eq!(answer.text.trim_end(), "One. Two.\n\nThree.");
    assert_eq!(shown, answer.text);
    assert_eq!(raw(&answer).matches("\"text\":").count(), 3, "{}", raw(&answer));
}

#[test]
fn blocks_and_fields_that_nobody_knows_go_back_as_they_came() {
    let answer = answer(&[
        start(
            0,
            json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}),
        ),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"q\":1}"})),
        start(
            1,
            json!({"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"encrypted": "x"}]}),
        ),
        start(2, json!({"type": "text", "text": "", "citations": []})),
        delta(2, json!({"type": "citations_delta", "citation": {"url": "u"}})),
        delta(2, json!({"type": "text_delta", "text": "Found."})),
        delta(2, json!({"type": "glow_delta", "glow": "a"})),
        delta(2, json!({"type": "glow_delta", "glow": "b"})),
        ends("end_turn"),
    ]);
    assert!(answer.calls.is_empty());
    assert_eq!(
        raw(&answer),
        r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"srv","name":"web_search","input":{"q":1}},{"type":"web_search_tool_result","tool_use_id":"srv","content":[{"encrypted":"x"}]},{"type":"text","text":"Found.","citations":[{"url":"u"}],"glow":"ab"}]}"#
    );
}

#[test]
fn an_answer_that_is_not_streamed_is_an_answer_too() {
    let mut assembly = Assembly::default();
    let whole = json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}, {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}}], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 1}});
    assert_eq!(assembly.whole(whole).unwrap(), "Hi.");
    let answer = Assemble::finish(assembly, "signer").unwrap();
    assert_eq!((answer.calls[0].arguments.as_str(), answer.tokens.input), ("{\"x\":1}", 3));
    let why = Assembly::default().whole(json!({"hello": 1})).unwrap_err();
    assert!(why.to_string().contains("base_url"), "{why}");
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}});
    assert!(matches!(Assembly::default().whole(error), Err(ModelError::Busy { .. })));
}

proptest! {
    #[test]
    fn no_events_make_it_fail_or_make_a_message_that_is_no_json(
        events in proptest::collection::vec((0..4_u8, 0..3_u64, any::<String>(), 0..5_u8), 0..12)
    ) {
        let mut all = Vec::new();
        for (event, index, text, kind) in events {
            let block = ["text", "thinking", "tool_use", "odd", ""][usize::from(kind)];
            let piece = ["text_delta", "thinking_delta", "input_json_delta", "odd_delta", ""][usize::from(kind)];
            all.push(match event {
                0 => start(index, json!({"type": block, "text": text, "name": text, "id": text})),
                1 => delta(index, json!({"type": piece, "text": text, "partial_json": text})),
                2 => stop(index),
                _ => json!({"type": text}),
            });
        }
        all.push(ends("end_turn"));
        let answer = answer(&all);
        if let Some(blocks) = &answer.blocks {
            prop_assert!(serde_json::from_str::<Value>(&blocks.raw).is_ok(), "{}", blocks.raw);
        }
    }
}
