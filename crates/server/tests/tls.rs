//! Ports that speak TLS: what is agreed on, who is let in, and certificates that change while connections are open.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use stead_server::TlsOptions;
use tempfile::TempDir;

use crate::common::Fixture;

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// An authority with certificates for a server and a client.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key, as PEM.
    fn pair(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let made = params.signed_by(&key, &self.0).unwrap();
        (made.pem(), key.serialize_pem())
    }

    /// Puts a new pair into the files of a server.
    fn write(&self, folder: &Path) {
        let (cert, key) = self.pair();
        std::fs::write(folder.join("cert.pem"), cert).unwrap();
        std::fs::write(folder.join("key.pem"), key).unwrap();
    }

    /// What a client has that trusts this authority, and shows a certificate of `own`.
    fn client(&self, own: Option<&Authority>, protocols: &[&str]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match own.map(Authority::pair) {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let cert = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![cert], key).unwrap()
            }
        };
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        Arc::new(config)
    }
}

fn options(folder: &Path, client_ca: bool) -> TlsOptions {
    TlsOptions {
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
        client_ca: client_ca.then(|| folder.join("ca.pem")),
    }
}

/// A server with a certificate of an authority, which only looks at its files when it is told to.
fn server(authority: &Authority, of_clients: Option<&Authority>) -> (Fixture, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    authority.write(folder.path());
    if let Some(other) = of_clients {
        std::fs::write(folder.path().join("ca.pem"), other.0.pem()).unwrap();
    }
    let tls = options(folder.path(), of_clients.is_some());
    let fixture = Fixture::with(|options| {
        options.tls = Some(tls);
        options.reload_poll = None;
    });
    (fixture, folder)
}

fn open(at: SocketAddr, config: &Arc<ClientConfig>) -> std::io::Result<Stream> {
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut stream = StreamOwned::new(connection, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// The status line of an answer to a request that leaves the connection open.
fn ask(stream: &mut Stream) -> std::io::Result<String> {
    stream.write_all(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    // The answer has no body.
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        answer.push(byte[0]);
    }
    let text = String::from_utf8(answer).unwrap();
    Ok(text.lines().next().unwrap().to_owned())
}

fn shown(stream: &Stream) -> Vec<u8> {
    stream.conn.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn each_port_agrees_on_what_it_speaks() {
    let authority = Authority::new();
    let (server, _folder) = server(&authority, None);
    let cases: [(&str, SocketAddr, &[&str], Option<&str>); 6] = [
        ("http by default", server.http, &[], None),
        ("http/1.1", server.http, &["http/1.1"], Some("http/1.1")),
        ("h2 is preferred", server.http, &["http/1.1", "h2"], Some("h2")),
        ("grpc", server.grpc, &["h2"], Some("h2")),
        ("grpc of clients that do not say", server.grpc, &[], None),
        ("http on the port of grpc", server.grpc, &["http/1.1"], Some("refused")),
    ];
    for (label, at, protocols, expected) in cases {
        let got = match open(at, &authority.client(None, protocols)) {
            Ok(stream) => {
                stream.conn.alpn_protocol().map(|p| String::from_utf8(p.to_vec()).unwrap())
            }
            Err(_) => Some("refused".to_owned()),
        };
        assert_eq!(got.as_deref(), expected, "{label}");
    }
    let mut stream = open(server.http, &authority.client(None, &["http/1.1"])).unwrap();
    assert_eq!(ask(&mut stream).unwrap(), "HTTP/1.1 200 OK");
    // Who does not speak TLS learns nothing.
    let mut plain = TcpStream::connect(server.http).unwrap();
    plain.write_all(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn clients_need_certificates_of_the_right_authority() {
    let (authority, of_clients, other) = (Authority::new(), Authority::new(), Authority::new());
    let (server, _folder) = server(&authority, Some(&of_clients));
    for (label, own, expected) in [
        ("none", None, false),
        ("of another authority", Some(&other), false),
        ("of the server's authority", Some(&authority), false),
        ("right", Some(&of_clients), true),
    ] {
        let config = authority.client(own, &["http/1.1"]);
        // With TLS 1.3 a client learns that it is refused when it reads.
        let answer = open(server.http, &config).and_then(|mut stream| ask(&mut stream));
        assert_eq!(answer.is_ok(), expected, "{label}: {answer:?}");
    }
}

#[test]
fn certificates_change_while_connections_are_open() {
    let (first, second) = (Authority::new(), Authority::new());
    let (server, folder) = server(&first, None);
    let reload = || {
        let handle = server.handle.as_ref().unwrap();
        server.runtime().block_on(handle.reload())
    };
    let trusts = |authority: &Authority| {
        open(server.http, &authority.client(None, &["http/1.1"])).map(|stream| shown(&stream))
    };
    let mut kept = open(server.http, &first.client(None, &["http/1.1"])).unwrap();
    assert_eq!(ask(&mut kept).unwrap(), "HTTP/1.1 200 OK");
    assert_eq!(trusts(&first).unwrap(), shown(&kept));

    std::fs::write(folder.path().join("cert.pem"), "half of a").unwrap();
    assert!(!reload());
    assert_eq!(trusts(&first).unwrap(), shown(&kept));

    second.write(folder.path());
    assert_eq!(trusts(&first).unwrap(), shown(&kept), "nobody has told it");
    assert!(reload());
    assert!(trusts(&first).is_err());
    assert_ne!(trusts(&second).unwrap(), shown(&kept));
    assert_eq!(ask(&mut kept).unwrap(), "HTTP/1.1 200 OK");
}

#[test]
fn a_server_whose_files_are_bad_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    Authority::new().write(folder.path());
    let node = Fixture::start().node.clone();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = stead_server::ServerOptions {
        http: vec!["127.0.0.1:0".parse().unwrap()],
        tls: Some(options(folder.path(), true)),
        ..Default::default()
    };
    let error = runtime.block_on(stead_server::serve(options, node)).unwrap_err();
    assert!(error.to_string().starts_with("--tls_client_ca: "), "{error}");
}
