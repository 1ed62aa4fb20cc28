//! Where a server answers, and what goes with each request to it.

use hyper::http::header::AUTHORIZATION;
use hyper::http::request::Builder;

use super::access::Access;

/// Where a server answers: `http[s]://host[:port][/prefix]`.
#[derive(Debug, Clone)]
pub struct Target {
    is_secure: bool,
    /// Host and port, as the header `Host` has them.
    authority: String,
    port: u16,
    /// What a proxy puts in front of the server's paths; no slash at its end.
    prefix: String,
    access: Access,
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let expected =
            "expected http://HOST:PORT or https://HOST:PORT, such as http://127.0.0.1:8080";
        let (is_secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return Err(expected.to_owned()),
            None => (false, text),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let behind_bracket = authority.rsplit_once(']').map_or(authority, |(_, port)| port);
        let (name, port) = match behind_bracket.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| expected.to_owned())?),
            None => (behind_bracket, if is_secure { 443 } else { 80 }),
        };
        let visible = |c: char| c.is_ascii_graphic();
        let is_plain = !name.contains(':') && (!name.is_empty() || authority.starts_with('['));
        if !is_plain || authority.contains('@') || !rest.chars().all(visible) {
            return Err(expected.to_owned());
        }
        let prefix = path.trim_end_matches('/').to_owned();
        let authority = authority.to_owned();
        Ok(Target { is_secure, authority, port, prefix, access: Access::default() })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority, self.prefix)
    }
}

impl Target {
    /// The server at a socket address.
    pub fn at(address: std::net::SocketAddr) -> Target {
        let (authority, port) = (address.to_string(), address.port());
        Target {
            is_secure: false,
            authority,
            port,
            prefix: String::new(),
            access: Access::default(),
        }
    }

    /// Host and port, as a connection and the header `Host` have them.
    pub fn authority(&self) -> String {
        match self.authority.rsplit_once(':') {
            Some((_, port)) if !port.ends_with(']') => self.authority.clone(),
            _ => format!("{}:{}", self.authority, self.port),
        }
    }

    /// What stands in front of every path; no slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }

    /// Whether it is https.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// The host and port as they were written.
    pub fn named(&self) -> &str {
        &self.authority
    }

    /// The name or address of the host, without brackets.
    pub fn host(&self) -> &str {
        let host = match self.authority.rsplit_once(':') {
            Some((host, _)) if !self.authority.ends_with(']') => host,
            _ => &self.authority,
        };
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The same server, reached with what `access` has.
    pub fn with(self, access: Access) -> Target {
        Target { access, ..self }
    }

    /// What goes with every connection.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// A request with the token, if there is one.
    pub fn authorize(&self, request: Builder) -> Builder {
        match self.access.authorization() {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        }
    }
}

/// A text as one segment of a path.
pub fn segment(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    text.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let cases = [
            ("http://localhost:8080", Some(("localhost:8080", 8080, ""))),
            ("http://localhost:8080/", Some(("localhost:8080", 8080, ""))),
            ("localhost:8080", Some(("localhost:8080", 8080, ""))),
            ("http://host/models/", Some(("host", 80, "/models"))),
            ("http://[::1]:5", Some(("[::1]:5", 5, ""))),
            ("http://[::1]", Some(("[::1]", 80, ""))),
            ("https://host", Some(("host", 443, ""))),
            ("ftp://host", None),
            ("http://", None),
            ("http://host:x", None),
            ("http://::1:80", None),
            ("http://a b", None),
            ("http://user@host", None),
        ];
        for (text, expected) in cases {
            let target = text.parse::<Target>();
            let got = target.as_ref().ok().map(|t| (&*t.authority, t.port, &*t.prefix));
            assert_eq!(got, expected, "{text}");
            assert_eq!(target.is_ok_and(|t| t.is_secure()), text.starts_with("https"), "{text}");
        }
    }

    #[test]
    fn segments_of_paths() {
        assert_eq!(segment("a/b \"\u{e9}\""), "a%2Fb%20%22%C3%A9%22");
    }
}
