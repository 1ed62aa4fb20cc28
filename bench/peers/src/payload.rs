//! One request for the MLP in every form that clients send.

use bytes::Bytes;
use prost::Message;

/// KServe's call over gRPC.
pub const GRPC_METHOD: &str = "/inference.GRPCInferenceService/ModelInfer";
/// Inputs of the MLP.
const WIDTH: usize = 256;

/// The fields of KServe's `ModelInferRequest` that one tensor needs.
#[derive(Clone, PartialEq, Message)]
pub struct InferRequest {
    #[prost(string, tag = "1")]
    pub model_name: String,
    #[prost(message, repeated, tag = "5")]
    pub inputs: Vec<InferTensor>,
    #[prost(bytes = "vec", repeated, tag = "7")]
    pub raw: Vec<Vec<u8>>,
}

/// A tensor without its contents.
#[derive(Clone, PartialEq, Message)]
pub struct InferTensor {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub datatype: String,
    #[prost(int64, repeated, tag = "3")]
    pub shape: Vec<i64>,
}

fn row() -> impl Iterator<Item = f32> {
    (0..WIDTH).map(|i| (i as f32 * 0.01).sin())
}

fn row_bytes() -> Vec<u8> {
    row().flat_map(f32::to_le_bytes).collect()
}

/// The numbers with as many digits as they need to come back the same, as clients write them.
fn row_json() -> String {
    row().map(|v| v.to_string()).collect::<Vec<_>>().join(",")
}

/// A whole HTTP/1.1 request with a body of JSON.
pub fn post_json(path: &str, body: &str) -> Bytes {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

/// KServe over REST without the binary extension.
pub fn kserve_json() -> Bytes {
    let body = format!(
        r#"{{"inputs":[{{"name":"input","datatype":"FP32","shape":[1,{WIDTH}],"data":[{}]}}]}}"#,
        row_json()
    );
    post_json("/v2/models/mlp/infer", &body)
}

/// TensorFlow Serving's row format.
pub fn tfs_json() -> Bytes {
    post_json("/v1/models/mlp:predict", &format!(r#"{{"instances":[[{}]]}}"#, row_json()))
}

/// KServe over REST with binary tensors.
pub fn binary() -> Bytes {
    let json = format!(
        r#"{{"inputs":[{{"name":"input","datatype":"FP32","shape":[1,{WIDTH}],"parameters":{{"binary_data_size":{}}}}}],"parameters":{{"binary_data_output":true}}}}"#,
        4 * WIDTH
    );
    let mut request = format!(
        "POST /v2/models/mlp/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n\
         Inference-Header-Content-Length: {}\r\nContent-Length: {}\r\n\r\n{json}",
        json.len(),
        json.len() + 4 * WIDTH
    )
    .into_bytes();
    request.extend(row_bytes());
    request.into()
}

/// KServe over gRPC.
pub fn message() -> Vec<u8> {
    InferRequest {
        model_name: "mlp".into(),
        inputs: vec![InferTensor {
            name: "input".into(),
            datatype: "FP32".into(),
            shape: vec![1, WIDTH as i64],
        }],
        raw: vec![row_bytes()],
    }
    .encode_to_vec()
}
