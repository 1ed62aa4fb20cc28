//! Unary gRPC calls straight on an HTTP/2 connection. A load tool shares the machine with what it measures: a client
//! of hyper has a task for every call, and one of tonic a stream of messages for every answer.
//!
//! The form of calls: gRPC, `doc/PROTOCOL-HTTP2.md`.

use std::fmt;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::client::{Builder, SendRequest};
use hyper::http::uri::PathAndQuery;
use hyper::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use prost::Message;
use tonic::{Code, Status};

use crate::http_client::{Speaks, Target, dial};

/// Room for the answers of many calls at a time, which a reader takes as they come.
const WINDOW: u32 = 4 << 20;

/// A byte that tells whether a message is compressed, and four of its length.
const PREFIX: usize = 5;

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// What the server says.
    Refused(Code, String),
    /// What became of the connection, or what is no answer.
    Broken(String),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unanswered::Refused(code, text) => write!(f, "{code:?}: {text}"),
            Unanswered::Broken(text) => f.write_str(text),
        }
    }
}

/// A connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Calls {
    send: SendRequest<Bytes>,
    uri: Uri,
    authorization: Option<HeaderValue>,
}

impl Calls {
    /// Connects to a server, for calls of one method such as `/package.Service/Method`.
    ///
    /// # Errors
    /// In words: nobody accepts in time, or whoever accepts does not speak HTTP/2.
    pub async fn open(
        target: &Target,
        method: &'static str,
        timeout: Duration,
    ) -> Result<Calls, String> {
        let uri = Uri::builder()
            .scheme(target.scheme())
            .authority(target.authority())
            .path_and_query(PathAndQuery::from_static(method));
        let uri = uri.build().map_err(|e| e.to_string())?;
        let shake = async {
            let stream = dial(target, Speaks::Http2).await.map_err(|e| e.to_string())?;
            let mut builder = Builder::new();
            builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
            builder.handshake(stream).await.map_err(|e| e.to_string())
        };
        let late = |_| format!("no answer within {} s", timeout.as_secs());
        let (send, connection) = tokio::time::timeout(timeout, shake).await.map_err(late)??;
        // How it ends is told by the calls that it breaks.
        tokio::spawn(connection);
        let authorization = target.access().authorization().cloned();
        Ok(Calls { send, uri, authorization })
    }

    /// Calls, and gives the answer.
    ///
    /// # Errors
    /// What the server says, or what became of the connection.
    pub async fn call<A: Message + Default>(
        &self,
        message: &impl Message,
    ) -> Result<A, Unanswered> {
        let broken = |e: h2::Error| Unanswered::Broken(format!("the connection broke: {e}"));
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/grpc"));
        headers.insert(header::TE, header::HeaderValue::from_static("trailers"));
        if let Some(value) = &self.authorization {
            headers.insert(header::AUTHORIZATION, value.clone());
        }
        let mut send = self.send.clone().ready().await.map_err(broken)?;
        let (response, mut body) = send.send_request(request, false).map_err(broken)?;
        body.send_data(framed(message).map_err(Unanswered::Broken)?, true).map_err(broken)?;
        let (head, mut body) = response.await.map_err(broken)?.into_parts();
        if head.status != StatusCode::OK {
            return Err(Unanswered::Broken(format!("HTTP status {}", head.status)));
        }
        // An answer that is an error only has no body.
        refused(&head.headers)?;
        let mut bytes = BytesMut::new();
        while let Some(chunk) = body.data().await {
            let chunk = chunk.map_err(broken)?;
            body.flow_control().release_capacity(chunk.len()).map_err(broken)?;
            bytes.extend_from_slice(&chunk);
        }
        if let Some(trailers) = body.trailers().await.map_err(broken)? {
            refused(&trailers)?;
        }
        unframed(bytes.freeze()).map_err(Unanswered::Broken)
    }
}

/// A message with its prefix.
fn framed(message: &impl Message) -> Result<Bytes, String> {
    let length = message.encoded_len();
    let prefix = u32::try_from(length).map_err(|_| "the request is too large".to_owned())?;
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(prefix);
    message.encode(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes.freeze())
}

/// The one message of a body.
fn unframed<A: Message + Default>(mut bytes: Bytes) -> Result<A, String> {
    let compressed = bytes.try_get_u8().map_err(|_| "an answer without a message")?;
    let length = bytes.try_get_u32().map_err(|_| "an answer without a message")?;
    if compressed != 0 || bytes.len() != length as usize {
        return Err("an answer that is not one plain message".to_owned());
    }
    A::decode(bytes).map_err(|e| e.to_string())
}

/// What a server says when it refuses.
fn refused(headers: &HeaderMap) -> Result<(), Unanswered> {
    match Status::from_header_map(headers) {
        Some(status) if status.code() != Code::Ok => {
            Err(Unanswered::Refused(status.code(), status.message().to_owned()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_server::proto::kserve::ServerMetadataResponse as Answer;

    #[test]
    fn messages_have_a_prefix() {
        let answer = Answer { name: "stead".to_owned(), ..Answer::default() };
        let bytes = framed(&answer).unwrap();
        assert_eq!(bytes[..PREFIX], [0, 0, 0, 0, 7]);
        assert_eq!(unframed::<Answer>(bytes.clone()), Ok(answer));
        let cases: [(&str, Vec<u8>); 4] = [
            ("nothing", vec![]),
            ("half a prefix", bytes[..3].to_vec()),
            ("cut", bytes[..bytes.len() - 1].to_vec()),
            ("compressed", [&[1], &bytes[1..]].concat()),
        ];
        for (label, bytes) in cases {
            assert!(unframed::<Answer>(bytes.into()).is_err(), "{label}");
        }
    }
}
