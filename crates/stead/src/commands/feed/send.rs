//! Connections that send operations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use tokio::sync::mpsc::Receiver;

use super::operation::Operation;
use super::tally::Tally;
use crate::failure::Failure;
use crate::http_client::Target;
use crate::kept_connection::{self, Connection};

/// How long an operation waits before it is sent again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));

/// What an answer may take beyond the time that the server was given.
const LATE: Duration = Duration::from_secs(10);

/// What all connections share.
pub struct Sender {
    pub target: Target,
    /// For the server to answer in.
    pub timeout: Duration,
    /// For a server that says nothing, or only that it is busy.
    pub patience: Duration,
    pub tally: Arc<Tally>,
}

/// An answer: its status and body.
type Answer = (u16, Bytes);

/// Whether an operation with this answer may be sent again: the server is overloaded, starts, or is full for now.
pub fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 503 | 507)
}

impl Sender {
    /// Sends operations one after the other until there are no more.
    ///
    /// # Errors
    /// When the server has had nothing to say for too long.
    pub async fn run(
        self: Arc<Sender>,
        mut operations: Receiver<Operation>,
    ) -> Result<(), Failure> {
        let mut connection = None;
        while let Some(operation) = operations.recv().await {
            self.operation(&mut connection, &operation).await?;
        }
        Ok(())
    }

    /// Sends an operation until it is answered for good.
    async fn operation(
        &self,
        connection: &mut Option<Connection>,
        operation: &Operation,
    ) -> Result<(), Failure> {
        let mut pause = PAUSES.0;
        loop {
            let sent = Instant::now();
            let why = match self.send(connection, operation).await {
                Ok((200, _)) => {
                    self.tally.done(operation.number, sent.elapsed());
                    return Ok(());
                }
                Ok((status, body)) if !is_busy(status) => {
                    let text = format!("{}: {}", operation.place, told(status, &body));
                    self.tally.refused(operation.number, &text);
                    return Ok(());
                }
                Ok((status, body)) => told(status, &body),
                Err(text) => {
                    // Whatever it was, a new connection knows nothing of it.
                    *connection = None;
                    self.tally.broken();
                    text
                }
            };
            if self.tally.silence() > self.patience {
                let seconds = self.patience.as_secs();
                let text =
                    format!("no operation was taken by {} for {seconds} s: {why}", self.target);
                return Err(Failure::failed(text));
            }
            // Connections that were refused together should not come again together.
            let part = operation.document_hash() % 512 + 512;
            tokio::time::sleep(pause * part as u32 / 1024).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn send(
        &self,
        connection: &mut Option<Connection>,
        operation: &Operation,
    ) -> Result<Answer, String> {
        let separator = if operation.path.contains('?') { '&' } else { '?' };
        let (prefix, millis) = (self.target.prefix(), self.timeout.as_millis());
        let request = self
            .target
            .authorize(Request::builder())
            .method(operation.method)
            .uri(format!("{prefix}{}{separator}timeout={millis}ms", operation.path))
            .header("host", self.target.authority())
            .header("content-type", "application/json")
            .body(Full::new(operation.body.clone()))
            .map_err(|e| e.to_string())?;
        let exchange = async {
            let mut kept = connection.take();
            if let Some(open) = &mut kept
                && open.ready().await.is_err()
            {
                kept = None;
            }
            let open = match kept {
                Some(open) => open,
                None => kept_connection::open(&self.target).await?,
            };
            self.tally.sent(operation.body.len());
            let open = connection.insert(open);
            let broke = |e: hyper::Error| format!("the connection broke: {e}");
            let (head, body) = open.send_request(request).await.map_err(broke)?.into_parts();
            let body = body.collect().await.map_err(broke)?.to_bytes();
            Ok((head.status.as_u16(), body))
        };
        let answer = tokio::time::timeout(self.timeout + LATE, exchange).await;
        let (status, body) = answer.unwrap_or_else(|_| Err("no answer in time".to_owned()))?;
        self.tally.answered(status, body.len(), is_busy(status));
        Ok((status, body))
    }
}

/// What a server says of an operation that it did not do.
fn told(status: u16, body: &[u8]) -> String {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    let message = json["message"].as_str().unwrap_or(&text);
    match json["id"].as_str() {
        Some(id) => format!("{id}: {status}: {message}"),
        None => format!("{status}: {message}"),
    }
}
