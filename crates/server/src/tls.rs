//! TLS for all ports: certificates from files, read anew when these change, without any connection noticing.

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// The files of TLS, all of them PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate of the server, and those between it and one that clients trust.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Certificates that those of clients must lead to; without it clients need none.
    pub client_ca: Option<PathBuf>,
}

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that is missing or holds something else.
    #[error("{flag}: {path}: {reason}", path = path.display())]
    File {
        /// The flag that names the file.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// Files that are right and do not go together.
    #[error(
        "--tls_cert and --tls_key do not go together: {0}; the key must be that of the first certificate"
    )]
    Pair(rustls::Error),
    /// Certificates that no client's can lead to.
    #[error("--tls_client_ca: {0}")]
    Clients(String),
}

/// What TLS is spoken with at present.
#[derive(Debug)]
pub struct Tls {
    options: TlsOptions,
    current: ArcSwap<Configs>,
}

/// The same certificates for two kinds of ports.
#[derive(Debug)]
struct Configs {
    http: Arc<ServerConfig>,
    grpc: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// As [`TlsError`] says.
    pub fn load(options: TlsOptions) -> Result<Tls, TlsError> {
        let current = ArcSwap::from_pointee(Configs::read(&options)?);
        Ok(Tls { options, current })
    }

    /// Reads the files again, for connections from now on.
    ///
    /// # Errors
    /// As [`TlsError`] says; what was read before stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.current.store(Arc::new(Configs::read(&self.options)?));
        Ok(())
    }

    /// The files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        let TlsOptions { certificate, key, client_ca } = &self.options;
        [certificate, key].into_iter().chain(client_ca).cloned().collect()
    }

    /// What a new connection is accepted with.
    pub fn acceptor(&self, grpc: bool) -> TlsAcceptor {
        let current = self.current.load();
        TlsAcceptor::from(Arc::clone(if grpc { &current.grpc } else { &current.http }))
    }
}

impl Configs {
    fn read(options: &TlsOptions) -> Result<Configs, TlsError> {
        let chain = certificates("--tls_cert", &options.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&options.key).map_err(|e| {
            let what = "expected a private key in PEM that is not encrypted \
                        (`openssl pkey -in FILE -out NEW` decrypts one)";
            file("--tls_key", &options.key, &e, what)
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Pair)?;
        let builder = match &options.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates("--tls_client_ca", path)? {
                    roots.add(certificate).map_err(|e| TlsError::Clients(e.to_string()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|e| TlsError::Clients(e.to_string()))?,
                )
            }
        };
        let mut grpc = builder.with_single_cert(chain, key).map_err(TlsError::Pair)?;
        let mut http = grpc.clone();
        grpc.alpn_protocols = vec![b"h2".to_vec()];
        http.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Configs { http: Arc::new(http), grpc: Arc::new(grpc) })
    }
}

fn certificates(flag: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let what = "expected certificates in PEM (-----BEGIN CERTIFICATE-----)";
    let bad = |e: &dyn std::fmt::Display| file(flag, path, e, what);
    let read = CertificateDer::pem_file_iter(path).map_err(|e| bad(&e))?;
    let list = read.collect::<Result<Vec<_>, _>>().map_err(|e| bad(&e))?;
    match list.is_empty() {
        true => Err(bad(&"there are none")),
        false => Ok(list),
    }
}

fn file(flag: &'static str, path: &Path, error: &dyn std::fmt::Display, what: &str) -> TlsError {
    TlsError::File { flag, path: path.to_owned(), reason: format!("{error}; {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate for `localhost` and its key, as PEM.
    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn bad_files_are_told_and_leave_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let ((cert, key), (_, other)) = (pair(), pair());
        let cases = [
            ("nothing", Some(&*cert), None, "--tls_key: "),
            ("no certificate", None, Some(&*key), "--tls_cert: "),
            ("text", Some("text"), Some(&*key), "BEGIN CERTIFICATE"),
            ("a key as certificate", Some(&*key), Some(&*key), "there are none"),
            ("a certificate as key", Some(&*cert), Some(&*cert), "private key in PEM"),
            ("of another", Some(&*cert), Some(&*other), "do not go together"),
        ];
        let (certificate, path) = (at("cert.pem"), at("key.pem"));
        let options =
            TlsOptions { certificate: certificate.clone(), key: path.clone(), client_ca: None };
        let write = |file: &Path, text: Option<&str>| match text {
            Some(text) => std::fs::write(file, text).unwrap(),
            None => drop(std::fs::remove_file(file)),
        };
        write(&certificate, Some(&cert));
        write(&path, Some(&key));
        let good = Tls::load(options.clone()).unwrap();
        let before = good.current.load_full();
        for (label, cert, key, expected) in cases {
            write(&certificate, cert);
            write(&path, key);
            let text = Tls::load(options.clone()).unwrap_err().to_string();
            assert!(text.contains(expected), "{label}: {text}");
            assert!(good.reload().is_err(), "{label}");
            assert!(Arc::ptr_eq(&before, &good.current.load_full()), "{label}");
        }
        write(&certificate, Some(&cert));
        write(&path, Some(&key));
        good.reload().unwrap();
        assert!(!Arc::ptr_eq(&before, &good.current.load_full()));
        let of_clients = TlsOptions { client_ca: Some(at("none.pem")), ..options };
        let text = Tls::load(of_clients).unwrap_err().to_string();
        assert!(text.contains("--tls_client_ca: "), "{text}");
    }
}
