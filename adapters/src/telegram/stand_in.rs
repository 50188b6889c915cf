//! A server for this module's own tests: answers one call after another from a list, and keeps what
//! it was asked. The whole Telegram is in the workspace's `tests`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use atlas_core::ids::AccountId;
use serde_json::Value;

use super::api::Api;
use super::{Settings, TelegramAccount};

pub(super) const TOKEN: &str = "12345:very-secret_TOKEN";

/// What it was asked: the method's name and its parameters; of a file the whole path.
pub(super) type Asked = (String, Value);

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
                let (mut line, mut method, mut length) = (String::new(), String::new(), 0);
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    if let Some(path) = line.strip_prefix("POST ") {
                        let path = path.split(' ').next().unwrap_or_default();
                        assert!(path.starts_with(&format!("/bot{TOKEN}/")), "{path}");
                        method = path.rsplit('/').next().unwrap_or_default().to_owned();
                    }
                    if let Some(path) = line.strip_prefix("GET ") {
                        method = path.split(' ').next().unwrap_or_default().to_owned();
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut parameters = vec![0; length];
                reader.read_exact(&mut parameters).unwrap();
                let _ =
                    tell.send((method, serde_json::from_slice(&parameters).unwrap_or_default()));
                if status > 0 {
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
                    let _ = write!(stream, "{head}content-length: {length}\r\n\r\n{body}");
                }
            }
        });
        Self { base, asked }
    }

    pub(super) fn account(&self) -> TelegramAccount {
        let settings = Settings { api_base: Some(self.base.clone()), ..Settings::default() };
        TelegramAccount::new(AccountId("tg".into()), TOKEN.into(), settings).unwrap()
    }

    pub(super) fn api(&self) -> Arc<Api> {
        self.account().api
    }

    /// All that was asked until now.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.try_iter().collect()
    }
}
