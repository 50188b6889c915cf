//! Joins the pieces of fields that nobody told us of. What a vendor signs must come back to it whole
//! (reasoning, signatures, extra content), and only the shape says how it was cut.

use serde_json::{Map, Value};

/// Names that hold a label, not a text in pieces: repeated, they replace.
const LABELS: [&str; 6] = ["type", "id", "format", "role", "name", "object"];

/// Adds a piece of the field `key`: strings are joined, lists appended, objects merged, anything
/// else replaced. A null adds nothing.
pub(super) fn merge(into: &mut Map<String, Value>, key: &str, piece: Value) {
    if piece.is_null() {
        return;
    }
    match into.get_mut(key) {
        Some(held) => join(key, held, piece),
        None => {
            let mut fresh = empty_like(&piece);
            join(key, &mut fresh, piece);
            into.insert(key.to_owned(), fresh);
        }
    }
}

/// What a first piece is joined to, so that a list is built by the same rules from its first item on.
fn empty_like(piece: &Value) -> Value {
    if piece.is_array() { Value::Array(Vec::new()) } else { Value::Null }
}

fn join(key: &str, held: &mut Value, piece: Value) {
    match (held, piece) {
        (Value::String(held), Value::String(piece)) => {
            if LABELS.contains(&key) {
                *held = piece;
            } else {
                held.push_str(&piece);
            }
        }
        (Value::Array(held), Value::Array(piece)) => {
            piece.into_iter().for_each(|item| append(held, item));
        }
        (Value::Array(held), Value::String(text)) if !text.is_empty() => {
            append(held, serde_json::json!({"type": "text", "text": text}));
        }
        (Value::Array(_), Value::String(_)) => {}
        // The same object again is a repetition, not a second half.
        (Value::Object(held), Value::Object(piece)) if *held == piece => {}
        (Value::Object(held), Value::Object(piece)) => {
            piece.into_iter().for_each(|(key, value)| merge(held, &key, value));
        }
        (held @ Value::String(_), Value::Array(piece)) => {
            let text = held.take();
            *held = Value::Array(Vec::new());
            join(key, held, text);
            join(key, held, Value::Array(piece));
        }
        (_, Value::Null) => {}
        (held, piece) => *held = piece,
    }
}

/// Appends an item, or continues the one that it is a piece of: of the same `index` and type, or
/// the last one, if both are text without an index.
fn append(list: &mut Vec<Value>, item: Value) {
    let index = item.get("index").and_then(Value::as_u64);
    let continued = match index {
        Some(index) => list.iter_mut().find(|held| {
            held.get("index").and_then(Value::as_u64) == Some(index)
                && held.get("type") == item.get("type")
        }),
        None => list
            .last_mut()
            .filter(|held| is_prose(held) && is_prose(&item))
            .filter(|held| held.get("type") == item.get("type")),
    };
    match (continued, item) {
        (Some(Value::Object(held)), Value::Object(piece)) => {
            piece.into_iter().for_each(|(key, value)| merge(held, &key, value));
        }
        (_, Value::Object(piece)) => {
            let mut fresh = Map::new();
            piece.into_iter().for_each(|(key, value)| merge(&mut fresh, &key, value));
            list.push(Value::Object(fresh));
        }
        (_, item) => list.push(item),
    }
}

fn is_prose(item: &Value) -> bool {
    item.get("index").is_none()
        && matches!(item.get("type").and_then(Value::as_str), Some("text" | "thinking"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(pieces: &[Value]) -> Value {
        let mut map = Map::new();
        for piece in pieces {
            merge(&mut map, "field", piece.clone());
        }
        map.remove("field").unwrap_or(Value::Null)
    }

    #[test]
    fn pieces_are_joined_by_their_shape() {
        let cases = [
            (vec![json!("ab"), json!("c")], json!("abc")),
            (vec![json!(1), json!(2)], json!(2)),
            (vec![Value::Null, json!("a"), Value::Null], json!("a")),
            (vec![json!([1]), json!([2, 3])], json!([1, 2, 3])),
            (vec![json!({"sig": "a"}), json!({"sig": "a"})], json!({"sig": "a"})),
            (vec![json!({"sig": "a"}), json!({"sig": "b", "n": 1})], json!({"sig": "ab", "n": 1})),
            (
                vec![
                    json!([{"type": "reasoning.text", "index": 0, "text": "I "}]),
                    json!([{"type": "reasoning.text", "index": 0, "text": "think"}]),
                    json!([{"type": "reasoning.text", "index": 0, "signature": "s1"}]),
                    json!([{"type": "reasoning.encrypted", "index": 1, "data": "x"}]),
                ],
                json!([
                    {"type": "reasoning.text", "index": 0, "text": "I think", "signature": "s1"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "x"},
                ]),
            ),
            (
                vec![
                    json!([{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]),
                    json!([{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]),
                    json!("c"),
                    json!("d"),
                ],
                json!([
                    {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]},
                    {"type": "text", "text": "cd"},
                ]),
            ),
        ];
        for (pieces, expected) in cases {
            assert_eq!(joined(&pieces), expected, "{pieces:?}");
        }
    }
}
