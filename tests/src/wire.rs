//! A listener whose connections can be cut, so that a stand-in can lose an answer as a network does:
//! the request arrived, and nothing ever comes back.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::bell::runtime;

/// Cuts one connection.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    cut: Arc<AtomicBool>,
}

impl Cut {
    /// From now on not a byte is written to it.
    pub fn now(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }
}

/// Serves `routes` on a free port of this machine until the process ends.
pub fn serve(routes: Router) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket that does not block");
    let address = listener.local_addr().expect("the port's number");
    runtime().spawn(async move {
        let listener = Cuttable(TcpListener::from_std(listener).expect("a listener"));
        let service = routes.into_make_service_with_connect_info::<Cut>();
        let _ = axum::serve(listener, service).await;
    });
    address
}

/// Serves `routes` over TLS, with this certificate and key, on a free port of this machine until the
/// process ends.
pub fn serve_tls(routes: Router, tls: Arc<tokio_rustls::rustls::ServerConfig>) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket that does not block");
    let address = listener.local_addr().expect("the port's number");
    runtime().spawn(async move {
        let plain = Cuttable(TcpListener::from_std(listener).expect("a listener"));
        let listener = Secure { plain, tls: TlsAcceptor::from(tls) };
        let service = routes.into_make_service_with_connect_info::<Cut>();
        let _ = axum::serve(listener, service).await;
    });
    address
}

struct Secure {
    plain: Cuttable,
    tls: TlsAcceptor,
}

impl Listener for Secure {
    type Io = TlsStream<Stream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.plain.accept().await;
            if let Ok(stream) = self.tls.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.plain.local_addr()
    }
}

impl Connected<IncomingStream<'_, Secure>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Secure>) -> Self {
        stream.io().get_ref().0.cut.clone()
    }
}

struct Cuttable(TcpListener);

impl Listener for Cuttable {
    type Io = Stream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        let _ = stream.set_nodelay(true);
        (Stream { stream, cut: Cut::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Cuttable>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Cuttable>) -> Self {
        stream.io().cut.clone()
    }
}

/// A connection that can be cut.
pub struct Stream {
    stream: TcpStream,
    cut: Cut,
}

impl Stream {
    fn broken(&self) -> bool {
        self.cut.cut.load(Ordering::SeqCst)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.broken() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.broken() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A plain request, for the self-tests of the stand-ins: status and body, or None where the
/// connection broke before an answer.
#[cfg(test)]
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &serde_json::Value,
) -> Option<(u16, String)> {
    let authorization = format!("Bearer {}", crate::model::KEY);
    request_as(&authorization, address, method, path, body)
}

/// The same, as somebody.
#[cfg(test)]
pub(crate) fn request_as(
    authorization: &str,
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &serde_json::Value,
) -> Option<(u16, String)> {
    use std::io::{Read, Write};

    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: \
         {authorization}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}
