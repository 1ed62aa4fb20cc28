//! What is replayed: requests of a file, or of a model with random inputs.

mod fbench;
mod kserve;
mod lines;
mod model;

use bytes::Bytes;
use hyper::http::{HeaderMap, HeaderValue, Method, header};
use stead_server::proto::kserve as pb;

use super::args::ReplayArgs;
use crate::commands::prepare::InputArgs;
use crate::failure::Failure;
use crate::http_client::{Target, segment};
use crate::load::Protocol;
use crate::replay::send::Request;

/// Where requests come from and how they are sent.
pub struct Source<'a> {
    pub args: &'a ReplayArgs,
    pub inputs: &'a InputArgs,
    /// The model of bodies that name none.
    pub model: Option<&'a str>,
    pub protocol: Protocol,
    pub target: &'a Target,
}

/// A request of a file, before it is known how it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plain {
    method: Method,
    /// Path and query, percent-encoded.
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Plain {
    /// JSON for a path.
    fn json(path: String, body: &serde_json::Value) -> Plain {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, JSON)]);
        Plain { method: Method::POST, path, headers, body: body.to_string().into() }
    }
}

/// The type of bodies that name none.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Source<'_> {
    /// The requests; at least one.
    ///
    /// # Errors
    /// A file that cannot be read or is of no known form, a request that cannot be sent by the protocol, and a model that the
    /// server does not have.
    pub fn requests(&self) -> Result<Vec<Request>, Failure> {
        let Some(file) = &self.args.queries else {
            let Some(model) = self.model else {
                return Err(Failure::usage(
                    "what is sent? --queries FILE has requests, --model NAME gets random inputs",
                ));
            };
            return model::requests(self, model);
        };
        let at = |text: String| Failure::failed(format!("{}: {text}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|e| at(e.to_string()))?;
        let first = text.lines().find(|line| !line.trim().is_empty());
        let plain = match first {
            None => return Err(at("there is no request in it".to_owned())),
            Some(line) if line.trim_start().starts_with('{') => lines::read(&text, self.model),
            Some(_) => fbench::read(&text),
        };
        let request = |(line, plain): (usize, Plain)| {
            let request = match self.protocol {
                Protocol::Http => self.http(plain),
                _ => self.grpc(&plain),
            };
            request.map_err(|text| at(format!("line {line}: {text}")))
        };
        plain.map_err(at)?.into_iter().map(request).collect()
    }

    fn http(&self, plain: Plain) -> Result<Request, String> {
        let path = format!("{}{}", self.target.prefix(), plain.path);
        let mut request = self
            .target
            .authorize(hyper::Request::builder().method(plain.method).uri(path))
            .header(header::HOST, self.target.authority());
        if let Some(headers) = request.headers_mut() {
            // Those of the file stand before those of the command line, which stand before what is known here.
            let given = self.args.headers.iter().map(|(name, value)| (name, value));
            for (name, value) in given.chain(&plain.headers) {
                headers.insert(name.clone(), value.clone());
            }
        }
        let request = request.body(http_body_util::Full::new(plain.body));
        request.map(|request| Request::Http(Box::new(request))).map_err(|e| e.to_string())
    }

    fn grpc(&self, plain: &Plain) -> Result<Request, String> {
        if !plain.headers.iter().all(|(name, value)| name == header::CONTENT_TYPE && value == JSON)
        {
            return Err("headers go with --protocol http".to_owned());
        }
        let message: pb::ModelInferRequest = kserve::message(&plain.path, &plain.body)?;
        Ok(Request::Grpc(Box::new(message)))
    }
}

/// Where KServe takes inputs of a model.
fn infer_path(model: &str) -> String {
    format!("/v2/models/{}/infer", segment(model))
}
