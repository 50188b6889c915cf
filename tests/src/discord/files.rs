//! The server of files: open to whoever has an address, for as long as that holds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header;
use axum::response::Response;
use serde_json::{Value, json};

use super::world::State;
use crate::bell::Told;
use crate::download::{FileFault, download};

/// Where files are, below the server's address.
pub(super) const FILES: &str = "/attachments/";

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The server's address.
    pub(super) base: String,
    /// Names and contents, by their numbers.
    kept: BTreeMap<u64, (String, Vec<u8>)>,
    /// Addresses of an earlier issue hold no longer.
    pub(super) issue: u64,
    pub(super) faults: VecDeque<FileFault>,
    pub(super) downloads: Vec<String>,
}

impl Files {
    /// Keeps a file, and tells of it as a message does.
    pub(super) fn keep(&mut self, id: u64, name: &str, media_type: &str, bytes: &[u8]) -> Value {
        self.kept.insert(id, (name.to_owned(), bytes.to_vec()));
        let url = format!("{}{FILES}1/{id}/file?ex=1&hm={}", self.base, self.issue);
        json!({
            "id": id.to_string(), "filename": name, "size": bytes.len(), "url": url,
            "proxy_url": url, "content_type": media_type,
        })
    }

    /// Puts the addresses that hold now into what is told of a message.
    pub(super) fn sign(&self, told: &mut Value) {
        match told {
            Value::Object(fields) => fields.values_mut().for_each(|value| self.sign(value)),
            Value::Array(values) => values.iter_mut().for_each(|value| self.sign(value)),
            Value::String(text) if text.contains(FILES) => {
                if let Some((address, _)) = text.rsplit_once("&hm=") {
                    *text = format!("{address}&hm={}", self.issue);
                }
            }
            _ => {}
        }
    }
}

/// Answers a download.
pub(super) fn give(state: &Arc<Told<State>>, request: &Request) -> Response {
    let shows_token = request.headers().contains_key(header::AUTHORIZATION);
    let path = request.uri().path().trim_start_matches(FILES);
    let id = path.split('/').nth(1).and_then(|id| id.parse().ok());
    let issue = request.uri().query().and_then(|query| query.rsplit_once("&hm="));
    let issue = issue.and_then(|(_, issue)| issue.parse::<u64>().ok());
    state.change(|state| {
        if shows_token {
            state.problems.push("the server of files was shown a token".to_owned());
        }
        let files = &mut state.files;
        match id.and_then(|id: u64| files.kept.get(&id)).cloned() {
            Some((name, bytes)) if issue == Some(files.issue) => {
                files.downloads.push(name);
                download(&bytes, files.faults.pop_front())
            }
            _ => download(&[], Some(FileFault::Status(404))),
        }
    })
}
