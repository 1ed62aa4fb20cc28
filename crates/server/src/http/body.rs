//! Reading a request's body: bounded in size, in pieces, in time and after decompression.

use crate::fault::Fault;
use crate::linger::Unread;
use bytes::{Bytes, BytesMut};
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::io::Read;
use std::time::Duration;
use stead_node::Code;

/// More tiny pieces than this are no honest client: 64 MiB in pieces of 1 KiB are as many.
const MAX_TINY_PIECES: usize = 65_536;

/// A piece below this size counts as tiny.
const TINY_PIECE: usize = 64;

/// Work on more bytes than this leaves the thread that does I/O.
pub const LARGE: usize = 256 << 10;

fn too_large(limit: usize) -> Fault {
    Fault::new(
        Code::PayloadTooLarge,
        format!("request body is larger than the limit of {limit} bytes"),
    )
}

/// The pieces of a body that arrive within `pause` of each other.
#[derive(Debug)]
pub struct Pieces {
    body: Incoming,
    pause: Duration,
    unread: Unread,
}

impl Pieces {
    /// Those of a body. `unread` learns when all are read.
    pub fn new(body: Incoming, pause: Duration, unread: Unread) -> Pieces {
        Pieces { body, pause, unread }
    }

    /// The next one; nothing at the end.
    ///
    /// # Errors
    /// Bodies that are too slow or break off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let frame = match tokio::time::timeout(self.pause, self.body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) => return Err(Fault::invalid("request body broke off")),
                Ok(None) => {
                    self.unread.set(false);
                    return Ok(None);
                }
                Err(_) => {
                    let text = "request body arrives too slowly";
                    return Err(Fault::new(Code::DeadlineExceeded, text));
                }
            };
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
/// Bodies that are too large, too slow, or break off.
pub async fn read_body(mut pieces: Pieces, limit: usize) -> Result<Bytes, Fault> {
    let declared = pieces.body.size_hint().lower();
    if declared > limit as u64 {
        return Err(too_large(limit));
    }
    let mut first: Option<Bytes> = None;
    let mut all: Option<BytesMut> = None;
    let mut tiny = 0usize;
    while let Some(piece) = pieces.next().await? {
        let so_far = first.as_ref().map_or(0, Bytes::len) + all.as_ref().map_or(0, BytesMut::len);
        if so_far + piece.len() > limit {
            return Err(too_large(limit));
        }
        tiny += usize::from(piece.len() < TINY_PIECE);
        if tiny > MAX_TINY_PIECES {
            return Err(Fault::invalid("request body comes in too many pieces"));
        }
        // One piece is the common case and needs no copy.
        match (&mut all, first.take()) {
            (Some(all), _) => all.extend_from_slice(&piece),
            (None, None) => first = Some(piece),
            (None, Some(before)) => {
                let room = usize::try_from(declared).unwrap_or(0).max(so_far + piece.len());
                let mut buf = BytesMut::with_capacity(room.min(limit));
                buf.extend_from_slice(&before);
                buf.extend_from_slice(&piece);
                all = Some(buf);
            }
        }
    }
    Ok(match (all, first) {
        (Some(all), _) => all.freeze(),
        (None, Some(first)) => first,
        (None, None) => Bytes::new(),
    })
}

/// How a body is encoded, by `Content-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 1950; RFC 1951 without its header is read as well, as browsers do.
    Deflate,
}

impl Encoding {
    /// The encoding that a header names.
    ///
    /// # Errors
    /// Encodings other than gzip and deflate.
    pub fn from_header(value: Option<&str>) -> Result<Encoding, Fault> {
        match value.map(|v| v.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Ok(Encoding::Identity),
            Some("gzip" | "x-gzip") => Ok(Encoding::Gzip),
            Some("deflate") => Ok(Encoding::Deflate),
            Some(_) => Err(Fault::new(
                Code::UnsupportedEncoding,
                "Unsupported compression type - gzip and deflate are",
            )),
        }
    }
}

/// Decompresses a body to at most `limit` bytes.
///
/// # Errors
/// Data that is not what the encoding says, and results above the limit.
pub fn decode(body: Bytes, encoding: Encoding, limit: usize) -> Result<Bytes, Fault> {
    let input = body.as_ref();
    match encoding {
        Encoding::Identity => Ok(body),
        Encoding::Gzip => inflate(MultiGzDecoder::new(input), limit),
        Encoding::Deflate if has_zlib_header(input) => inflate(ZlibDecoder::new(input), limit),
        Encoding::Deflate => inflate(DeflateDecoder::new(input), limit),
    }
}

fn has_zlib_header(input: &[u8]) -> bool {
    matches!(input, [a, b, ..] if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0)
}

fn inflate(decoder: impl Read, limit: usize) -> Result<Bytes, Fault> {
    let mut out = Vec::new();
    let bound = (limit as u64).saturating_add(1);
    decoder
        .take(bound)
        .read_to_end(&mut out)
        .map_err(|_| Fault::invalid("request body is not what its Content-Encoding says"))?;
    if out.len() > limit { Err(too_large(limit)) } else { Ok(out.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::Write;

    #[test]
    fn encodings_round_trip_and_are_bounded() {
        let text = vec![b'a'; 10_000];
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(&text).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&text).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(&text).unwrap();
        let cases = [
            (Encoding::Gzip, gz.finish().unwrap()),
            (Encoding::Deflate, zlib.finish().unwrap()),
            (Encoding::Deflate, raw.finish().unwrap()),
        ];
        for (encoding, body) in cases {
            let body = Bytes::from(body);
            assert_eq!(decode(body.clone(), encoding, 10_000).unwrap(), text, "{encoding:?}");
            let bomb = decode(body.clone(), encoding, 9_999).unwrap_err();
            assert_eq!(bomb.0.code, Code::PayloadTooLarge);
            assert!(decode(body.slice(..10), encoding, 10_000).is_err(), "cut off");
        }
        assert!(decode(Bytes::from_static(b"xxxx"), Encoding::Gzip, 10).is_err());
    }

    #[test]
    fn header_values() {
        let cases = [
            (None, Some(Encoding::Identity)),
            (Some("GZIP"), Some(Encoding::Gzip)),
            (Some("deflate"), Some(Encoding::Deflate)),
            (Some("br"), None),
            (Some("gzip, gzip"), None),
        ];
        for (value, expected) in cases {
            assert_eq!(Encoding::from_header(value).ok(), expected, "{value:?}");
        }
    }
}
