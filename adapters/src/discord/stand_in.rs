//! A server for this module's own tests: answers one call after another from a list, and keeps what
//! it was asked. The whole Discord is in the workspace's `tests`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use atlas_core::ids::AccountId;
use serde_json::Value;

use super::{DiscordAccount, Settings};

pub(super) const TOKEN: &str = "MTA.very-secret.TOKEN";

/// What it was asked.
#[derive(Debug)]
pub(super) struct Asked {
    /// The method and the path, without `/api/v10`.
    pub(super) what: String,
    /// Null where it is no JSON.
    pub(super) body: Value,
    /// As it came.
    pub(super) text: String,
}

/// The account at this server.
pub(super) fn account_at(base: &str) -> DiscordAccount {
    let settings = Settings { api_base: Some(base.to_owned()), ..Settings::default() };
    DiscordAccount::new(AccountId("dc".into()), TOKEN.into(), settings).unwrap()
}

pub(super) struct StandIn {
    pub(super) base: String,
    asked: Receiver<Asked>,
}

impl StandIn {
    /// One that answers with these statuses and bodies; a status of 0 cuts the connection.
    pub(super) fn answering<const N: usize>(answers: [(u16, &str); N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let answers = answers.map(|(status, body)| (status, body.to_owned()));
        let (tell, asked) = channel();
        std::thread::spawn(move || {
            for (status, body) in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut line, mut what, mut length) = (String::new(), None, 0);
                let mut authorized = false;
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    let words: Vec<_> = line.split(' ').collect();
                    if what.is_none() {
                        let path = words[1].strip_prefix("/api/v10").unwrap();
                        what = Some(format!("{} {path}", words[0]));
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    authorized |= line.trim_end().ends_with(&format!(": Bot {TOKEN}"));
                    line.clear();
                }
                assert!(authorized, "{what:?}");
                let mut text = vec![0; length];
                reader.read_exact(&mut text).unwrap();
                let body_asked = serde_json::from_slice(&text).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).into_owned();
                let _ = tell.send(Asked { what: what.unwrap(), body: body_asked, text });
                if status > 0 {
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
                    let _ = write!(stream, "{head}content-length: {length}\r\n\r\n{body}");
                }
            }
        });
        Self { base, asked }
    }

    pub(super) fn account(&self) -> DiscordAccount {
        account_at(&self.base)
    }

    /// All that was asked until now.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.try_iter().collect()
    }
}
