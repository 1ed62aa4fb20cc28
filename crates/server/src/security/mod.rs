//! Who may do what: tokens and their roles, how much one client may ask, and where administration is taken.

mod access;
mod guard;
mod jwt;
mod keys;
mod limits;
mod role;
mod tokens;

pub use guard::{Caller, Guard, Hint};
pub use limits::{LimitOptions, Limits, Permit};
pub use role::Role;

use arc_swap::ArcSwap;
use jwt::Expected;
use keys::Keys;
use role::Grants;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokens::Tokens;

use crate::serve::Reload;

/// How clients say who they are. With neither file no client has to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthOptions {
    /// The file of tokens.
    pub tokens: Option<PathBuf>,
    /// A JSON Web Key Set with the keys of those who make JSON Web Tokens.
    pub jwks: Option<PathBuf>,
    /// The `iss` that these must have.
    pub issuer: Option<String>,
    /// What their `aud` must name.
    pub audience: Option<String>,
    /// The claim with their roles.
    pub roles_claim: String,
    /// The application that roles for one application must name to be good here.
    pub application: String,
}

impl Default for AuthOptions {
    fn default() -> AuthOptions {
        AuthOptions {
            tokens: None,
            jwks: None,
            issuer: None,
            audience: None,
            roles_claim: "roles".to_owned(),
            application: "default".to_owned(),
        }
    }
}

/// A file of tokens or keys that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: {path}: {reason}", path = path.display())]
pub struct AuthError {
    flag: &'static str,
    path: PathBuf,
    reason: String,
}

/// The tokens that are good at present.
#[derive(Debug)]
pub struct Credentials {
    options: AuthOptions,
    tokens: ArcSwap<Tokens>,
    keys: ArcSwap<Option<Keys>>,
}

/// Who shows a token.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    name: String,
    grants: Grants,
}

impl Credentials {
    /// Reads the files.
    ///
    /// # Errors
    /// As [`AuthError`] says.
    pub fn load(options: AuthOptions) -> Result<Credentials, AuthError> {
        let (tokens, keys) = read(&options)?;
        Ok(Credentials::of(options, tokens, keys))
    }

    /// Those of texts instead of files, which are not read again.
    ///
    /// # Errors
    /// What is wrong with a text, in words that hold neither token nor key.
    pub fn of_texts(
        options: AuthOptions,
        tokens: Option<&str>,
        jwks: Option<&str>,
    ) -> Result<Credentials, String> {
        let tokens = tokens.map(Tokens::read).transpose()?.unwrap_or_default();
        let keys = jwks.map(Keys::read).transpose()?;
        Ok(Credentials::of(AuthOptions { tokens: None, jwks: None, ..options }, tokens, keys))
    }

    fn of(options: AuthOptions, tokens: Tokens, keys: Option<Keys>) -> Credentials {
        let (tokens, keys) = (ArcSwap::from_pointee(tokens), ArcSwap::from_pointee(keys));
        Credentials { options, tokens, keys }
    }

    /// The name of who shows this, at a time in seconds of Unix time.
    pub fn name(&self, shown: &str, now: i64) -> Option<String> {
        self.known(shown, now).map(|known| known.name)
    }

    /// Who shows this, at a time in seconds of Unix time.
    fn known(&self, shown: &str, now: i64) -> Option<Known> {
        if let Some(token) = self.tokens.load().find(shown, now) {
            return Some(Known { name: token.name.clone(), grants: token.grants.clone() });
        }
        let keys = self.keys.load();
        let keys = Option::as_ref(&keys).filter(|_| jwt::is_like(shown))?;
        let AuthOptions { issuer, audience, roles_claim, .. } = &self.options;
        let (issuer, audience) = (issuer.clone(), audience.clone());
        let expected = Expected { issuer, audience, roles_claim: roles_claim.clone() };
        match jwt::check(shown, keys, &expected, now) {
            Ok(claims) => Some(Known { name: claims.name, grants: claims.grants }),
            Err(reason) => {
                tracing::debug!(reason, "a JSON Web Token was refused");
                None
            }
        }
    }
}

impl Reload for Credentials {
    fn what(&self) -> &'static str {
        "tokens and keys"
    }

    fn files(&self) -> Vec<PathBuf> {
        let AuthOptions { tokens, jwks, .. } = &self.options;
        tokens.iter().chain(jwks).cloned().collect()
    }

    fn reload(&self) -> Result<(), String> {
        let (tokens, keys) = read(&self.options).map_err(|e| e.to_string())?;
        self.tokens.store(Arc::new(tokens));
        self.keys.store(Arc::new(keys));
        Ok(())
    }
}

fn read(options: &AuthOptions) -> Result<(Tokens, Option<Keys>), AuthError> {
    let tokens = options.tokens.as_deref().map(|path| file("--tokens_file", path, Tokens::read));
    let keys = options.jwks.as_deref().map(|path| file("--jwks_file", path, Keys::read));
    Ok((tokens.transpose()?.unwrap_or_default(), keys.transpose()?))
}

fn file<T>(
    flag: &'static str,
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, AuthError> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
    text.and_then(|text| parse(&text)).map_err(|reason| AuthError {
        flag,
        path: path.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests;
