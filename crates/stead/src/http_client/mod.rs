//! Just enough of an HTTP client to ask a stead server: one request on a connection of its own.
//!
//! It speaks HTTP/1.0, in which an answer ends with its connection, so that proxies in between cannot choose a
//! form that would have to be parsed.

mod access;
mod target;
mod wire;

pub use access::AccessArgs;
pub use target::{Target, segment};
pub use wire::{Speaks, dial};

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::failure::Failure;
use wire::Wire;

/// How long a server may take to accept, and between two pieces of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may go through documents before it comes to one that is wanted.
const PATIENCE_OF_STREAMS: Duration = Duration::from_secs(600);

/// The largest answer that is read: far above every state, far below the memory of any machine.
const MAX_ANSWER: u64 = 4 << 30;

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Target {
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
        let head = self.head(
            method,
            path,
            &format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n"),
        );
        // A server that refuses a request early answers before it has read everything.
        let sent = stream
            .write_all(&head)
            .and_then(|()| std::io::copy(&mut body.take(length), &mut stream).map(drop))
            .and_then(|()| stream.flush());
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
        let head = self.head("GET", path, &format!("Accept: {accept}\r\n"));
        stream.write_all(&head).and_then(|()| stream.flush()).map_err(none)?;
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

    /// The lines in front of a body.
    fn head(&self, method: &str, path: &str, headers: &str) -> Vec<u8> {
        let (prefix, host) = (self.prefix(), self.named());
        let mut head =
            format!("{method} {prefix}{path} HTTP/1.0\r\nHost: {host}\r\n{headers}").into_bytes();
        if let Some(authorization) = self.access().authorization() {
            head.extend_from_slice(b"Authorization: ");
            head.extend_from_slice(authorization.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    fn silent(&self, error: &std::io::Error) -> Failure {
        Failure::failed(format!(
            "no answer from {self}: {error}; is the server running (`stead serve`)? --target names \
             another one"
        ))
    }

    fn connect(&self, patience: Duration) -> std::io::Result<Wire> {
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        for address in (self.host(), self.port()).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(patience))?;
                    stream.set_write_timeout(Some(TIMEOUT))?;
                    return Wire::over(stream, self);
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
