//! Connections to servers, with and without TLS: for threads that wait, and for tasks.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::Target;

/// A connection of a thread.
pub enum Wire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    /// Speaks TLS over a connection to the host of this name, if the target is https.
    pub fn over(stream: TcpStream, target: &Target) -> io::Result<Wire> {
        let Some(config) = tls(target)? else { return Ok(Wire::Plain(stream)) };
        let connection = ClientConnection::new(config, name(target)?).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        // Here, so that a certificate that is not trusted is told of before anything is sent.
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Wire::Tls(Box::new(stream)))
    }
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(stream) => stream.read(buf),
            Wire::Tls(stream) => stream.read(buf),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(stream) => stream.write(buf),
            Wire::Tls(stream) => stream.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(stream) => stream.flush(),
            Wire::Tls(stream) => stream.flush(),
        }
    }
}

/// A connection of a task.
pub trait AsyncWire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> AsyncWire for S {}

/// What a connection speaks: servers may ask for it within TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    Http1,
    Http2,
}

/// Connects to a server.
///
/// # Errors
/// Nobody accepts, or TLS fails.
pub async fn dial(target: &Target, speaks: Speaks) -> io::Result<Box<dyn AsyncWire>> {
    let stream = tokio::net::TcpStream::connect(target.authority()).await?;
    stream.set_nodelay(true)?;
    let Some(config) = tls(target)? else { return Ok(Box::new(stream)) };
    let mut config = ClientConfig::clone(&config);
    let protocol: &[u8] = match speaks {
        Speaks::Http1 => b"http/1.1",
        Speaks::Http2 => b"h2",
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TlsConnector::from(Arc::new(config)).connect(name(target)?, stream).await?;
    Ok(Box::new(stream))
}

fn tls(target: &Target) -> io::Result<Option<Arc<ClientConfig>>> {
    match (target.is_secure(), target.access().tls()) {
        (true, None) => Err(io::Error::other("https without certificates to trust")),
        (true, Some(config)) => Ok(Some(Arc::clone(config))),
        (false, _) => Ok(None),
    }
}

fn name(target: &Target) -> io::Result<ServerName<'static>> {
    ServerName::try_from(target.host().to_owned()).map_err(io::Error::other)
}
