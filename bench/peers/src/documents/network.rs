//! The network of the second phase in ONNX Runtime: in this process, or behind a server of KServe V2.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::session::Session;
use ort::value::Tensor;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::post;
use crate::load::http_answer;
use crate::{Result, variable};

/// Sessions of one thread each, as many as threads rank.
pub struct Networks(Mutex<Vec<Session>>);

const SESSIONS: usize = 2;

/// Numbers in a row.
const ROW: usize = 256;

impl Networks {
    pub fn new(model: &Path) -> Result<Networks> {
        let env = ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?;
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            let session = Session::builder(&env)?
                .with_intra_threads(1)
                .map_err(|e| e.to_string())?
                .with_inter_threads(1)
                .map_err(|e| e.to_string())?
                .commit_from_file(model)?;
            sessions.push(session);
        }
        Ok(Networks(Mutex::new(sessions)))
    }

    /// The score of each row.
    pub fn run(&self, features: &[f32], rows: usize) -> Result<Vec<f32>> {
        let sessions = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = sessions().pop().ok_or("more threads than sessions")?;
        let scores = (|| -> Result<Vec<f32>> {
            let input = Tensor::from_array(([rows, ROW], features.to_vec()))?;
            let outputs = session.run(ort::inputs!["features" => input])?;
            Ok(outputs["probability"].try_extract_tensor::<f32>()?.1.to_vec())
        })();
        sessions().push(session);
        scores
    }
}

/// The score of each row by a server, in binary tensors.
pub async fn ask(
    server: &mut TcpStream,
    buffer: &mut Vec<u8>,
    features: &[f32],
    rows: usize,
) -> Result<Vec<f32>> {
    let bytes: Vec<u8> = features.iter().flat_map(|x| x.to_le_bytes()).collect();
    let head = json!({
        "inputs": [{"name": "features", "datatype": "FP32", "shape": [rows, ROW],
            "parameters": {"binary_data_size": bytes.len()}}],
        "parameters": {"binary_data_output": true},
    });
    let head = head.to_string();
    let header = format!("inference-header-content-length: {}\r\n", head.len());
    let request = post("/v2/models/recommend/infer", &[head.as_bytes(), &bytes].concat(), &header);
    server.write_all(&request).await?;
    let answer = http_answer(server, buffer).await?;
    // JSON, then the numbers of the only output.
    let numbers = answer.len().checked_sub(rows * 4).ok_or("an answer without scores")?;
    Ok(answer[numbers..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
}
