//! The network over reader and post: in ONNX Runtime of this process, or behind MLServer.

use std::net::SocketAddr;

use bytes::Bytes;
use ort::value::Tensor;
use prost::Message;
use serde::Deserialize;
use serde_json::json;

use super::candidates::Candidates;
use super::sessions::Sessions;
use crate::load::{Call, Client};
use crate::payload::{GRPC_METHOD, InferRequest, InferTensor, post_json};
use crate::{Result, bare};

/// How a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The rows as the bytes of one element, which our runtime in MLServer takes as they are.
    Grpc,
    /// The rows as FP32 in the raw contents, which MLServer makes Python numbers of.
    GrpcRaw,
    /// The rows as numbers of JSON.
    Rest,
}

/// The rows of candidates: the reader's vector, then that of the post.
pub struct Rows {
    numbers: Vec<f32>,
    /// Numbers in a row.
    size: usize,
}

impl Rows {
    pub fn new(user: &[f32], candidates: &Candidates) -> Rows {
        let mut numbers = Vec::with_capacity(2 * user.len() * candidates.count());
        for post in candidates.tensors() {
            numbers.extend(user);
            numbers.extend(post);
        }
        let size = numbers.len() / candidates.count().max(1);
        Rows { numbers, size }
    }

    /// All rows at once, or one after the other.
    pub fn steps(&self, is_single: bool) -> impl Iterator<Item = &[f32]> {
        self.numbers.chunks(if is_single { self.size } else { self.numbers.len() }.max(1))
    }

    /// The scores of some rows by sessions of this process.
    pub fn run(&self, sessions: &Sessions, rows: &[f32]) -> Result<Vec<f32>> {
        let shape = [rows.len() / self.size, self.size];
        sessions.with(|session| {
            let input = Tensor::from_array((shape, rows.to_vec()))?;
            let outputs = session.run(ort::inputs!["features" => input])?;
            Ok(outputs["probability"].try_extract_tensor::<f32>()?.1.to_vec())
        })
    }

    /// The same by a server.
    pub async fn ask(
        &self,
        server: &mut Client,
        protocol: Protocol,
        rows: &[f32],
    ) -> Result<Vec<f32>> {
        let shape = [rows.len() / self.size, self.size];
        let scores = match protocol {
            Protocol::Rest => {
                server.set_request(rest(shape, rows));
                let answer: serde_json::Value = serde_json::from_slice(&server.once().await?)?;
                let scores = answer["outputs"][0]["data"].as_array().ok_or("no scores")?;
                scores.iter().filter_map(|x| Some(x.as_f64()? as f32)).collect()
            }
            _ => {
                server.set_request(grpc(shape, rows, protocol == Protocol::Grpc));
                scores(&server.once().await?)?
            }
        };
        if scores.len() == shape[0] { Ok(scores) } else { Err("too few scores".into()) }
    }
}

/// A connection to a server.
pub async fn connect(address: SocketAddr, protocol: Protocol) -> Result<Client> {
    let call = match protocol {
        Protocol::Rest => Call::Http(Bytes::new()),
        Protocol::Grpc | Protocol::GrpcRaw => Call::Grpc(GRPC_METHOD, Bytes::new()),
    };
    Client::connect(address, &call).await
}

fn rest(shape: [usize; 2], rows: &[f32]) -> Bytes {
    let input = json!({"name": "features", "datatype": "FP32", "shape": shape, "data": rows});
    post_json("/v2/models/recommend/infer", &json!({"inputs": [input]}).to_string())
}

fn grpc(shape: [usize; 2], rows: &[f32], is_bytes: bool) -> Bytes {
    let numbers = rows.iter().flat_map(|x| x.to_le_bytes());
    let (datatype, shape, raw) = if is_bytes {
        // An element of the type BYTES begins with its length.
        let length = (size_of_val(rows) as u32).to_le_bytes();
        ("BYTES", vec![1], length.into_iter().chain(numbers).collect())
    } else {
        ("FP32", shape.map(|size| size as i64).to_vec(), numbers.collect())
    };
    let input = InferTensor { name: "features".into(), datatype: datatype.into(), shape };
    let request =
        InferRequest { model_name: "recommend".into(), inputs: vec![input], raw: vec![raw] };
    bare::framed(&request.encode_to_vec())
}

/// What is read of KServe's `ModelInferResponse`: MLServer answers in raw contents who asks so.
#[derive(Clone, PartialEq, Message)]
struct InferResponse {
    #[prost(bytes = "vec", repeated, tag = "6")]
    raw: Vec<Vec<u8>>,
}

fn scores(message: &[u8]) -> Result<Vec<f32>> {
    let answer = InferResponse::decode(message)?;
    let numbers = answer.raw.first().ok_or("an answer without scores")?;
    Ok(numbers.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
}
