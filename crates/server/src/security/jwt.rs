//! JSON Web Tokens (RFC 7515 and RFC 7519) in their compact form.

use super::keys::Keys;
use super::role::Grants;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The clocks of those who make tokens may differ by so many seconds.
const LEEWAY: i64 = 30;

/// Longer tokens are not looked at.
const LONGEST: usize = 16 << 10;

/// What a token must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// `iss`, if it matters.
    pub issuer: Option<String>,
    /// What `aud` must name; without it a token must not have an `aud`.
    pub audience: Option<String>,
    /// The claim with roles: a text of them with spaces between them, or a list.
    pub roles_claim: String,
}

/// What a token says that is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Who shows it: issuer and subject.
    pub name: String,
    /// What it is good for.
    pub grants: Grants,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// Whether a text has the form of a token.
pub fn is_like(text: &str) -> bool {
    text.split('.').count() == 3
}

/// Checks a token at a time in seconds of Unix time.
///
/// # Errors
/// Why it is not good, for the log alone.
pub fn check(
    text: &str,
    keys: &Keys,
    expected: &Expected,
    now: i64,
) -> Result<Claims, &'static str> {
    if text.len() > LONGEST {
        return Err("it is too long");
    }
    let (message, signature) = text.rsplit_once('.').ok_or("it has no signature")?;
    let (header, payload) = message.split_once('.').ok_or("it has no payload")?;
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "a part is not base64url");
    let header: Header =
        serde_json::from_slice(&decoded(header)?).map_err(|_| "its header cannot be read")?;
    if header.crit.is_some() {
        return Err("it has critical headers, none of which is known");
    }
    if !keys.verify(&header.alg, header.kid.as_deref(), message.as_bytes(), &decoded(signature)?) {
        return Err("no key has signed it");
    }
    let claims: Map<String, Value> =
        serde_json::from_slice(&decoded(payload)?).map_err(|_| "its claims cannot be read")?;
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(|t| Some(t as i64)).ok_or("a time is no number"),
    };
    match time("exp")? {
        None => return Err("it never expires"),
        Some(exp) if now >= exp.saturating_add(LEEWAY) => return Err("it has expired"),
        Some(_) => {}
    }
    if time("nbf")?.is_some_and(|nbf| now < nbf.saturating_sub(LEEWAY)) {
        return Err("it is not valid yet");
    }
    let issuer = claims.get("iss").and_then(Value::as_str);
    if expected.issuer.is_some() && issuer != expected.issuer.as_deref() {
        return Err("it is of another issuer");
    }
    let is_meant = match (claims.get("aud"), expected.audience.as_deref()) {
        (None, wanted) => wanted.is_none(),
        (Some(_), None) => false,
        (Some(Value::Array(list)), Some(wanted)) => list.iter().any(|one| one == wanted),
        (Some(one), Some(wanted)) => one == wanted,
    };
    if !is_meant {
        return Err("it is for another audience");
    }
    let grants = match claims.get(&expected.roles_claim) {
        Some(Value::String(text)) => text.split_whitespace().filter_map(Grants::grant).collect(),
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).filter_map(Grants::grant).collect()
        }
        _ => Grants::default(),
    };
    let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
    Ok(Claims { name: format!("{} {subject}", issuer.unwrap_or_default()), grants })
}
