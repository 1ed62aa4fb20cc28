//! Listening, connections and an orderly end.

mod connection;
mod reload;

use crate::grpc::Services;
use crate::http::{Port, Shared};
use crate::options::ServerOptions;
use crate::security::{AuthError, Credentials, Guard, Limits};
use crate::tls::{Tls, TlsError};
use connection::Front;
use hyper_util::server::graceful::GracefulShutdown;
pub use reload::Reload;
use reload::Reloads;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use stead_node::Embedded;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

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
    /// TLS was asked for and cannot be spoken.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Tokens were asked for and cannot be read.
    #[error(transparent)]
    Auth(#[from] AuthError),
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
    admin: Vec<SocketAddr>,
    node: Arc<Embedded>,
    phase: watch::Sender<Phase>,
    listeners: Vec<JoinHandle<GracefulShutdown>>,
    reloads: Arc<Reloads>,
}

impl ServerHandle {
    /// Reads certificates again, and what else the server has from files of its options. What cannot be read stays
    /// as it is and is told in the log; false then.
    pub async fn reload(&self) -> bool {
        let reloads = Arc::clone(&self.reloads);
        tokio::task::spawn_blocking(move || reloads.run(true)).await.unwrap_or(false)
    }

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

    /// The addresses that administration is bound to, with the ports that were taken.
    pub fn admin_addresses(&self) -> &[SocketAddr] {
        &self.admin
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
/// As [`ServeError`] says; nothing is served then.
pub async fn serve(
    options: ServerOptions,
    node: Arc<Embedded>,
) -> Result<ServerHandle, ServeError> {
    let tls = options.tls.clone().map(Tls::load).transpose()?.map(Arc::new);
    let credentials = options.auth.clone().map(Credentials::load).transpose()?.map(Arc::new);
    let http = bind(&options.http).await?;
    let grpc = bind(&options.grpc).await?;
    let deploy = bind(&options.deploy).await?;
    let admin = bind(&options.admin).await?;
    let addresses =
        |list: &[TcpListener]| list.iter().filter_map(|l| l.local_addr().ok()).collect();
    let (http_addresses, grpc_addresses) = (addresses(&http), addresses(&grpc));
    let (deploy_addresses, admin_addresses) = (addresses(&deploy), addresses(&admin));
    let poll = options.reload_poll;
    let limits = Limits::new(options.limits);
    let guard =
        Guard::new(credentials.clone(), limits, !options.admin.is_empty(), options.sequence_admin);
    let shared = Arc::new(Shared::new(node.clone(), options, guard));
    let (phase, phases) = watch::channel(Phase::Serve);
    let mut listeners = Vec::new();
    let services = Services::new(&shared);
    for (bound, speaks) in [
        (http, Speaks::Http(Port::Query)),
        (grpc, Speaks::Grpc(services)),
        (deploy, Speaks::Http(Port::Deploy)),
        (admin, Speaks::Http(Port::Admin)),
    ] {
        for listener in bound {
            let front = Front::new(shared.clone(), speaks.clone(), tls.clone(), phases.clone());
            let accepting = accept(listener, Arc::new(front), phases.clone());
            listeners.push(tokio::spawn(accepting));
        }
    }
    let certificates = tls.into_iter().map(|tls| tls as Arc<dyn Reload>);
    let files = certificates.chain(credentials.into_iter().map(|known| known as Arc<dyn Reload>));
    let reloads = Arc::new(Reloads::new(files.collect()));
    if let Some(poll) = poll.filter(|_| !reloads.is_empty()) {
        tokio::spawn(look(Arc::clone(&reloads), poll, phases));
    }
    let (http, grpc, deploy) = (http_addresses, grpc_addresses, deploy_addresses);
    Ok(ServerHandle { http, grpc, deploy, admin: admin_addresses, node, phase, listeners, reloads })
}

/// What the connections of a port carry.
#[derive(Clone)]
enum Speaks {
    Http(Port),
    Grpc(Services),
}

impl Speaks {
    fn port(&self) -> Port {
        match self {
            Speaks::Http(port) => *port,
            Speaks::Grpc(_) => Port::Query,
        }
    }

    fn is_grpc(&self) -> bool {
        matches!(self, Speaks::Grpc(_))
    }
}

/// Looks for files that have changed until the server ends.
async fn look(reloads: Arc<Reloads>, poll: Duration, mut phase: watch::Receiver<Phase>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(poll) => {}
            _ = phase.wait_for(|&p| p == Phase::Abort) => return,
        }
        let reloads = Arc::clone(&reloads);
        let _ = tokio::task::spawn_blocking(move || reloads.run(false)).await;
    }
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
    front: Arc<Front>,
    mut phase: watch::Receiver<Phase>,
) -> GracefulShutdown {
    let connections = GracefulShutdown::new();
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
        front.connect(stream, &connections);
    }
    // Clients that the kernel has let in already are connected as far as they know.
    while let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, listener.accept()).await {
        front.connect(stream, &connections);
    }
    connections
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
