//! Connections over HTTP/1.1 that are kept for many requests.

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;

use crate::http_client::{Speaks, Target, dial};

/// One of them.
pub type Connection = SendRequest<Full<Bytes>>;

/// Connects to a server. A task of its own drives the connection.
///
/// # Errors
/// Why there is none.
pub async fn open(target: &Target) -> Result<Connection, String> {
    let none = |e: &dyn std::fmt::Display| format!("no connection: {e}");
    let stream = dial(target, Speaks::Http1).await.map_err(|e| none(&e))?;
    let (connection, work) = handshake(TokioIo::new(stream)).await.map_err(|e| none(&e))?;
    tokio::spawn(work);
    Ok(connection)
}
