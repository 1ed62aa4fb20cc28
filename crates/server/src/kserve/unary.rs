//! `ModelInfer` as most clients call it, without the layers that a general gRPC server has for every form of a call: a
//! message that came in one piece is read where it lies, and the answer is written once. A call whose message is
//! compressed goes the general way.

use super::grpc::infer;
use crate::grpc::deadline;
use crate::http::Shared;
use crate::proto::kserve as pb;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use prost::Message;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::metadata::MetadataMap;

/// The call.
pub const PATH: &str = "/inference.GRPCInferenceService/ModelInfer";

/// What stands in front of each message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Answers below this size are not compressed: it would cost more than the network saves.
const COMPRESSED_FROM: usize = 1 << 10;

const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// Whether the message of a call is not compressed.
pub fn is_plain(headers: &HeaderMap) -> bool {
    headers.get(ENCODING).is_none_or(|encoding| encoding == "identity")
}

/// Answers a call.
///
/// # Errors
/// Messages that are too large, broken off or no requests, and those of the node.
pub async fn model_infer(
    shared: Arc<Shared>,
    request: http::Request<Incoming>,
) -> Result<http::Response<Whole>, Status> {
    let (head, body) = request.into_parts();
    let takes_gzip = head
        .headers
        .get(ACCEPT_ENCODING)
        .and_then(|list| list.to_str().ok())
        .is_some_and(|list| list.split(',').any(|one| one.trim() == "gzip"));
    let until = deadline(&MetadataMap::from_headers(head.headers));
    let message = read(body, shared.options.max_body_bytes).await?;
    let request = pb::ModelInferRequest::decode(message);
    let request = request.map_err(|e| Status::internal(e.to_string()))?;
    let answer = infer(shared, request, until).await?;
    Ok(response(&answer, takes_gzip))
}

/// The message of a call.
async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, Status> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| Status::unknown(format!("the request broke off: {e}")))?;
        let Ok(piece) = frame.into_data() else { continue };
        if first.is_empty() {
            first = piece;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&piece);
        }
        let length = first.len().max(all.len());
        if length > limit.saturating_add(PREFIX) {
            return Err(too_large(length - PREFIX, limit));
        }
    }
    let mut message = if all.is_empty() { first } else { all.freeze() };
    if message.is_empty() {
        return Err(Status::internal("Missing request message."));
    }
    let broken = || Status::internal("the request's message broke off");
    let compressed = message.try_get_u8().map_err(|_| broken())? != 0;
    let length = message.try_get_u32().map_err(|_| broken())? as usize;
    if compressed {
        return Err(Status::internal("a compressed message without grpc-encoding"));
    }
    if length > limit {
        return Err(too_large(length, limit));
    }
    if message.len() < length {
        return Err(broken());
    }
    Ok(message.split_to(length))
}

fn too_large(length: usize, limit: usize) -> Status {
    Status::out_of_range(format!(
        "Error, decoded message length too large: found {length} bytes, the limit is: {limit} bytes"
    ))
}

fn response(answer: &pb::ModelInferResponse, takes_gzip: bool) -> http::Response<Whole> {
    let length = answer.encoded_len();
    let zipped = if takes_gzip && length >= COMPRESSED_FROM { gzip(answer) } else { None };
    let mut message = BytesMut::with_capacity(PREFIX + zipped.as_ref().map_or(length, Vec::len));
    message.put_u8(u8::from(zipped.is_some()));
    // A message beyond 4 GiB has no length in gRPC; none is made, since no request may be a quarter as large.
    message.put_u32(zipped.as_ref().map_or(length, Vec::len) as u32);
    match &zipped {
        Some(zipped) => message.extend_from_slice(zipped),
        None => answer.encode_raw(&mut message),
    }
    let mut response = http::Response::new(Whole { message: Some(message.freeze()), ended: false });
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    if zipped.is_some() {
        headers.insert(ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// A message compressed, if that makes it smaller.
fn gzip(answer: &pb::ModelInferResponse) -> Option<Vec<u8>> {
    let plain = answer.encode_to_vec();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(&plain).ok()?;
    encoder.finish().ok().filter(|zipped| zipped.len() < plain.len())
}

/// The body of an answer: its message, and the status that all went well.
pub struct Whole {
    message: Option<Bytes>,
    ended: bool,
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if std::mem::replace(&mut self.ended, true) {
            return Poll::Ready(None);
        }
        let trailers = HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))]);
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}
