//! What a client shows to a server that is not open to everybody, and what it takes as a proof of the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::http::HeaderValue;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::Target;
use crate::failure::Failure;

/// How to reach a server that wants to know who asks.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AccessArgs {
    /// The token that the server knows this client by. Other users of this machine see the flag, not the variable.
    #[arg(long, value_name = "TOKEN", env = "STEAD_TOKEN", hide_env_values = true)]
    token: Option<Secret>,
    /// The certificates (PEM) that the server's own must lead to, for https; those of this machine without it.
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The certificate (PEM) of this client, for a server that wants one.
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key (PEM) of --cert.
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// A text that is not printed by mistake.
#[derive(Clone)]
struct Secret(HeaderValue);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl std::str::FromStr for Secret {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Secret, &'static str> {
        let expected = "expected a token: letters, digits and signs, without spaces";
        let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        let value = HeaderValue::from_str(&format!("Bearer {text}"));
        let mut value = value.ok().filter(|_| is_plain).ok_or(expected)?;
        value.set_sensitive(true);
        Ok(Secret(value))
    }
}

/// What goes with every connection to a server.
#[derive(Debug, Clone, Default)]
pub struct Access {
    token: Option<Secret>,
    tls: Option<Arc<ClientConfig>>,
}

impl Access {
    /// The value of the header `Authorization`.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.token.as_ref().map(|token| &token.0)
    }

    /// How TLS is spoken, of a target that is https.
    pub fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }
}

impl AccessArgs {
    /// The target with what these flags say.
    ///
    /// # Errors
    /// Files that are missing or hold something else, and files of certificates for a target that is not https.
    pub fn reach(&self, target: &Target) -> Result<Target, Failure> {
        let tls = match target.is_secure() {
            true => Some(Arc::new(self.tls()?)),
            false => None,
        };
        let files = [("cacert", &self.cacert), ("cert", &self.cert)];
        if let Some((flag, _)) = files.iter().find(|(_, file)| file.is_some() && tls.is_none()) {
            return Err(Failure::usage(format!(
                "--{flag} goes with a target that begins with https://, and {target} does not"
            )));
        }
        Ok(target.clone().with(Access { token: self.token.clone(), tls }))
    }

    fn tls(&self) -> Result<ClientConfig, Failure> {
        let mut roots = RootCertStore::empty();
        match &self.cacert {
            Some(file) => {
                for certificate in certificates("cacert", file)? {
                    let bad = |e| Failure::failed(format!("--cacert: {}: {e}", file.display()));
                    roots.add(certificate).map_err(bad)?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(Failure::failed(
                        "this machine has no certificates that one for https could lead to: name them with --cacert",
                    ));
                }
            }
        }
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(Failure::failed)?
            .with_root_certificates(roots);
        let (Some(cert), Some(key)) = (&self.cert, &self.key) else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates("cert", cert)?;
        let bad = |e: &dyn std::fmt::Display| {
            Failure::failed(format!("--key: {}: no private key in PEM: {e}", key.display()))
        };
        let private = PrivateKeyDer::from_pem_file(key).map_err(|e| bad(&e))?;
        builder.with_client_auth_cert(chain, private).map_err(|e| {
            Failure::failed(format!(
                "--cert and --key: {} and {}: {e}",
                cert.display(),
                key.display()
            ))
        })
    }
}

/// The cryptography that is used, whatever else could be.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(flag: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let bad = |e: &dyn std::fmt::Display| {
        Failure::failed(format!("--{flag}: {}: no certificate in PEM: {e}", file.display()))
    };
    let read = CertificateDer::pem_file_iter(file).map_err(|e| bad(&e))?;
    let list = read.collect::<Result<Vec<_>, _>>().map_err(|e| bad(&e))?;
    match list.is_empty() {
        true => Err(bad(&"there is no BEGIN CERTIFICATE")),
        false => Ok(list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(target: &str, args: &AccessArgs) -> Result<Target, Failure> {
        args.reach(&target.parse().unwrap())
    }

    #[test]
    fn tokens_are_header_text_and_never_shown() {
        for (text, expected) in
            [("abc", true), ("a.b-c_=", true), ("", false), ("a b", false), ("a\nb", false)]
        {
            let secret = text.parse::<Secret>();
            assert_eq!(secret.is_ok(), expected, "{text:?}");
            assert!(!format!("{secret:?}").contains("abc"));
        }
    }

    #[test]
    fn files_go_with_https() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let args = AccessArgs { cacert: Some(file.clone()), ..AccessArgs::default() };
        assert!(matches!(reach("http://localhost:1", &args), Err(Failure::Usage(_))));
        let text = reach("https://localhost:1", &args).unwrap_err().to_string();
        assert!(text.contains("--cacert") && text.contains("ca.pem"), "{text}");
        std::fs::write(&file, "nothing").unwrap();
        let text = reach("https://localhost:1", &args).unwrap_err().to_string();
        assert!(text.contains("BEGIN CERTIFICATE"), "{text}");
    }
}
