//! What a model wrote as a call: its arguments, which may be anything, and its id.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Under this key stands what a model wrote as arguments and what is no JSON object, in messages that
/// go to a server: servers refuse a transcript with broken arguments.
const UNPARSED: &str = "_unparsed";

/// Arguments that every server takes: as [`mended`], and what is no JSON object whole under
/// [`UNPARSED`]. The same for the stored message and for one that is made of its calls.
pub(super) fn sound(arguments: &str) -> Cow<'_, str> {
    let mended = mended(arguments);
    if is_object(&mended) { mended } else { json!({ UNPARSED: arguments }).to_string().into() }
}

/// Arguments as core takes them: as they were written, however broken, so that the model is told
/// what is wrong with them. Only what can be meant in one way is mended.
pub(super) fn mended(arguments: &str) -> Cow<'_, str> {
    if arguments.trim().is_empty() {
        return "{}".into();
    }
    // Some local models write the object as a string of JSON.
    if let Ok(Value::String(inner)) = serde_json::from_str(arguments)
        && is_object(&inner)
    {
        return inner.into();
    }
    arguments.into()
}

/// Whether the text is one JSON object.
pub(super) fn is_object(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// Nine letters and digits: the strictest rule that a server has for ids (Mistral's).
pub(super) fn fresh_id() -> String {
    let mut id = Uuid::new_v4().simple().to_string();
    id.truncate(9);
    id
}

/// The first `length` hexadecimal digits of the text's SHA-256.
pub(super) fn hex(text: &str, length: usize) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(length);
    hex
}
