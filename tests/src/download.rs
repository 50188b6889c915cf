//! How a stand-in gives a file: whole, or slowly, in part or not at all, as a test tells it to.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use crate::bell::Gate;

/// What becomes of a download instead of the usual.
#[derive(Clone, Debug)]
pub enum FileFault {
    /// This status, and nothing of the file.
    Status(u16),
    /// The connection breaks after half of it.
    Cut,
    /// The second half comes when this gate is open.
    Hold(Gate),
}

/// The file, or what is planned instead.
pub(crate) fn download(bytes: &[u8], fault: Option<FileFault>) -> Response {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let (first, second) = (Bytes::copy_from_slice(first), Bytes::copy_from_slice(second));
    let body = match fault {
        Some(FileFault::Status(status)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
            return (status, "This content is no longer available.").into_response();
        }
        Some(FileFault::Cut) => {
            let broken = io::Error::from(io::ErrorKind::ConnectionReset);
            Body::from_stream(stream::iter([Ok(first), Err(broken)]))
        }
        Some(FileFault::Hold(gate)) => {
            let halves = [(first, None), (second, Some(gate))];
            Body::from_stream(stream::unfold(halves.into_iter(), |mut halves| async {
                let (half, gate) = halves.next()?;
                if let Some(gate) = gate {
                    gate.pass().await;
                }
                Some((Ok::<_, io::Error>(half), halves))
            }))
        }
        None => Body::from(bytes.to_vec()),
    };
    let mut answer = Response::new(body);
    answer.headers_mut().insert(header::CONTENT_LENGTH, bytes.len().into());
    answer
}
