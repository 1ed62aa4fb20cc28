//! An HTTP/2 connection for gRPC calls, without what a channel of tonic adds for its users: a queue in front of it and
//! a new connection when it is lost. A load tool shares the machine with what it measures.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::header::AUTHORIZATION;
use tonic::codegen::http::{HeaderValue, Request, Response};

use crate::http_client::{Speaks, Target, dial};

/// Room for the answers of many calls at a time, which a reader takes as they come.
const WINDOW: u32 = 4 << 20;

/// A connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Connection {
    send: SendRequest<Body>,
    authorization: Option<HeaderValue>,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// In words: nobody accepts in time, or whoever accepts does not speak HTTP/2.
    pub async fn open(target: &Target, timeout: Duration) -> Result<Connection, String> {
        let shake = async {
            let stream = dial(target, Speaks::Http2).await.map_err(|e| e.to_string())?;
            Builder::new(TokioExecutor::new())
                .initial_stream_window_size(WINDOW)
                .initial_connection_window_size(WINDOW)
                .handshake(TokioIo::new(stream))
                .await
                .map_err(|e| e.to_string())
        };
        let late = |_| format!("no answer within {} s", timeout.as_secs());
        let (send, connection) = tokio::time::timeout(timeout, shake).await.map_err(late)??;
        // How it ends is told by the calls that it breaks.
        tokio::spawn(connection);
        let authorization = target.access().authorization().cloned();
        Ok(Connection { send, authorization })
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.send.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        Box::pin(self.send.send_request(request))
    }
}
