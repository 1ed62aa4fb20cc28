//! An HTTP/2 connection for gRPC calls, without what a channel of tonic adds for its users: a queue in front of it and
//! a new connection when it is lost. A load tool shares the machine with what it measures.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};

/// Room for the answers of many calls at a time, which a reader takes as they come.
const WINDOW: u32 = 4 << 20;

/// A connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Connection(SendRequest<Body>);

impl Connection {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// In words: nobody accepts in time, or whoever accepts does not speak HTTP/2.
    pub async fn open(authority: &str, timeout: Duration) -> Result<Connection, String> {
        let shake = async {
            let stream = TcpStream::connect(authority).await.map_err(|e| e.to_string())?;
            stream.set_nodelay(true).map_err(|e| e.to_string())?;
            Builder::new(TokioExecutor::new())
                .initial_stream_window_size(WINDOW)
                .initial_connection_window_size(WINDOW)
                .handshake(TokioIo::new(stream))
                .await
                .map_err(|e| e.to_string())
        };
        let late = |_| format!("no answer within {} s", timeout.as_secs());
        let (sender, connection) = tokio::time::timeout(timeout, shake).await.map_err(late)??;
        // How it ends is told by the calls that it breaks.
        tokio::spawn(connection);
        Ok(Connection(sender))
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
