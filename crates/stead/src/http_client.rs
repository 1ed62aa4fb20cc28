//! Just enough of an HTTP client to ask a stead server: one request on a connection of its own.
//!
//! It speaks HTTP/1.0, in which an answer ends with its connection, so that proxies in between cannot choose a
//! form that would have to be parsed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::failure::Failure;

/// How long a server may take to accept, and between two pieces of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may go through documents before it comes to one that is wanted.
const PATIENCE_OF_STREAMS: Duration = Duration::from_secs(600);

/// The largest answer that is read: far above every state, far below the memory of any machine.
const MAX_ANSWER: u64 = 4 << 30;

/// Where a server answers: `http://host[:port][/prefix]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Host and port, as the header `Host` has them.
    authority: String,
    port: u16,
    /// What a proxy puts in front of the server's paths; no slash at its end.
    prefix: String,
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let expected = "expected http://HOST:PORT, such as http://127.0.0.1:8080";
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => {
                return Err("https is not spoken here: use a tunnel to the server's HTTP port \
                            (ssh -L 8080:127.0.0.1:8080 HOST)"
                    .to_owned());
            }
            Some(_) => return Err(expected.to_owned()),
            None => text,
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let behind_bracket = authority.rsplit_once(']').map_or(authority, |(_, port)| port);
        let (name, port) = match behind_bracket.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| expected.to_owned())?),
            None => (behind_bracket, 80),
        };
        let visible = |c: char| c.is_ascii_graphic();
        let is_plain = !name.contains(':') && (!name.is_empty() || authority.starts_with('['));
        if !is_plain || authority.contains('@') || !rest.chars().all(visible) {
            return Err(expected.to_owned());
        }
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(Target { authority: authority.to_owned(), port, prefix })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority, self.prefix)
    }
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Target {
    /// The server at a socket address.
    pub fn at(address: std::net::SocketAddr) -> Target {
        Target { authority: address.to_string(), port: address.port(), prefix: String::new() }
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

    /// Sends one request; `path` is percent-encoded.
    ///
    /// # Errors
    /// No connection, and answers that break off.
    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> Result<Answer, Failure> {
        let length = body.len() as u64;
        self.send_body(method, path, "application/octet-stream", (&mut &*body, length), TIMEOUT)
    }

    /// Sends one request with a body of some length and type; the answer may take as long as `patience`.
    ///
    /// # Errors
    /// As [`Target::send`].
    pub fn send_body(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        (body, length): (&mut dyn Read, u64),
        patience: Duration,
    ) -> Result<Answer, Failure> {
        let none = |e| self.silent(&e);
        let mut stream = self.connect(patience).map_err(none)?;
        let head = format!(
            "{method} {}{path} HTTP/1.0\r\nHost: {}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n",
            self.prefix, self.authority,
        );
        // A server that refuses a request early answers before it has read everything.
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| std::io::copy(&mut body.take(length), &mut stream).map(drop));
        let mut bytes = Vec::new();
        let read = stream.take(MAX_ANSWER).read_to_end(&mut bytes);
        match parse(&bytes) {
            Some(answer) => Ok(answer),
            None => {
                sent.and(read).map_err(none)?;
                Err(Failure::failed(format!("what {self} answered is not whole, or no HTTP")))
            }
        }
    }

    /// Asks for something that takes any number of pieces, and leaves the reading to the caller; the headers are those of the
    /// request.
    ///
    /// # Errors
    /// As [`Target::send`].
    pub fn open(&self, path: &str, accept: &str) -> Result<(u16, impl BufRead + use<>), Failure> {
        let none = |e| self.silent(&e);
        let mut stream = self.connect(PATIENCE_OF_STREAMS).map_err(none)?;
        let head = format!(
            "GET {}{path} HTTP/1.0\r\nHost: {}\r\nAccept: {accept}\r\n\r\n",
            self.prefix, self.authority,
        );
        stream.write_all(head.as_bytes()).map_err(none)?;
        let mut reader = BufReader::with_capacity(1 << 16, stream);
        let mut status = None;
        loop {
            let mut line = String::new();
            // No header is longer.
            let read = reader.by_ref().take(1 << 16).read_line(&mut line).map_err(none)?;
            if read == 0 {
                return Err(Failure::failed(format!(
                    "what {self} answered is not whole, or no HTTP"
                )));
            }
            let line = line.trim_end();
            match status {
                None => {
                    status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).or(Some(0))
                }
                Some(status) if line.is_empty() => return Ok((status, reader)),
                Some(_) => {}
            }
        }
    }

    fn silent(&self, error: &std::io::Error) -> Failure {
        Failure::failed(format!(
            "no answer from {self}: {error}; is the server running (`stead serve`)? --target names \
             another one"
        ))
    }

    fn connect(&self, patience: Duration) -> std::io::Result<TcpStream> {
        let host = match self.authority.rsplit_once(':') {
            Some((host, _)) if !self.authority.ends_with(']') => host,
            _ => &self.authority,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        for address in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(patience))?;
                    stream.set_write_timeout(Some(TIMEOUT))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The answer in these bytes; `None` when they are not a whole one.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let body = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, value)| value.trim().parse::<usize>());
    let body = match length {
        Some(length) => body.get(..length.ok()?)?,
        None => body,
    };
    Some(Answer { status, body: body.to_vec() })
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
            ("https://host", None),
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
        }
    }

    #[test]
    fn answers_are_whole_or_none() {
        let cases: [(&[u8], Option<(u16, &[u8])>); 6] = [
            (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", Some((200, b"hi"))),
            (b"HTTP/1.0 404 Not Found\r\n\r\nno", Some((404, b"no"))),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi", None),
            (b"HTTP/1.1 200 OK\r\n", None),
            (b"SSH-2.0\r\n\r\n", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            let got = parse(bytes);
            let got = got.as_ref().map(|a| (a.status, &*a.body));
            assert_eq!(got, expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn segments_of_paths() {
        assert_eq!(segment("a/b \"\u{e9}\""), "a%2Fb%20%22%C3%A9%22");
    }
}
