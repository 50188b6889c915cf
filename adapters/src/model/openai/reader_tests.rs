use proptest::prelude::*;
use serde_json::{Value, json};

use super::assemble::Assembly;
use super::*;
use crate::model::reader::Reader;

fn read(chunks: &[&[u8]]) -> (Result<Answer, ModelError>, String) {
    let mut heard = String::new();
    let mut deltas = |Delta::Text(text): Delta| heard.push_str(&text);
    let mut reader = Reader::new(Assembly::new());
    for chunk in chunks {
        if let Err(error) = reader.push(chunk, &mut deltas) {
            return (Err(error), heard);
        }
    }
    let answer = reader.finish("signer", &mut deltas);
    (answer, heard)
}

fn stream() -> String {
    let chunk = |delta: Value, reason: Value| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        format!("data: {chunk}\r\n\r\n")
    };
    [
        "\u{feff}: keep-alive\r\n\r\n".to_owned(),
        chunk(json!({"role": "assistant", "content": "<think>é"}), Value::Null),
        chunk(json!({"content": "</think>Grü"}), Value::Null),
        chunk(json!({"content": "ße 🐈", "x": "y"}), Value::Null),
        chunk(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "memory", "arguments": "{\"k\":\"ü\"}"}}]}), Value::Null),
        ": OPENROUTER PROCESSING\r\n\r\n".to_owned(),
        chunk(json!({}), json!("tool_calls")),
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\r\n\r\ndata: [DONE]\r\n\r\n".to_owned(),
    ]
    .concat()
}

#[test]
fn it_does_not_matter_where_the_bytes_are_cut() {
    let text = stream();
    let (whole, heard) = read(&[text.as_bytes()]);
    let whole = whole.unwrap();
    assert_eq!((whole.text.as_str(), heard.as_str()), ("Grüße 🐈", "Grüße 🐈"));
    assert_eq!(whole.calls[0].arguments, "{\"k\":\"ü\"}");
    for at in 0..=text.len() {
        let (before, after) = text.as_bytes().split_at(at);
        let (answer, again) = read(&[before, after]);
        assert_eq!(
            (answer.unwrap(), again.as_str()),
            (whole.clone(), heard.as_str()),
            "cut at {at}"
        );
    }
}

#[test]
fn a_stream_that_breaks_off_anywhere_before_its_end_is_no_answer() {
    let text = stream();
    let end = text.find("\"finish_reason\":\"tool_calls\"").unwrap();
    for at in 0..end {
        let (answer, _) = read(&[&text.as_bytes()[..at]]);
        assert!(matches!(answer, Err(ModelError::Truncated(_))), "cut at {at}: {answer:?}");
    }
}

#[test]
fn an_answer_in_one_piece_is_taken_too() {
    let body = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello.", "annotations": []}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let (answer, heard) = read(&[format!("\n {body}").as_bytes()]);
    let answer = answer.unwrap();
    assert_eq!(
        (answer.text.as_str(), heard.as_str(), answer.tokens.input),
        ("Hello.", "Hello.", 3)
    );
    let (answer, _) = read(&[br#"{"choices":[{"message":{"content":"Hello."}}]}"#]);
    assert_eq!(answer.unwrap().text, "Hello.");
    let (answer, _) = read(&[br#"{"choices":[{"message":{"content":"Hel"#]);
    assert!(matches!(answer, Err(ModelError::Truncated(_))));
}

#[test]
fn what_is_no_answer_at_all_says_where_to_look() {
    let (answer, _) = read(&[br#"{"hello":"world"}"#]);
    assert!(answer.unwrap_err().to_string().contains("base_url"));
    let (answer, _) = read(&[br#"{"error":{"message":"model not loaded","code":503}}"#]);
    assert!(matches!(answer, Err(ModelError::Busy { .. })));
    let (answer, _) = read(&[b"event: error\ndata: {\"message\":\"boom\",\"code\":500}\n\n"]);
    assert!(matches!(answer, Err(ModelError::Unreachable(_))));
    let (answer, _) = read(&[b"data: {not json}\n\n"]);
    assert!(matches!(answer, Err(ModelError::Truncated(_))));
}

#[test]
fn an_endless_event_is_stopped() {
    let mut reader = Reader::new(Assembly::new());
    let piece = vec![b'x'; 1 << 20];
    reader.push(b"data: ", &mut |_| {}).unwrap();
    let stopped = (0..16).find_map(|_| reader.push(&piece, &mut |_| {}).err());
    assert!(matches!(stopped, Some(ModelError::Truncated(_))));
}

proptest! {
    #[test]
    fn no_chunk_makes_it_fail(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("data: ".to_owned()), Just("\n\n".to_owned()), Just("[DONE]".to_owned()),
                Just(r#"{"choices":[{"delta":{"content":"#.to_owned()), Just("\"a\"".to_owned()), Just("}".to_owned()),
                Just("]".to_owned()), Just(r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]},"finish_reason":"stop"}]}"#.to_owned()),
                Just(r#"{"choices":[{"delta":{"tool_calls":[3,null,{"function":4}],"function_call":"x","role":7}}]}"#.to_owned()),
                Just(r#"{"choices":5,"usage":[],"error":{}}"#.to_owned()), ".{0,4}",
            ],
            0..16,
        )
    ) {
        let text = pieces.concat();
        let _ = read(&[text.as_bytes()]);
    }
}
