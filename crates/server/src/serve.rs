//! Listening, connections and an orderly end.

use crate::grpc::Services;
use crate::http::{Port, Shared, handle};
use crate::linger::{LingeringStream, Unread};
use crate::options::ServerOptions;
use crate::patience::PatientStream;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use stead_node::Embedded;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

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

/// How long accepting pauses when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address could not be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A name in a list of addresses means nothing.
    #[error("bad bind address '{address}': expected IP addresses or host names, comma separated")]
    Address {
        /// The part of the list.
        address: String,
    },
}

/// The socket addresses that a comma-separated list of IP addresses and host names stands for.
///
/// # Errors
/// [`ServeError::Address`] for empty parts and names that do not resolve.
pub fn resolve(list: &str, port: u16) -> Result<Vec<SocketAddr>, ServeError> {
    let mut addresses = Vec::new();
    for part in list.split(',').map(str::trim) {
        let bad = || ServeError::Address { address: part.to_owned() };
        let bare = part.strip_prefix('[').and_then(|p| p.strip_suffix(']')).unwrap_or(part);
        let found: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) if part.is_empty() => return Err(bad()),
            Err(_) => (part, port).to_socket_addrs().map_err(|_| bad())?.collect(),
        };
        for address in found {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}

/// How long connections stay open after listening has stopped. A request that was sent before may not have been
/// read yet, and to close its connection then would leave the client without an answer.
const SETTLE: Duration = Duration::from_millis(100);

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serve,
    Drain,
    Abort,
}

/// A server that runs. Dropping it stops it at once; [`ServerHandle::drain`] lets requests finish.
#[derive(Debug)]
pub struct ServerHandle {
    http: Vec<SocketAddr>,
    grpc: Vec<SocketAddr>,
    deploy: Vec<SocketAddr>,
    node: Arc<Embedded>,
    phase: watch::Sender<Phase>,
    listeners: Vec<JoinHandle<GracefulShutdown>>,
}

impl ServerHandle {
    /// The addresses that REST is bound to, with the ports that were taken.
    pub fn http_addresses(&self) -> &[SocketAddr] {
        &self.http
    }

    /// The addresses that gRPC is bound to, with the ports that were taken.
    pub fn grpc_addresses(&self) -> &[SocketAddr] {
        &self.grpc
    }

    /// The addresses that deployments are bound to, with the ports that were taken.
    pub fn deploy_addresses(&self) -> &[SocketAddr] {
        &self.deploy
    }

    /// Ends in order: readiness turns to no and new requests are refused, listening stops, requests in flight
    /// are answered, connections close. What is not done after `timeout` is dropped. Returns whether
    /// everything was answered.
    pub async fn drain(mut self, timeout: Duration) -> bool {
        let node = self.node.clone();
        let listeners = std::mem::take(&mut self.listeners);
        let _ = self.phase.send(Phase::Drain);
        let connections = async {
            let mut open = Vec::with_capacity(listeners.len());
            for listener in listeners {
                open.extend(listener.await.ok());
            }
            tokio::time::sleep(SETTLE.min(timeout)).await;
            for connections in open {
                connections.shutdown().await;
            }
        };
        let (answered, closed) =
            tokio::join!(node.drain(timeout), tokio::time::timeout(timeout, connections));
        let _ = self.phase.send(Phase::Abort);
        answered && closed.is_ok()
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        let _ = self.phase.send(Phase::Abort);
    }
}

/// Binds all addresses and serves both protocols until the handle is drained or dropped. Must be called on a
/// tokio runtime with I/O and time.
///
/// # Errors
/// [`ServeError::Bind`]; nothing is served then.
pub async fn serve(
    options: ServerOptions,
    node: Arc<Embedded>,
) -> Result<ServerHandle, ServeError> {
    let http = bind(&options.http).await?;
    let grpc = bind(&options.grpc).await?;
    let deploy = bind(&options.deploy).await?;
    let addresses =
        |list: &[TcpListener]| list.iter().filter_map(|l| l.local_addr().ok()).collect();
    let (http_addresses, grpc_addresses) = (addresses(&http), addresses(&grpc));
    let deploy_addresses = addresses(&deploy);
    let shared = Arc::new(Shared::new(node.clone(), options));
    let (phase, phases) = watch::channel(Phase::Serve);
    let mut listeners = Vec::new();
    let services = Services::new(&shared);
    for (bound, speaks) in [
        (http, Speaks::Http(Port::Query)),
        (grpc, Speaks::Grpc(services)),
        (deploy, Speaks::Http(Port::Deploy)),
    ] {
        for listener in bound {
            let accepting = accept(listener, shared.clone(), phases.clone(), speaks.clone());
            listeners.push(tokio::spawn(accepting));
        }
    }
    let (http, grpc, deploy) = (http_addresses, grpc_addresses, deploy_addresses);
    Ok(ServerHandle { http, grpc, deploy, node, phase, listeners })
}

/// What the connections of a port carry.
#[derive(Clone)]
enum Speaks {
    Http(Port),
    Grpc(Services),
}

async fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, ServeError> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ServeError::Bind { address, source })?;
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Accepts connections until told to stop; returns the connections that are still open.
async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    mut phase: watch::Receiver<Phase>,
    speaks: Speaks,
) -> GracefulShutdown {
    let connections = GracefulShutdown::new();
    let builder = Arc::new(connection_builder(&shared.options, matches!(speaks, Speaks::Grpc(_))));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => Some(accepted),
            _ = phase.wait_for(|&p| p != Phase::Serve) => None,
        };
        let stream = match accepted {
            None => break,
            Some(Ok((stream, _))) => stream,
            Some(Err(error)) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        connect(stream, &builder, &connections, &shared, speaks.clone(), phase.clone());
    }
    // Clients that the kernel has let in already are connected as far as they know.
    while let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, listener.accept()).await {
        connect(stream, &builder, &connections, &shared, speaks.clone(), phase.clone());
    }
    connections
}

fn connection_builder(options: &ServerOptions, grpc: bool) -> Builder<TokioExecutor> {
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

fn connect(
    stream: TcpStream,
    builder: &Arc<Builder<TokioExecutor>>,
    connections: &GracefulShutdown,
    shared: &Arc<Shared>,
    speaks: Speaks,
    mut phase: watch::Receiver<Phase>,
) {
    // Answers are written whole; waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let peer = stream.peer_addr().ok().map(|address| address.ip());
    let stream = PatientStream::new(stream, shared.options.body_timeout);
    let unread = Unread::default();
    let io = TokioIo::new(LingeringStream::new(stream, unread.clone()));
    let builder = builder.clone();
    let watcher = connections.watcher();
    let shared = shared.clone();
    tokio::spawn(async move {
        let serve = async move {
            match speaks {
                Speaks::Http(port) => {
                    let service = service_fn(move |request| {
                        handle(shared.clone(), port, unread.clone(), peer, request)
                    });
                    watcher.watch(builder.serve_connection(io, service).into_owned()).await
                }
                Speaks::Grpc(services) => {
                    watcher.watch(builder.serve_connection(io, services).into_owned()).await
                }
            }
        };
        tokio::select! {
            biased;
            result = serve => if let Err(error) = result {
                // Clients that went away or broke the protocol: there is nobody to answer.
                tracing::debug!(error = %error, "connection ended");
            },
            // An error means that the handle was dropped.
            _ = phase.wait_for(|&p| p == Phase::Abort) => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_lists() {
        let cases = [
            ("127.0.0.1", Some(vec!["127.0.0.1:80"])),
            ("127.0.0.1, ::1", Some(vec!["127.0.0.1:80", "[::1]:80"])),
            ("[::1]", Some(vec!["[::1]:80"])),
            ("127.0.0.1,127.0.0.1", Some(vec!["127.0.0.1:80"])),
            ("", None),
            ("127.0.0.1,", None),
            ("no such host", None),
        ];
        for (list, expected) in cases {
            let got = resolve(list, 80).ok();
            let expected: Option<Vec<SocketAddr>> =
                expected.map(|e| e.iter().map(|a| a.parse().unwrap()).collect());
            assert_eq!(got, expected, "{list}");
        }
    }
}
