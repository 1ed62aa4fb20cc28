//! What the gRPC services share: dispatch, statuses and deadlines.

use crate::fault::Fault;
use crate::http::{Connection, Held, Shared, required_by_grpc};
use crate::kserve::grpc::Service as Kserve;
use crate::kserve::unary;
use crate::panics::CatchPanic;
use crate::proto::kserve::grpc_inference_service_server::GrpcInferenceServiceServer;
use crate::proto::tensorflow::serving::model_service_server::ModelServiceServer;
use crate::proto::tensorflow::serving::prediction_service_server::PredictionServiceServer;
use crate::security::{Caller, Hint, Permit};
use crate::tfserving::grpc::Service as Tfs;
use hyper::body::Incoming;
use hyper::service::Service;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::body::Body;
use tonic::codec::CompressionEncoding::{Deflate, Gzip};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tower::Service as _;

/// All gRPC services. Dispatched by hand: three prefixes need no router.
#[derive(Debug, Clone)]
pub struct Services {
    shared: Arc<Shared>,
    connection: Option<Connection>,
    kserve: GrpcInferenceServiceServer<Kserve>,
    prediction: PredictionServiceServer<Tfs>,
    model: ModelServiceServer<Tfs>,
}

/// Sets message limits and compression of a generated service.
macro_rules! with_limits {
    ($service:expr, $limit:expr) => {
        $service
            .max_decoding_message_size($limit)
            .max_encoding_message_size(usize::MAX)
            .accept_compressed(Gzip)
            .accept_compressed(Deflate)
            .send_compressed(Gzip)
            .send_compressed(Deflate)
    };
}

impl Services {
    /// The services over the node of `shared`.
    pub fn new(shared: &Arc<Shared>) -> Services {
        let limit = shared.options.max_body_bytes;
        let kserve = GrpcInferenceServiceServer::new(Kserve::new(shared.clone()));
        let prediction = PredictionServiceServer::new(Tfs::new(shared.clone()));
        let model = ModelServiceServer::new(Tfs::new(shared.clone()));
        Services {
            shared: shared.clone(),
            connection: None,
            kserve: with_limits!(kserve, limit),
            prediction: with_limits!(prediction, limit),
            model: with_limits!(model, limit),
        }
    }
}

impl Services {
    /// The services for a connection.
    pub fn on(&self, connection: Connection) -> Services {
        Services { connection: Some(connection), ..self.clone() }
    }

    fn admit(&self, request: &http::Request<Incoming>) -> Result<Option<Permit>, Status> {
        let (headers, uri) = (request.headers(), request.uri());
        let Some(connection) = self.connection else {
            return Err(Status::internal("a call that came by no connection"));
        };
        let caller = Caller { connection, headers, authority: uri.authority() };
        let admitted = self.shared.guard.admit(&caller, required_by_grpc(uri.path()));
        admitted.map_err(|refusal| {
            let mut status = Status::from(refusal.fault);
            if let Some(Hint::Wait(wait)) = refusal.hint {
                // What clients know that try again by themselves (gRPC, proposal A6).
                let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
                status.metadata_mut().insert("grpc-retry-pushback-ms", millis.into());
            }
            status
        })
    }
}

type Response = http::Response<Body>;
type Work = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

impl Service<http::Request<Incoming>> for Services {
    type Response = Response;
    type Error = Infallible;
    type Future = Work;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        let path = request.uri().path();
        let logged = tracing::enabled!(tracing::Level::DEBUG)
            .then(|| (path.to_owned(), request_id(request.headers()), Instant::now()));
        let permit = match self.admit(&request) {
            Ok(permit) => permit,
            Err(status) => return Box::pin(async move { Ok(status.into_http()) }),
        };
        let work: Work = if path == unary::PATH && unary::is_plain(request.headers()) {
            let answer = unary::model_infer(self.shared.clone(), request);
            Box::pin(async move {
                Ok(answer.await.map_or_else(|status| status.into_http(), |r| r.map(Body::new)))
            })
        } else if path.starts_with("/inference.GRPCInferenceService/") {
            self.kserve.clone().call(request)
        } else if path.starts_with("/tensorflow.serving.PredictionService/") {
            self.prediction.clone().call(request)
        } else if path.starts_with("/tensorflow.serving.ModelService/") {
            self.model.clone().call(request)
        } else {
            let status = Status::unimplemented("no such service");
            Box::pin(async move { Ok(status.into_http()) })
        };
        Box::pin(async move {
            // A panic ends the call, not the connection with its other calls.
            let response = match CatchPanic(work).await {
                Some(Ok(response)) => response,
                Some(Err(_)) | None => {
                    tracing::error!("a gRPC call panicked");
                    Status::internal("the request ended in an internal error").into_http()
                }
            };
            if let Some((path, request_id, started)) = logged {
                let us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                // Absent for calls whose status comes behind their messages.
                let status = response.headers().get("grpc-status").and_then(|v| v.to_str().ok());
                tracing::debug!(request_id, path, status, us, "call");
            }
            Ok(match permit {
                None => response,
                permit => response.map(|body| Body::new(Held::new(body, permit))),
            })
        })
    }
}

/// The name that a client gave its call for the log.
fn request_id(headers: &http::HeaderMap) -> Option<String> {
    headers.get("x-request-id").and_then(|v| v.to_str().ok()).map(str::to_owned)
}

/// A status's text travels in a header; longer ones would run into limits of clients.
const MAX_MESSAGE: usize = 2048;

impl From<Fault> for Status {
    fn from(Fault(error): Fault) -> Status {
        let mut text = error.to_string();
        if text.len() > MAX_MESSAGE {
            text.truncate(text.floor_char_boundary(MAX_MESSAGE));
            text.push_str("...");
        }
        Status::new(Code::from(error.code.row().grpc), text)
    }
}

/// When a call's answer is of no more use, by its `grpc-timeout` header.
pub fn deadline(metadata: &MetadataMap) -> Option<Instant> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    // The specification allows 8 digits at most.
    let value: u64 = Some(digits).filter(|d| d.len() <= 8)?.parse().ok()?;
    let timeout = match unit {
        "H" => Duration::from_secs(value * 3600),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    };
    Instant::now().checked_add(timeout)
}

/// The earlier of two deadlines.
pub fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_of_the_header() {
        let cases = [
            ("1S", Some(1_000_000)),
            ("250m", Some(250_000)),
            ("99999999H", Some(99_999_999 * 3600 * 1_000_000)),
            ("1", None),
            ("", None),
            ("S", None),
            ("999999999S", None),
            ("1x", None),
        ];
        for (text, us) in cases {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", text.parse().unwrap());
            let now = Instant::now();
            let got = deadline(&metadata).map(|d| d.duration_since(now).as_micros());
            let close = match (got, us) {
                (Some(got), Some(us)) => got >= us && got - us < 1_000_000,
                (got, us) => got.is_none() && us.is_none(),
            };
            assert!(close, "{text}: {got:?}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let status = Status::from(Fault::invalid("\u{e9}".repeat(5000)));
        assert!(status.message().len() <= MAX_MESSAGE + 3);
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}
