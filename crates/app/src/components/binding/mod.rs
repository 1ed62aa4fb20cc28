//! Bindings: patterns of URLs that say which requests a handler gets (Vespa, documentation,
//! `applications/http-api-reference.html`; `UriPattern` and `GlobPattern`).

mod glob;

use std::cmp::Ordering;
use std::fmt;

use glob::Glob;

/// The longest pattern; matching takes its length times that of a path.
const MAX_PATTERN: usize = 1024;

/// A pattern of URLs, such as `http://*/rank/*`.
///
/// It is `scheme://host[:port]/path`. `*` stands for any characters, none too; in the path `{name}` stands for the characters
/// of a part between slashes, at least one. Scheme `https` is `http`: both mean either. Patterns are ordered as Vespa orders
/// them, the more specific one first: by scheme, host, path and port; and `{name}` before `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingPattern {
    scheme: Glob,
    host: Glob,
    port: Option<u16>,
    path: Glob,
}

/// What a pattern found in a URL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Match<'t> {
    /// What each wildcard of the path stands for, in its order, with the name if it has one; still percent-encoded.
    pub wildcards: Vec<(Option<String>, &'t str)>,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// Something of it is missing.
    #[error("expected scheme://host[:port]/path such as http://*/rank/*, found {0}")]
    Form(String),
    /// Requests come by HTTP only.
    #[error("the scheme must be http or *, found {0}")]
    Scheme(String),
    /// The port is none.
    #[error("the port must be a number from 1 to 65535 or *, found {0}")]
    Port(String),
    /// Characters that URLs do not have.
    #[error("URLs have no {0:?}; write it percent-encoded")]
    Character(char),
    /// A name in braces is none, is there twice, or the braces do not match.
    #[error("expected {{name}} with a name of its own between slashes, found {0}")]
    Name(String),
    /// It is too long.
    #[error("the pattern has {0} bytes, the limit is 1024")]
    TooLong(usize),
}

impl BindingPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`BindingError`].
    pub fn parse(text: &str) -> Result<BindingPattern, BindingError> {
        let form = || BindingError::Form(text.to_owned());
        if text.len() > MAX_PATTERN {
            return Err(BindingError::TooLong(text.len()));
        }
        if let Some(other) = text.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '?' | '#'))
        {
            return Err(BindingError::Character(other));
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        let (authority, path) = rest.split_once('/').ok_or_else(form)?;
        let (host, port) = match authority.rsplit_once(':') {
            // Colons within brackets are those of an address.
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if scheme.is_empty() || host.is_empty() {
            return Err(form());
        }
        let scheme = match scheme {
            "http" | "https" => Glob::verbatim("http"),
            "*" => Glob::any(),
            other => return Err(BindingError::Scheme(other.to_owned())),
        };
        let port = match port {
            None | Some("*") => None,
            Some(port) => {
                let number = port.parse().ok().filter(|number| *number > 0);
                Some(number.ok_or_else(|| BindingError::Port(port.to_owned()))?)
            }
        };
        let host = Glob::of_stars(&host.to_ascii_lowercase());
        let path = Glob::of_path(path).map_err(BindingError::Name)?;
        Ok(BindingPattern { scheme, host, port, path })
    }

    /// Matches a request by `http` for a host, in small letters, its port and the path as it was sent, with its `/` in front.
    #[must_use]
    pub fn matches<'t>(&self, host: &str, port: u16, path: &'t str) -> Option<Match<'t>> {
        if self.port.is_some_and(|wanted| wanted != port) || !self.host.matches(host) {
            return None;
        }
        let found = self.path.captures(path.strip_prefix('/').unwrap_or(path));
        found.map(|wildcards| Match { wildcards })
    }

    /// Whether some URL matches both.
    #[must_use]
    pub fn meets(&self, other: &BindingPattern) -> bool {
        let ports = self.port.is_none() || other.port.is_none() || self.port == other.port;
        ports
            && self.scheme.meets(&other.scheme)
            && self.host.meets(&other.host)
            && self.path.meets(&other.path)
    }
}

impl Ord for BindingPattern {
    fn cmp(&self, other: &BindingPattern) -> Ordering {
        self.scheme
            .cmp(&other.scheme)
            .then_with(|| self.host.cmp(&other.host))
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| other.port.cmp(&self.port))
    }
}

impl PartialOrd for BindingPattern {
    fn partial_cmp(&self, other: &BindingPattern) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for BindingPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
        write!(f, "/{}", self.path)
    }
}

#[cfg(test)]
mod tests;
