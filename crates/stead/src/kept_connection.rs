//! Connections over HTTP/1.1 that are kept for many requests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
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

/// Connections to a server that are kept open; there are as many as there ever were requests at a time.
pub struct Connections {
    target: Target,
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    /// No connections yet.
    pub fn new(target: &Target) -> Connections {
        Connections { target: target.clone(), idle: Mutex::default() }
    }

    /// The server.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Opens one more before it is needed.
    ///
    /// # Errors
    /// As [`open`].
    pub async fn prepare(&self) -> Result<(), String> {
        let connection = open(&self.target).await?;
        self.idle().push(connection);
        Ok(())
    }

    /// Sends a request on a connection of its own and reads the whole answer.
    ///
    /// # Errors
    /// Why there is no connection, or how it broke.
    pub async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, String> {
        let mut connection = self.get().await?;
        let text = |e: hyper::Error| format!("the connection broke: {e}");
        let (head, body) = connection.send_request(request).await.map_err(text)?.into_parts();
        let body = body.collect().await.map_err(text)?.to_bytes();
        self.idle().push(connection);
        Ok(Response::from_parts(head, body))
    }

    async fn get(&self) -> Result<Connection, String> {
        loop {
            // Not `while let`: its lock would be held while the connection is waited for.
            let kept = self.idle().pop();
            let Some(mut kept) = kept else { break };
            if kept.ready().await.is_ok() {
                return Ok(kept);
            }
        }
        open(&self.target).await
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
