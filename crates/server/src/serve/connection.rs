//! One connection: TLS if the server has it, then HTTP with requests for what the port speaks.

use super::{Phase, Speaks};
use crate::http::{Connection, Shared, handle};
use crate::linger::{LingeringStream, Unread};
use crate::options::ServerOptions;
use crate::patience::PatientStream;
use crate::tls::Tls;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Requests that one HTTP/2 connection may have in flight.
const MAX_STREAMS: u32 = 1024;

/// Bytes that a client may send ahead on one HTTP/2 stream: large tensors in few round trips.
const STREAM_WINDOW: u32 = 1 << 20;

/// The same for a whole HTTP/2 connection.
const CONNECTION_WINDOW: u32 = 4 << 20;

/// The headers of an HTTP/1 request must fit here, and a body is read in pieces of at most this size. It
/// bounds what an idle connection can hold.
const READ_BUFFER: usize = 128 << 10;

/// The headers of an HTTP/2 request.
const MAX_HEADER_BYTES: u32 = 32 << 10;

/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What the connections of a listener have in common.
pub struct Front {
    shared: Arc<Shared>,
    speaks: Speaks,
    tls: Option<Arc<Tls>>,
    builder: Builder<TokioExecutor>,
    phase: watch::Receiver<Phase>,
}

impl Front {
    /// Of a listener that speaks this.
    pub fn new(
        shared: Arc<Shared>,
        speaks: Speaks,
        tls: Option<Arc<Tls>>,
        phase: watch::Receiver<Phase>,
    ) -> Front {
        let builder = builder(&shared.options, speaks.is_grpc());
        Front { shared, speaks, tls, builder, phase }
    }

    /// Serves a connection on a task of its own.
    pub fn connect(self: &Arc<Front>, stream: TcpStream, connections: &GracefulShutdown) {
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr().ok().map(|address| address.ip());
        let is_loopback = stream.local_addr().is_ok_and(|at| at.ip().to_canonical().is_loopback());
        let is_secure = self.tls.is_some();
        let connection = Connection { port: self.speaks.port(), peer, is_loopback, is_secure };
        let stream = PatientStream::new(stream, self.shared.options.body_timeout);
        let (front, watcher) = (Arc::clone(self), connections.watcher());
        tokio::spawn(async move {
            let mut phase = front.phase.clone();
            let serve = async {
                let Some(tls) = &front.tls else {
                    return front.serve(stream, connection, watcher).await;
                };
                let accepted = tls.acceptor(front.speaks.is_grpc()).accept(stream);
                match tokio::time::timeout(HANDSHAKE, accepted).await {
                    Ok(Ok(stream)) => front.serve(stream, connection, watcher).await,
                    Ok(Err(error)) => tracing::debug!(%error, ?peer, "no TLS with a client"),
                    Err(_) => tracing::debug!(?peer, "no TLS with a client in time"),
                }
            };
            tokio::select! {
                biased;
                () = serve => {}
                // An error means that the handle was dropped.
                _ = phase.wait_for(|&p| p == Phase::Abort) => {}
            }
        });
    }

    async fn serve<S>(&self, stream: S, connection: Connection, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let unread = Unread::default();
        let io = TokioIo::new(LingeringStream::new(stream, unread.clone()));
        let served = match &self.speaks {
            Speaks::Http(_) => {
                let service = service_fn(|request| {
                    handle(Arc::clone(&self.shared), connection, unread.clone(), request)
                });
                watcher.watch(self.builder.serve_connection(io, service)).await
            }
            Speaks::Grpc(services) => {
                let services = services.on(connection);
                watcher.watch(self.builder.serve_connection(io, services)).await
            }
        };
        if let Err(error) = served {
            // Clients that went away or broke the protocol: there is nobody to answer.
            tracing::debug!(error = %error, "connection ended");
        }
    }
}

fn builder(options: &ServerOptions, grpc: bool) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    if grpc {
        builder = builder.http2_only();
    }
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_buf_size(READ_BUFFER)
        // Else an answer that comes while some of its request is in the buffer would never be written,
        // not even when the connection ends.
        .pipeline_flush(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_STREAMS as usize)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEADER_BYTES)
        .keep_alive_interval(Some(Duration::from_secs(60)))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}
