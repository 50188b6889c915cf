use atlas_core::message::Call;
use serde_json::json;

use super::*;

fn assembled(chunks: &[Value]) -> Result<Answer, ModelError> {
    let mut assembly = Assembly::new();
    for chunk in chunks {
        assembly.add(chunk.clone())?;
    }
    assembly.finish("signer")
}

fn delta(delta: Value) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn ends(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn raw(answer: &Answer) -> &str {
    answer.blocks.as_ref().map_or("", |blocks| &blocks.raw)
}

#[test]
fn text_and_calls_become_one_message_that_can_be_replayed() {
    let answer = assembled(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": "I keep "})),
        delta(json!({"content": "it."})),
        delta(json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "memory", "arguments": ""}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":1}"}}]})),
        ends("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}}),
    ])
    .unwrap();
    assert_eq!(answer.text, "I keep it.");
    assert_eq!(answer.end, End::Finished);
    assert_eq!(
        answer.calls,
        [Call { id: "a".into(), name: "memory".into(), arguments: "{\"x\":1}".into() }]
    );
    assert_eq!(answer.tokens, Tokens { input: 10, cached: 8, cache_write: 0, output: 4 });
    assert_eq!(
        raw(&answer),
        r#"{"role":"assistant","content":"I keep it.","tool_calls":[{"id":"a","type":"function","function":{"name":"memory","arguments":"{\"x\":1}"}}]}"#
    );
    assert_eq!(answer.blocks.unwrap().signer, "signer");
}

// Case 76: signatures stored verbatim and returned.
#[test]
fn case_76_fields_that_nobody_told_us_of_are_kept_in_their_order() {
    let answer = assembled(&[
        delta(json!({"role": "assistant", "content": null, "reasoning_content": "I "})),
        delta(json!({"reasoning_content": "think"})),
        delta(json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "I "}]})),
        delta(json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "think", "signature": "c2ln"}]})),
        delta(json!({"content": "Yes.", "extra_content": {"google": {"thought_signature": "Zm9v"}}, "refusal": null, "function_call": null})),
        ends("stop"),
    ])
    .unwrap();
    assert_eq!(answer.text, "Yes.");
    assert_eq!(
        raw(&answer),
        r#"{"role":"assistant","content":"Yes.","reasoning_content":"I think","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I think","signature":"c2ln"}],"extra_content":{"google":{"thought_signature":"Zm9v"}}}"#
    );
}

#[test]
fn reasoning_is_never_in_the_text() {
    let parts = assembled(&[
        delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})),
        delta(json!({"content": [{"type": "text", "text": "Hel"}]})),
        delta(json!({"content": "lo."})),
        ends("stop"),
    ])
    .unwrap();
    assert_eq!(parts.text, "Hello.");
    assert_eq!(
        raw(&parts),
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hello."}]}"#
    );
    let tagged =
        assembled(&[delta(json!({"content": "<think>hm</think>\n\nHello."})), ends("stop")])
            .unwrap();
    assert_eq!(tagged.text, "Hello.");
    assert_eq!(raw(&tagged), r#"{"role":"assistant","content":"<think>hm</think>\n\nHello."}"#);
    let untagged =
        assembled(&[delta(json!({"content": "hm\n</think>\n\nHello."})), ends("stop")]).unwrap();
    assert_eq!(untagged.text, "Hello.");
}

#[test]
fn every_word_for_an_end_is_an_end() {
    for (reason, expected) in [
        ("stop", End::Finished),
        ("tool_calls", End::Finished),
        ("function_call", End::Finished),
        ("end_turn", End::Finished),
        ("something_new", End::Finished),
        ("length", End::Length),
        ("MAX_TOKENS", End::Length),
        ("model_length", End::Length),
        ("content_filter", End::ContentFilter),
        ("refusal", End::Refusal),
        ("pause_turn", End::Paused),
    ] {
        let answer = assembled(&[delta(json!({"content": "a"})), ends(reason)]).unwrap();
        assert_eq!(answer.end, expected, "{reason}");
        assert_eq!(answer.text, "a");
    }
    for reason in ["error", "abort"] {
        let answer = assembled(&[delta(json!({"content": "a"})), ends(reason)]);
        assert!(matches!(answer, Err(ModelError::Truncated(_))), "{reason}");
    }
}

#[test]
fn a_stream_without_an_end_is_no_answer() {
    for chunks in [
        vec![],
        vec![delta(json!({"content": "Half"}))],
        vec![delta(json!({"content": "Half"})), ends("")],
        vec![delta(
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "memory", "arguments": "{}"}}]}),
        )],
    ] {
        assert!(matches!(assembled(&chunks), Err(ModelError::Truncated(_))), "{chunks:?}");
    }
}

#[test]
fn an_answer_that_reached_its_limit_holds_no_half_call() {
    let answer = assembled(&[
        delta(json!({"content": "I keep", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "memory", "arguments": "{\"x\":"}}]})),
        ends("length"),
    ])
    .unwrap();
    assert_eq!((&answer.end, answer.calls.len()), (&End::Length, 0));
    assert_eq!(raw(&answer), r#"{"role":"assistant","content":"I keep"}"#);
}

#[test]
fn a_refusal_is_said_and_kept() {
    let answer = assembled(&[
        delta(json!({"role": "assistant", "content": null, "refusal": "I "})),
        delta(json!({"refusal": "cannot."})),
        ends("stop"),
    ])
    .unwrap();
    assert_eq!((answer.text.as_str(), answer.end.clone()), ("I cannot.", End::Refusal));
    assert_eq!(raw(&answer), r#"{"role":"assistant","content":null,"refusal":"I cannot."}"#);
}

// Case 80: what is done about it is the engine's.
#[test]
fn case_80_an_answer_with_nothing_in_it_leaves_nothing_to_replay() {
    for chunks in [
        vec![ends("stop")],
        vec![delta(json!({"role": "assistant", "content": ""})), ends("stop")],
        vec![
            delta(
                json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "", "arguments": "{}"}}]}),
            ),
            ends("tool_calls"),
        ],
        vec![delta(json!({"tool_calls": []})), ends("stop")],
    ] {
        let answer = assembled(&chunks).unwrap();
        assert_eq!((answer.text.as_str(), answer.calls.len(), &answer.blocks), ("", 0, &None));
        assert_eq!(answer.end, End::Finished);
    }
}

#[test]
fn an_older_function_call_is_a_call() {
    let answer = assembled(&[
        delta(json!({"function_call": {"name": "memory", "arguments": ""}})),
        delta(json!({"function_call": {"arguments": "{\"x\":1}"}})),
        ends("function_call"),
    ])
    .unwrap();
    assert_eq!((answer.calls.len(), answer.calls[0].arguments.as_str()), (1, "{\"x\":1}"));
    assert!(raw(&answer).contains("\"tool_calls\"") && !raw(&answer).contains("function_call\""));
}

#[test]
fn costs_are_read_in_every_spelling() {
    for (usage, expected) in [
        (json!({"prompt_tokens": 9, "completion_tokens": 2}), (9, 0, 0, 2)),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 7, "prompt_cache_miss_tokens": 2}),
            (9, 7, 0, 2),
        ),
        (json!({"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 6}), (9, 6, 0, 2)),
        (
            json!({"prompt_tokens": 9.0, "completion_tokens": 2, "prompt_tokens_details": null}),
            (9, 0, 0, 2),
        ),
        (
            json!({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 4}}),
            (9, 1, 4, 0),
        ),
    ] {
        let last = json!({"choices": [], "usage": usage});
        let answer = assembled(&[delta(json!({"content": "a"})), ends("stop"), last]).unwrap();
        let tokens = answer.tokens;
        assert_eq!((tokens.input, tokens.cached, tokens.cache_write, tokens.output), expected);
    }
    let in_choice = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop", "usage": {"prompt_tokens": 3}}]});
    assert_eq!(assembled(&[in_choice]).unwrap().tokens.input, 3);
}

#[test]
fn an_error_inside_the_stream_is_the_servers_failure() {
    for (error, expected) in [
        (json!({"message": "Rate limited", "code": 429}), "busy"),
        (json!({"message": "overloaded", "type": "overloaded_error"}), "busy"),
        (json!({"message": "no credit", "code": 402}), "credit"),
        (json!({"message": "quota", "type": "insufficient_quota"}), "credit"),
        (json!({"message": "too long", "code": "context_length_exceeded"}), "too long for"),
        (json!({"message": "boom", "type": "server_error"}), "reached"),
        (json!("boom"), "reached"),
    ] {
        let chunks = [delta(json!({"content": "Half"})), json!({"error": error, "choices": []})];
        let why = assembled(&chunks).unwrap_err().to_string();
        assert!(why.contains(expected), "{error}: {why}");
    }
    let quiet =
        json!({"error": null, "choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]});
    assert_eq!(assembled(&[quiet]).unwrap().text, "a");
}

#[test]
fn other_choices_are_not_read() {
    let answer = assembled(&[
        json!({"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}),
        ends("stop"),
    ])
    .unwrap();
    assert_eq!(answer.text, "a");
}

#[test]
fn a_message_repeated_beside_its_pieces_is_read_once() {
    let both = |piece: &str, so_far: &str, reason: Value| {
        json!({"choices": [{"index": 0, "finish_reason": reason,
            "message": {"role": "assistant", "content": so_far},
            "delta": {"role": "assistant", "content": piece}}]})
    };
    let answer = assembled(&[
        both("Hel", "Hel", Value::Null),
        both("lo.", "Hello.", Value::Null),
        both("", "Hello.", "stop".into()),
        json!({"choices": [{"index": 0, "delta": {}, "message": {"content": "Hello."}}]}),
    ]);
    assert_eq!(answer.unwrap().text, "Hello.");
    let whole = assembled(&[json!({"choices": [{"index": 0, "finish_reason": "stop",
        "delta": {}, "message": {"role": "assistant", "content": "Hello."}}]})]);
    assert_eq!(whole.unwrap().text, "Hello.");
}

#[test]
fn an_error_that_stands_alone_in_the_stream_is_told() {
    let error = json!({"object": "error", "message": "The engine is dead", "code": 500});
    let told = assembled(&[delta(json!({"content": "Hel"})), error]).unwrap_err();
    assert!(told.to_string().contains("The engine is dead"), "{told}");
}
