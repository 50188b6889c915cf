//! A server for one test: it answers with scripted bytes, and keeps what it was sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// What a scripted answer does after its bytes.
#[derive(Clone, Copy)]
pub(super) enum Then {
    Close,
    Stall,
}

/// A server that gives each request the next answer, and keeps what it was sent.
pub(super) struct Scripted {
    pub(super) base_url: String,
    pub(super) seen: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Scripted {
    pub(super) async fn start(answers: Vec<(Vec<u8>, Then)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (heard, next) = (seen.clone(), AtomicUsize::new(0));
        #[expect(clippy::disallowed_methods, reason = "a server for one test")]
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                heard.lock().await.push(received(&mut stream).await);
                let answer = answers.get(next.fetch_add(1, Ordering::Relaxed));
                let (bytes, then) = answer.cloned().unwrap_or_else(|| (Vec::new(), Then::Close));
                let _ = stream.write_all(&bytes).await;
                if let Then::Stall = then {
                    // Until the client gives up.
                    let _ = stream.read(&mut [0; 16]).await;
                }
            }
        });
        Self { base_url, seen }
    }
}

async fn received(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        if body.len() >= length {
            return (head.to_owned(), serde_json::from_str(body).unwrap_or_default());
        }
    }
}

pub(super) fn head(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n\r\n")
}

pub(super) fn stream(body: &str) -> Vec<u8> {
    format!("{}{body}", head("200 OK", "content-type: text/event-stream")).into_bytes()
}

pub(super) fn refusal(status: &str, headers: &str, body: &str) -> (Vec<u8>, Then) {
    let headers =
        format!("content-type: application/json\r\n{headers}content-length: {}", body.len());
    (format!("{}{body}", head(status, &headers)).into_bytes(), Then::Close)
}
