//! Files: where one is, and what it holds.

use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::TOKEN;
use super::server::{State, ok, refuse};
use crate::bell::Told;
use crate::download::download;

impl State {
    /// Keeps a file, and tells of it as the document of a message.
    pub(super) fn file(&mut self, name: &str, media_type: &str, bytes: &[u8]) -> Value {
        let id = format!("BQAC-file-{}", self.files.len() + 1);
        self.files.insert(id.clone(), (name.to_owned(), bytes.to_vec()));
        json!({
            "file_id": id, "file_unique_id": format!("unique-{id}"), "file_name": name,
            "mime_type": media_type, "file_size": bytes.len(),
        })
    }
}

/// The largest file that a bot is given.
const MOST_OF_A_FILE: usize = 20 * 1024 * 1024;

/// Tells where a file is.
pub(super) fn tell(state: &Arc<Told<State>>, parameters: &Map<String, Value>) -> Response {
    let id = parameters.get("file_id").and_then(Value::as_str).unwrap_or_default();
    let size = state.look(|state| state.files.get(id).map(|(_, bytes)| bytes.len()));
    match size {
        None => refuse(400, "Bad Request: wrong file_id or the file is temporarily unavailable"),
        Some(size) if size > MOST_OF_A_FILE => refuse(400, "Bad Request: file is too big"),
        Some(size) => ok(json!({
            "file_id": id, "file_unique_id": format!("unique-{id}"), "file_size": size,
            "file_path": format!("documents/{id}"),
        })),
    }
}

/// Gives what is at `<token>/documents/<id>`.
pub(super) fn give(state: &Arc<Told<State>>, path: &str) -> Response {
    let id = path.strip_prefix(TOKEN).and_then(|path| path.strip_prefix("/documents/"));
    state.change(|state| match id.and_then(|id| state.files.get(id)).cloned() {
        Some((name, bytes)) => {
            state.downloads.push(name);
            download(&bytes, state.file_faults.pop_front())
        }
        None => refuse(404, "Not Found"),
    })
}
