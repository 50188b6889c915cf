//! One websocket to the gateway: frames of text in both directions, and why it ended. What the frames
//! say is not read here.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::http::install_provider;

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(15);
/// How long a frame may take to be written.
const WRITE: Duration = Duration::from_secs(10);
/// How long a goodbye may take.
const FAREWELL: Duration = Duration::from_millis(500);
/// Bytes of a frame: a server with ten thousand channels is told of in one.
const LARGEST: usize = 128 << 20;

/// An open socket.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A frame of text.
    Text(String),
    /// A frame of so many bytes, which was not asked for.
    Bytes(usize),
    /// The other side closed it, with this code.
    Closed(u16),
    /// It broke.
    Broken(String),
}

impl Socket {
    /// Connects to the gateway at this address.
    pub(super) async fn connect(address: &str) -> Result<Self, String> {
        install_provider();
        let address = format!("{}/?v=10&encoding=json", address.trim_end_matches('/'));
        let config = WebSocketConfig::default()
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        let connecting = connect_async_with_config(address, Some(config), true);
        match timeout(CONNECT, connecting).await {
            Ok(Ok((stream, _))) => Ok(Self(stream)),
            Ok(Err(error)) => Err(format!("no connection: {error}")),
            Err(_) => Err(format!("no connection within {} s", CONNECT.as_secs())),
        }
    }

    /// The next frame. Cancelling loses nothing.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Heard::Text(text.as_str().to_owned()),
                Some(Ok(Message::Binary(bytes))) => return Heard::Bytes(bytes.len()),
                Some(Ok(Message::Close(Some(CloseFrame { code, .. })))) => {
                    return Heard::Closed(code.into());
                }
                Some(Ok(Message::Close(None))) | None => {
                    return Heard::Broken("closed without a word".to_owned());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Heard::Broken(error.to_string()),
            }
        }
    }

    /// Sends one frame.
    pub(super) async fn send(&mut self, frame: &Value) -> Result<(), String> {
        match timeout(WRITE, self.0.send(Message::text(frame.to_string()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("a frame could not be written".to_owned()),
        }
    }

    /// Says goodbye: the bot is shown as gone at once.
    pub(super) async fn close(mut self) {
        let _ = timeout(FAREWELL, self.0.close(None)).await;
    }
}
