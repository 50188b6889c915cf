//! Attachments as core's files: `decode` makes their handles, the way out finds them again by those.
//!
//! The address in a payload holds for a day. A handle therefore names the message too, which tells a
//! new one.

use atlas_core::event::files::Attached;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// By what an attachment is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Handle {
    /// The channel of the message that it hangs on.
    pub(super) channel: u64,
    /// That message.
    pub(super) message: u64,
    /// The attachment's own number.
    pub(super) id: String,
    /// Where it was when the message was read.
    pub(super) url: String,
}

impl Handle {
    /// The handle of a file. None for what no Discord account has made.
    pub(super) fn of(file: &Attached) -> Option<Self> {
        serde_json::from_str(&file.handle).ok()
    }

    /// Where it is by its message, as that is told now.
    pub(super) fn found_in(&self, message: &Value) -> Option<String> {
        let fields = message.as_object()?;
        let mut all = all(fields);
        let found = all.find(|value| text(value, "id") == Some(&self.id))?;
        Some(text(found, "url")?.to_owned())
    }
}

/// The attachments of this message that may be text, of those in what it forwards first.
pub(super) fn files(fields: &Map<String, Value>, channel: u64, message: u64) -> Vec<Attached> {
    let file = |value: &Value| {
        let (id, url) = (text(value, "id")?.to_owned(), text(value, "url")?.to_owned());
        let handle = Handle { channel, message, id, url };
        let file = Attached {
            name: text(value, "filename").unwrap_or_default().to_owned(),
            size: value.get("size").and_then(Value::as_u64),
            media_type: text(value, "content_type").map(str::to_owned),
            handle: serde_json::to_string(&handle).ok()?,
        };
        file.may_be_text().then_some(file)
    };
    all(fields).filter_map(file).collect()
}

/// The messages that a forward holds.
pub(super) fn snapshots(
    fields: &Map<String, Value>,
) -> impl Iterator<Item = &Map<String, Value>> + use<'_> {
    let held = fields.get("message_snapshots").and_then(Value::as_array);
    held.into_iter().flatten().filter_map(|held| held.get("message")?.as_object())
}

fn all(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> + use<'_> {
    snapshots(fields)
        .chain([fields])
        .filter_map(|fields| fields.get("attachments")?.as_array())
        .flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Value {
        let attached = |id: &str, name: &str| json!({"id": id, "filename": name, "url": id});
        json!({
            "attachments": [attached("1", "a.txt"), attached("2", "b.png"), {"filename": "c.txt"}],
            "message_snapshots": [{"message": {"attachments": [attached("3", "d.md")]}}, 7],
        })
    }

    #[test]
    fn what_may_be_text_is_found_again_in_its_message_and_in_what_it_forwards() {
        let message = message();
        let files = files(message.as_object().unwrap(), 20, 30);
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["d.md", "a.txt"]);
        for (file, id) in files.iter().zip(["3", "1"]) {
            let handle = Handle::of(file).unwrap();
            let expected = Handle { channel: 20, message: 30, id: id.into(), url: id.into() };
            assert_eq!(handle, expected);
            assert_eq!(handle.found_in(&message).as_deref(), Some(id));
            assert_eq!(handle.found_in(&json!({"attachments": "odd"})), None);
        }
    }
}
