//! One inference, in the node's own words.

use crate::{Error, ErrorKind, Parameters};
use std::time::Instant;
use stead_tensor::Tensor;

/// Which version of a model a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum VersionRef {
    /// The highest version that is served.
    #[default]
    Latest,
    /// This version; 0 means [`VersionRef::Latest`], as in OpenVINO Model Server.
    Number(u64),
    /// A label. Labels are read and ignored, as in OpenVINO Model Server: it means [`VersionRef::Latest`].
    Label(String),
}

impl VersionRef {
    /// The number asked for, if there is one.
    pub fn number(&self) -> Option<u64> {
        match self {
            VersionRef::Number(n) if *n > 0 => Some(*n),
            _ => None,
        }
    }
}

/// Reads a version as it stands in a URL or in a KServe message: empty means the latest.
///
/// # Errors
/// [`ErrorKind::BadVersion`] when it is no integer from 0.
pub fn parse_version(text: &str) -> Result<VersionRef, Error> {
    if text.is_empty() {
        return Ok(VersionRef::Latest);
    }
    // `u64::from_str` takes a plus sign, a version does not.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(0) if digits => Ok(VersionRef::Latest),
        Ok(n) if digits => Ok(VersionRef::Number(n)),
        _ => Err(ErrorKind::BadVersion { text: text.chars().take(64).collect() }.into()),
    }
}

/// The protocol that a request came by; labels of the metrics derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// KServe V2 over HTTP.
    KserveHttp,
    /// KServe V2 over gRPC.
    KserveGrpc,
    /// TensorFlow Serving's REST API.
    TfsHttp,
    /// TensorFlow Serving's gRPC API.
    TfsGrpc,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 4] =
        [Protocol::KserveHttp, Protocol::KserveGrpc, Protocol::TfsHttp, Protocol::TfsGrpc];

    /// The metrics label `api`.
    pub const fn api(self) -> &'static str {
        match self {
            Protocol::KserveHttp | Protocol::KserveGrpc => "KServe",
            Protocol::TfsHttp | Protocol::TfsGrpc => "TensorFlowServing",
        }
    }

    /// The metrics label `interface`.
    pub const fn interface(self) -> &'static str {
        match self {
            Protocol::KserveHttp | Protocol::TfsHttp => "REST",
            Protocol::KserveGrpc | Protocol::TfsGrpc => "gRPC",
        }
    }
}

/// A request for one evaluation of a model.
#[derive(Debug, Clone)]
pub struct InferRequest {
    /// The model's name.
    pub model: String,
    /// Which version.
    pub version: VersionRef,
    /// The caller's id of this request, given back in the answer; may be empty.
    pub id: String,
    /// Inputs by name, in any order.
    pub inputs: Vec<(String, Tensor)>,
    /// The outputs wanted, in the order wanted; empty means all in the model's order.
    pub outputs: Vec<String>,
    /// Parameters that the protocol adapter did not use up itself.
    pub parameters: Parameters,
    /// When the answer is of no more use.
    pub deadline: Option<Instant>,
    /// How the request came.
    pub protocol: Protocol,
}

/// The answer to an [`InferRequest`].
#[derive(Debug, Clone, PartialEq)]
pub struct InferResponse {
    /// The model's name.
    pub model: String,
    /// The version that answered.
    pub version: u64,
    /// The id of the request.
    pub id: String,
    /// Outputs by name, in the order of the request or of the model.
    pub outputs: Vec<(String, Tensor)>,
    /// Parameters of the answer.
    pub parameters: Parameters,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_text() {
        let cases = [
            ("", Some(VersionRef::Latest)),
            ("0", Some(VersionRef::Latest)),
            ("1", Some(VersionRef::Number(1))),
            ("18446744073709551615", Some(VersionRef::Number(u64::MAX))),
            ("18446744073709551616", None),
            ("-1", None),
            ("+1", None),
            ("x", None),
            ("1.0", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_version(text).ok(), expected, "{text:?}");
        }
    }
}
