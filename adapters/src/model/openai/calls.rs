//! Tool calls out of their pieces. Servers cut them in every way there is: by index, by id, by
//! neither, the name in halves, the arguments as an object.

use atlas_core::message::Call;
use serde_json::{Map, Value, json};

use crate::model::arguments::{fresh_id, is_object, mended, sound};
use crate::model::merge::merge;

/// The calls of one answer, growing.
#[derive(Debug, Default)]
pub(super) struct Calls {
    growing: Vec<Growing>,
}

/// A call that may still miss something.
#[derive(Debug, Default)]
struct Growing {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields beside `id`, `type` and `function`, kept for their vendor.
    extra: Map<String, Value>,
    /// Fields of `function` beside `name` and `arguments`.
    function_extra: Map<String, Value>,
}

/// A whole call: as core takes it, and as it stands in the message that is replayed, where its
/// arguments are sound.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) call: Call,
    pub(super) json: Value,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.growing.is_empty()
    }

    /// Adds what a delta holds as `tool_calls`: a list of pieces, or a single one.
    pub(super) fn add(&mut self, pieces: Value) {
        match pieces {
            Value::Array(pieces) => pieces.into_iter().for_each(|piece| self.add(piece)),
            Value::Object(piece) => self.add_piece(piece),
            _ => {}
        }
    }

    /// Adds a piece of the older field `function_call`, of which an answer has one.
    pub(super) fn add_function(&mut self, function: Value) {
        if function.is_object() {
            self.add(json!({"index": 0, "function": function}));
        }
    }

    fn add_piece(&mut self, mut piece: Map<String, Value>) {
        let index = piece.remove("index").as_ref().and_then(Value::as_u64);
        let id = text_of(piece.remove("id"));
        let mut function = match piece.remove("function") {
            Some(Value::Object(function)) => function,
            _ => Map::new(),
        };
        let name = text_of(function.remove("name"));
        let call = self.find(index, &id, &name);
        if call.id.is_empty() {
            call.id = id;
        }
        call.add_name(&name);
        call.add_arguments(function.remove("arguments"));
        piece.remove("type");
        piece.into_iter().for_each(|(key, value)| merge(&mut call.extra, &key, value));
        function.into_iter().for_each(|(key, value)| merge(&mut call.function_extra, &key, value));
    }

    /// The call that a piece belongs to: that of its index, else of its id, else the last one. It
    /// begins a new one if it has an id of its own, or a name although that call is complete.
    fn find(&mut self, index: Option<u64>, id: &str, name: &str) -> &mut Growing {
        let same_id = |call: &Growing| !id.is_empty() && call.id == id;
        let place = match index {
            Some(index) => self.growing.iter().rposition(|call| call.index == Some(index)),
            None => self.growing.iter().rposition(same_id).or(self.growing.len().checked_sub(1)),
        };
        let continued = place.filter(|place| {
            let call = &self.growing[*place];
            let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            let begins = !name.is_empty() && (other_id || call.is_complete() && !same_id(call));
            !(begins || other_id && index.is_none())
        });
        let place = continued.unwrap_or_else(|| {
            self.growing.push(Growing { index, ..Growing::default() });
            self.growing.len() - 1
        });
        &mut self.growing[place]
    }

    /// The calls, each with a name and an id of its own. Where the answer was cut,
    /// a call whose arguments are not whole is left out: half a call is worth nothing.
    pub(super) fn finish(self, cut: bool) -> Vec<Whole> {
        let mut whole: Vec<Whole> = Vec::new();
        for mut call in self.growing {
            if call.name.trim().is_empty() || cut && !call.is_complete() {
                continue;
            }
            let taken = |id: &str| whole.iter().any(|other| other.call.id == id);
            if call.id.is_empty() || taken(&call.id) {
                call.id = fresh_id();
            }
            whole.push(call.finish());
        }
        whole
    }
}

impl Growing {
    /// A repeated name is the same name, anything else its next piece.
    fn add_name(&mut self, piece: &str) {
        if self.name != piece {
            self.name.push_str(piece);
        }
    }

    fn add_arguments(&mut self, piece: Option<Value>) {
        match piece {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => self.arguments.push_str(&text),
            Some(value) => self.arguments.push_str(&value.to_string()),
        }
    }

    fn is_complete(&self) -> bool {
        is_object(&self.arguments)
    }

    fn finish(self) -> Whole {
        let name = self.name.trim().to_owned();
        let arguments = mended(&self.arguments).into_owned();
        let mut function = Map::new();
        function.insert("name".to_owned(), name.clone().into());
        function.insert("arguments".to_owned(), sound(&arguments).into());
        function.extend(self.function_extra);
        let mut json = Map::new();
        json.insert("id".to_owned(), self.id.clone().into());
        json.insert("type".to_owned(), "function".into());
        json.insert("function".to_owned(), function.into());
        json.extend(self.extra);
        Whole { call: Call { id: self.id, name, arguments }, json: json.into() }
    }
}

fn text_of(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(pieces: &[Value]) -> Vec<Call> {
        finished(pieces, false)
    }

    fn finished(pieces: &[Value], cut: bool) -> Vec<Call> {
        let mut calls = Calls::default();
        pieces.iter().for_each(|piece| calls.add(piece.clone()));
        calls.finish(cut).into_iter().map(|whole| whole.call).collect()
    }

    fn parts(calls: &[Call]) -> Vec<(&str, &str)> {
        calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect()
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: Value) -> Value {
        let mut function = json!({"arguments": arguments});
        if let Some(name) = name {
            function["name"] = name.into();
        }
        let mut piece = json!([{"type": "function", "function": function}]);
        if let Some(index) = index {
            piece[0]["index"] = index.into();
        }
        if let Some(id) = id {
            piece[0]["id"] = id.into();
        }
        piece
    }

    #[test]
    fn pieces_are_joined_by_index_although_they_interleave() {
        let made = calls(&[
            piece(Some(0), Some("a"), Some("memory"), json!("")),
            piece(Some(1), Some("b"), Some("search"), json!("{\"q")),
            piece(Some(0), None, None, json!("{\"x\"")),
            piece(Some(1), None, None, json!("\":1}")),
            piece(Some(0), None, None, json!(":2}")),
        ]);
        assert_eq!(parts(&made), [("memory", "{\"x\":2}"), ("search", "{\"q\":1}")]);
        assert_eq!((made[0].id.as_str(), made[1].id.as_str()), ("a", "b"));
    }

    #[test]
    fn whole_calls_under_one_index_are_different_calls() {
        let made = calls(&[
            piece(Some(0), Some("a"), Some("memory"), json!("{}")),
            piece(Some(0), Some("b"), Some("memory"), json!("{\"x\":1}")),
        ]);
        assert_eq!(parts(&made), [("memory", "{}"), ("memory", "{\"x\":1}")]);
        let without_ids = calls(&[
            piece(Some(0), None, Some("memory"), json!("{}")),
            piece(Some(0), None, Some("memory"), json!("{\"x\":1}")),
        ]);
        assert_eq!(parts(&without_ids), parts(&made));
    }

    #[test]
    fn pieces_without_an_index_go_by_id_and_then_to_the_last() {
        let made = calls(&[
            piece(None, Some("a"), Some("memory"), json!("{")),
            piece(None, None, None, json!("}")),
            piece(None, Some("b"), Some("search"), json!("{\"q\":")),
            piece(None, Some("b"), None, json!("1}")),
        ]);
        assert_eq!(parts(&made), [("memory", "{}"), ("search", "{\"q\":1}")]);
    }

    #[test]
    fn a_name_in_pieces_is_one_name_and_a_repeated_one_too() {
        let made = calls(&[
            piece(Some(0), Some("a"), Some("mem"), Value::Null),
            piece(Some(0), Some("a"), Some("ory"), json!("{}")),
        ]);
        assert_eq!(parts(&made), [("memory", "{}")]);
        let made = calls(&[
            piece(Some(0), Some("a"), Some("memory"), json!("{\"x\":")),
            piece(Some(0), Some("a"), Some("memory"), json!("1}")),
        ]);
        assert_eq!(parts(&made), [("memory", "{\"x\":1}")]);
    }

    #[test]
    fn ids_are_made_where_they_miss_or_repeat() {
        let made = calls(&[
            piece(Some(0), Some("same"), Some("memory"), json!("{}")),
            piece(Some(1), Some("same"), Some("memory"), json!("{}")),
            piece(Some(2), None, Some("memory"), json!("{}")),
        ]);
        assert_eq!(made.len(), 3);
        assert_eq!(made[0].id, "same");
        assert!(made[1..].iter().all(|call| call.id.len() == 9));
        assert_ne!(made[1].id, made[2].id);
    }

    #[test]
    fn broken_arguments_reach_core_as_they_are_and_no_server() {
        for (written, to_core, to_servers) in [
            (json!({"x": 1}), r#"{"x":1}"#, r#"{"x":1}"#),
            (json!(r#"{ "x": 1 }"#), r#"{ "x": 1 }"#, r#"{ "x": 1 }"#),
            (json!(" "), "{}", "{}"),
            (Value::Null, "{}", "{}"),
            (json!(r#""{\"x\":1}""#), r#"{"x":1}"#, r#"{"x":1}"#),
            (json!(r#"{"x":"#), r#"{"x":"#, r#"{"_unparsed":"{\"x\":"}"#),
            (json!("[1]"), "[1]", r#"{"_unparsed":"[1]"}"#),
            (json!("remember it"), "remember it", r#"{"_unparsed":"remember it"}"#),
        ] {
            let mut calls = Calls::default();
            calls.add(piece(Some(0), Some("a"), Some("memory"), written.clone()));
            let whole = calls.finish(false).remove(0);
            assert_eq!(whole.call.arguments, to_core, "{written}");
            assert_eq!(whole.json["function"]["arguments"], to_servers, "{written}");
        }
    }

    #[test]
    fn a_call_without_a_name_is_none() {
        assert!(calls(&[piece(Some(0), Some("a"), Some(" "), json!("{}"))]).is_empty());
        assert!(calls(&[piece(Some(0), Some("a"), None, json!("{}"))]).is_empty());
    }

    #[test]
    fn half_a_call_of_a_cut_answer_is_left_out() {
        let pieces = [
            piece(Some(0), Some("a"), Some("memory"), json!("{\"x\":1}")),
            piece(Some(1), Some("b"), Some("memory"), json!("{\"x\":")),
            piece(Some(2), Some("c"), Some("memory"), Value::Null),
        ];
        assert_eq!(parts(&finished(&pieces, true)), [("memory", "{\"x\":1}")]);
    }

    #[test]
    fn what_a_vendor_adds_to_a_call_stays_in_it() {
        let mut calls = Calls::default();
        calls.add(json!([{
            "index": 0, "id": "a", "type": "function",
            "function": {"name": "memory", "arguments": "{}", "strict": true},
            "extra_content": {"google": {"thought_signature": "s"}},
        }]));
        let whole = calls.finish(false);
        assert_eq!(
            whole[0].json.to_string(),
            r#"{"id":"a","type":"function","function":{"name":"memory","arguments":"{}","strict":true},"extra_content":{"google":{"thought_signature":"s"}}}"#
        );
    }
}
