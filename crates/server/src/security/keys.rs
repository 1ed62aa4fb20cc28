//! The keys that sign JSON Web Tokens, from a JWKS (RFC 7517, RFC 7518, section 6, and RFC 8037).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;

/// A shorter secret could be guessed from one token (RFC 7518, 3.2).
const SHORTEST_SECRET: usize = 32;

/// The keys of a set.
#[derive(Debug)]
pub struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    public: Public,
}

/// A key fits one algorithm only, so that nobody can choose another one for it.
enum Public {
    Secret(hmac::Key),
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl std::fmt::Debug for Public {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.algorithm())
    }
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    k: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// Reads the text of a set. Keys for other purposes and algorithms may stand beside those that are used.
    ///
    /// # Errors
    /// What is wrong, in words that never hold a key.
    pub fn read(text: &str) -> Result<Keys, String> {
        let set: Set = serde_json::from_str(text).map_err(|e| {
            format!(
                "no JSON Web Key Set, {{\"keys\": [..]}}: line {}, column {}",
                e.line(),
                e.column()
            )
        })?;
        let mut keys = Vec::new();
        for (i, jwk) in set.keys.iter().enumerate() {
            let bad = |text| match &jwk.kid {
                Some(kid) => format!("key `{kid}`: {text}"),
                None => format!("key {i}: {text}"),
            };
            let public = jwk.public().map_err(bad)?;
            let Some(public) = public.filter(|p| jwk.is_for(p)) else { continue };
            keys.push(Key { id: jwk.kid.clone(), public });
        }
        match keys.is_empty() {
            true => Err("there is no key for HS256, RS256, ES256 or EdDSA (Ed25519)".to_owned()),
            false => Ok(Keys(keys)),
        }
    }

    /// Whether one of the keys has signed this. A token that names its key is checked by that alone.
    pub fn verify(
        &self,
        algorithm: &str,
        id: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        let fits = |key: &&Key| {
            key.public.algorithm() == algorithm && (id.is_none() || key.id.as_deref() == id)
        };
        self.0.iter().filter(fits).any(|key| key.public.verify(message, signature))
    }
}

impl Jwk {
    /// The key; `None` for kinds that are not used.
    fn public(&self) -> Result<Option<Public>, String> {
        let number = |name: &str, text: &Option<String>| {
            let text = text.as_ref().ok_or_else(|| format!("it has no `{name}`"))?;
            URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("`{name}` is not base64url"))
        };
        let exactly = |name: &str, text: &Option<String>| match number(name, text)? {
            bytes if bytes.len() == 32 => Ok(bytes),
            _ => Err(format!("`{name}` is not 32 bytes")),
        };
        Ok(Some(match (self.kty.as_str(), self.crv.as_deref()) {
            ("oct", _) => {
                let secret = number("k", &self.k)?;
                if secret.len() < SHORTEST_SECRET {
                    return Err(format!("`k` is shorter than {SHORTEST_SECRET} bytes"));
                }
                Public::Secret(hmac::Key::new(hmac::HMAC_SHA256, &secret))
            }
            ("RSA", _) => {
                let n = number("n", &self.n)?;
                if n.len() < 256 {
                    return Err("`n` is shorter than 2048 bits".to_owned());
                }
                Public::Rsa { n, e: number("e", &self.e)? }
            }
            ("EC", Some("P-256")) => {
                Public::P256([vec![4], exactly("x", &self.x)?, exactly("y", &self.y)?].concat())
            }
            ("OKP", Some("Ed25519")) => Public::Ed25519(exactly("x", &self.x)?),
            _ => return Ok(None),
        }))
    }

    fn is_for(&self, public: &Public) -> bool {
        self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == public.algorithm())
    }
}

impl Public {
    fn algorithm(&self) -> &'static str {
        match self {
            Public::Secret(_) => "HS256",
            Public::Rsa { .. } => "RS256",
            Public::P256(_) => "ES256",
            Public::Ed25519(_) => "EdDSA",
        }
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Public::Secret(key) => hmac::verify(key, message, signature).is_ok(),
            Public::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Public::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(message, signature)
                .is_ok(),
            Public::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_are_wrong_are_told() {
        let secret = URL_SAFE_NO_PAD.encode([7; 32]);
        let cases = [
            ("x".to_owned(), Some("no JSON Web Key Set")),
            ("{}".to_owned(), Some("no JSON Web Key Set")),
            (r#"{"keys": []}"#.to_owned(), Some("there is no key")),
            (format!(r#"{{"keys": [{{"kty": "oct", "k": "{secret}"}}]}}"#), None),
            (
                format!(r#"{{"keys": [{{"kty": "oct", "k": "{secret}", "use": "enc"}}]}}"#),
                Some("there is no key"),
            ),
            (
                format!(r#"{{"keys": [{{"kty": "oct", "k": "{secret}", "alg": "HS512"}}]}}"#),
                Some("there is no key"),
            ),
            (
                r#"{"keys": [{"kty": "oct", "kid": "a", "k": "AAAA"}]}"#.to_owned(),
                Some("key `a`: `k` is shorter"),
            ),
            (r#"{"keys": [{"kty": "oct"}]}"#.to_owned(), Some("key 0: it has no `k`")),
            (
                r#"{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}"#.to_owned(),
                Some("2048 bits"),
            ),
            (
                r#"{"keys": [{"kty": "EC", "crv": "P-256", "x": "!", "y": ""}]}"#.to_owned(),
                Some("not base64url"),
            ),
            (
                r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AQAB"}]}"#.to_owned(),
                Some("not 32 bytes"),
            ),
            (
                r#"{"keys": [{"kty": "OKP", "crv": "X25519", "x": "AQAB"}]}"#.to_owned(),
                Some("there is no key"),
            ),
        ];
        for (text, expected) in cases {
            let error = Keys::read(&text).err();
            let is_right = match (&error, expected) {
                (Some(error), Some(expected)) => {
                    error.contains(expected) && !error.contains(&secret)
                }
                (error, expected) => error.is_none() && expected.is_none(),
            };
            assert!(is_right, "{text}: {error:?}");
        }
    }
}
