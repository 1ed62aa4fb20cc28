//! Answers, and what is done to all of them: error bodies, compression, CORS.

use super::stream::{ReplyBody, Stream};
use crate::fault::Fault;
use crate::options::CorsOptions;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue,
    RETRY_AFTER, VARY,
};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{Either, Full};
use serde::Serialize;
use std::io::Write;
use stead_node::{Code, Error};

/// The header that says how many bytes of a body are JSON.
pub const INFERENCE_HEADER: HeaderName = HeaderName::from_static("inference-header-content-length");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");

/// Smaller answers are not worth compressing: they fit one packet.
const MIN_COMPRESSED: usize = 1024;

/// Which server's codes and texts a path follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `/v2` and everything that is not below `/v1`: Triton.
    Kserve,
    /// `/v1`: OpenVINO Model Server's TensorFlow Serving API.
    Tfs,
    /// The deploy port: Vespa's config server.
    Deploy,
}

impl Dialect {
    /// The HTTP status of a failure.
    pub fn status(self, code: Code) -> StatusCode {
        let row = code.row();
        let status = match self {
            Dialect::Kserve => row.kserve_http,
            Dialect::Tfs => row.tfs_http,
            Dialect::Deploy => row.deploy_http.0,
        };
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// An answer before the headers that all have.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The media type.
    pub content_type: HeaderValue,
    /// The body.
    pub body: Bytes,
    /// A header beside those that tell of the body.
    pub header: Option<(HeaderName, HeaderValue)>,
    /// More headers, of answers that are not the server's own; the body is not compressed if they say how it is encoded.
    pub more: HeaderMap,
    /// What the body is in the place of `body`, if it is made while it is sent; it is not compressed.
    pub stream: Option<Stream>,
}

impl Reply {
    /// 200 without a body.
    pub fn empty() -> Reply {
        let (body, content_type) = (Bytes::new(), TEXT);
        let more = HeaderMap::new();
        Reply { status: StatusCode::OK, content_type, body, header: None, more, stream: None }
    }

    /// 200 with JSON text.
    pub fn json(body: impl Into<Bytes>) -> Reply {
        Reply { content_type: JSON, body: body.into(), ..Reply::empty() }
    }

    /// 200 with a value as JSON.
    ///
    /// # Errors
    /// Values that JSON cannot carry, which no answer holds.
    pub fn serialize(value: &impl Serialize) -> Result<Reply, Fault> {
        match serde_json::to_vec(value) {
            Ok(body) => Ok(Reply::json(body)),
            Err(e) => Err(Fault::new(Code::Internal, format!("answer is no JSON: {e}"))),
        }
    }

    /// 200 with plain text of the media type given.
    pub fn text(body: String, content_type: &'static str) -> Reply {
        let content_type = HeaderValue::from_static(content_type);
        Reply { content_type, body: body.into(), ..Reply::empty() }
    }

    /// 200 with bytes that are no text.
    pub fn octets(body: Bytes) -> Reply {
        Reply { content_type: OCTETS, body, ..Reply::empty() }
    }

    /// 200 with tensors: JSON, and raw bytes behind it when `json_len` is given.
    pub fn tensors(body: Vec<u8>, json_len: Option<usize>) -> Reply {
        let content_type = if json_len.is_some() { OCTETS } else { JSON };
        let header = json_len.map(|length| (INFERENCE_HEADER, HeaderValue::from(length)));
        Reply { content_type, body: body.into(), header, ..Reply::empty() }
    }

    /// `{"error": "..."}`, or `{"error-code": "...", "message": "..."}`, with the status of the dialect.
    pub fn error(error: &Error, dialect: Dialect) -> Reply {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Body {
            Plain {
                error: String,
            },
            Deploy {
                #[serde(rename = "error-code")]
                code: &'static str,
                message: String,
            },
        }
        let status = dialect.status(error.code);
        if status == StatusCode::NO_CONTENT {
            return Reply { status, ..Reply::empty() };
        }
        let text = error.to_string();
        let body = match dialect {
            Dialect::Kserve | Dialect::Tfs => Body::Plain { error: text },
            Dialect::Deploy => Body::Deploy { code: error.code.row().deploy_http.1, message: text },
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let header = error.retry_after().map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds)));
        Reply { status, header, ..Reply::json(body) }
    }

    /// The answer as hyper sends it, compressed when the client takes it and it pays.
    pub fn into_response(self, accept_encoding: Option<&str>) -> Response<ReplyBody> {
        let is_final = self.body.len() < MIN_COMPRESSED || self.more.contains_key(CONTENT_ENCODING);
        let accepted = if is_final { None } else { accept_encoding };
        let (body, encoding) = match accepted.and_then(Accepted::from_header) {
            Some(Accepted::Gzip) => (gzip(&self.body), Some("gzip")),
            Some(Accepted::Deflate) => (zlib(&self.body), Some("deflate")),
            None => (None, None),
        };
        let (body, encoding) = match body {
            Some(body) => (body, encoding),
            None => (self.body, None),
        };
        let body = match self.stream {
            Some(stream) => Either::Right(stream),
            None => Either::Left(Full::new(body)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        *headers = self.more;
        headers.insert(CONTENT_TYPE, self.content_type);
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
            headers.append(VARY, HeaderValue::from_static("accept-encoding"));
        }
        response
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepted {
    Gzip,
    Deflate,
}

impl Accepted {
    /// The first of gzip and deflate that a client takes.
    fn from_header(value: &str) -> Option<Accepted> {
        let takes = |name: &str| {
            value.split(',').any(|part| {
                let mut words = part.split(';').map(str::trim);
                let named = words.next().is_some_and(|n| n.eq_ignore_ascii_case(name));
                named && !words.any(|w| matches!(w, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
            })
        };
        if takes("gzip") {
            Some(Accepted::Gzip)
        } else if takes("deflate") {
            Some(Accepted::Deflate)
        } else {
            None
        }
    }
}

fn gzip(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn zlib(body: &[u8]) -> Option<Bytes> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// The CORS headers of every answer, made once.
#[derive(Debug, Clone, Default)]
pub struct CorsHeaders {
    list: Vec<(HeaderName, HeaderValue)>,
    /// Origins of a list: browsers take one at a time, so that each is told its own.
    origins: Vec<HeaderValue>,
}

impl CorsHeaders {
    /// The headers that the options ask for; values that are no header text are left out. Where clients show tokens, pages may
    /// send these if they may send all headers: browsers do not take `*` for that.
    pub fn new(options: &CorsOptions, wants_tokens: bool) -> CorsHeaders {
        if options.allowed_origins.is_empty() {
            return CorsHeaders::default();
        }
        let mut list = Vec::new();
        let mut add = |name: HeaderName, value: &str| {
            if let (false, Ok(value)) = (value.is_empty(), HeaderValue::from_str(value)) {
                list.push((name, value));
            }
        };
        let several = options.allowed_origins.contains(',');
        if !several {
            add(ACCESS_CONTROL_ALLOW_ORIGIN, &options.allowed_origins);
        }
        add(ACCESS_CONTROL_ALLOW_METHODS, &options.allowed_methods);
        let headers = match options.allowed_headers.as_str() {
            "*" if wants_tokens => "*, Authorization",
            headers => headers,
        };
        add(ACCESS_CONTROL_ALLOW_HEADERS, headers);
        let credentials = if options.allow_credentials { "true" } else { "" };
        add(ACCESS_CONTROL_ALLOW_CREDENTIALS, credentials);
        let listed = options.allowed_origins.split(',').filter(|_| several).map(str::trim);
        let origins = listed.filter_map(|one| HeaderValue::from_str(one).ok()).collect();
        CorsHeaders { list, origins }
    }

    /// Whether cross-origin requests are answered at all.
    pub fn enabled(&self) -> bool {
        !self.list.is_empty() || !self.origins.is_empty()
    }

    /// Adds the headers to an answer for a page of `origin`.
    pub fn apply<B>(&self, response: &mut Response<B>, origin: Option<&str>) {
        let headers = response.headers_mut();
        if !self.origins.is_empty() {
            headers.append(VARY, HeaderValue::from_static("origin"));
            let Some(own) = self.origins.iter().find(|one| origin.is_some_and(|o| *one == o))
            else {
                return;
            };
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, own.clone());
        }
        for (name, value) in &self.list {
            headers.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_encodings() {
        let cases = [
            ("gzip", Some(Accepted::Gzip)),
            ("deflate, gzip;q=0.5", Some(Accepted::Gzip)),
            ("gzip;q=0, deflate", Some(Accepted::Deflate)),
            ("br", None),
            ("", None),
        ];
        for (header, expected) in cases {
            assert_eq!(Accepted::from_header(header), expected, "{header}");
        }
    }

    #[test]
    fn pages_of_several_origins_are_told_their_own() {
        let answer = |origins: &str, wants_tokens: bool, origin: Option<&str>| {
            let options = CorsOptions {
                allowed_origins: origins.to_owned(),
                allowed_methods: "GET".to_owned(),
                allowed_headers: "*".to_owned(),
                allow_credentials: false,
            };
            let mut response = Response::new(());
            CorsHeaders::new(&options, wants_tokens).apply(&mut response, origin);
            let header = |name| {
                let value = response.headers().get(name)?;
                Some(value.to_str().ok()?.to_owned())
            };
            (header(ACCESS_CONTROL_ALLOW_ORIGIN), header(ACCESS_CONTROL_ALLOW_HEADERS))
        };
        let (a, b) = (Some("https://a.example"), Some("https://b.example"));
        let both = "https://a.example, https://b.example";
        for (origins, wants_tokens, origin, expected) in [
            ("*", false, a, (Some("*"), Some("*"))),
            ("*", true, None, (Some("*"), Some("*, Authorization"))),
            ("https://a.example", false, b, (a, Some("*"))),
            (both, false, a, (a, Some("*"))),
            (both, false, b, (b, Some("*"))),
            (both, false, Some("https://c.example"), (None, None)),
            (both, false, None, (None, None)),
            ("", false, a, (None, None)),
        ] {
            let (own, headers) = answer(origins, wants_tokens, origin);
            assert_eq!((own.as_deref(), headers.as_deref()), expected, "{origins} {origin:?}");
        }
    }

    #[test]
    fn errors_by_dialect() {
        let error = Error::new(Code::InvalidJson, "bad \"text\"");
        for (dialect, status) in [(Dialect::Kserve, 400), (Dialect::Tfs, 412)] {
            let reply = Reply::error(&error, dialect);
            assert_eq!(reply.status.as_u16(), status);
            assert_eq!(reply.body, r#"{"error":"bad \"text\""}"#);
        }
    }
}
