//! ONNX Runtime behind HTTP: `POST /v2/models/NAME/infer` with KServe's JSON.
//!
//! Connections are those of hyper on tokio, as stead's are. Runs take place on blocking threads, as many at a time as there are
//! sessions; further requests wait in the order in which they came.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ort::session::Session;
use ort::value::{DynTensor, Tensor};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::Result;

/// Sessions that are free, and a permit for each of them.
struct Pool {
    sessions: Mutex<Vec<Session>>,
    free: Semaphore,
}

#[derive(Deserialize)]
struct Body {
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    datatype: String,
    shape: Vec<i64>,
    data: Vec<Value>,
}

/// Serves forever on loopback with so many sessions, each of which has so many threads, or its default for 0.
pub fn serve(model: &Path, port: u16, sessions: usize, threads: usize) -> Result<()> {
    let threads = (threads > 0).then_some(threads);
    let sessions = super::sessions(model, sessions, threads)?;
    let free = Semaphore::new(sessions.len());
    let pool = Arc::new(Pool { sessions: Mutex::new(sessions), free });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        println!("serving");
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let pool = Arc::clone(&pool);
            let service = service_fn(move |request| answer(Arc::clone(&pool), request));
            let io = TokioIo::new(stream);
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, service));
        }
    })
}

async fn answer(
    pool: Arc<Pool>,
    request: Request<Incoming>,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match infer(pool, request).await {
        Ok(body) => (StatusCode::OK, body),
        Err(text) => (StatusCode::BAD_REQUEST, json!({"error": text}).to_string()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    Ok(response)
}

async fn infer(pool: Arc<Pool>, request: Request<Incoming>) -> std::result::Result<String, String> {
    let body = request.into_body().collect().await.map_err(|e| e.to_string())?.to_bytes();
    let _permit = pool.free.acquire().await.map_err(|e| e.to_string())?;
    let of = Arc::clone(&pool);
    let work = move || {
        let body: Body = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        let sessions = || of.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = sessions().pop().ok_or("more runs than sessions")?;
        let answer = run(&mut session, body).map_err(|e| e.to_string());
        sessions().push(session);
        answer
    };
    tokio::task::spawn_blocking(work).await.map_err(|e| e.to_string())?
}

fn run(session: &mut Session, body: Body) -> Result<String> {
    let mut inputs = Vec::new();
    for Input { name, datatype, shape, data } in body.inputs {
        let numbers = |value: &Value| value.as_f64().ok_or("no number");
        let tensor: DynTensor = match &*datatype {
            "INT64" => {
                let data: Option<Vec<i64>> = data.iter().map(Value::as_i64).collect();
                Tensor::from_array((shape, data.ok_or("no whole number")?))?.upcast()
            }
            "FP32" => {
                let data: std::result::Result<Vec<f64>, _> = data.iter().map(numbers).collect();
                let data: Vec<f32> = data?.into_iter().map(|x| x as f32).collect();
                Tensor::from_array((shape, data))?.upcast()
            }
            other => return Err(format!("no tensor of type {other}").into()),
        };
        inputs.push((name, tensor));
    }
    let outputs = session.run(inputs)?;
    let mut told = Vec::new();
    for (name, value) in outputs.iter() {
        let (shape, cells) = value.try_extract_tensor::<f32>()?;
        let shape: Vec<i64> = shape.iter().copied().collect();
        told.push(json!({"name": name, "datatype": "FP32", "shape": shape, "data": cells}));
    }
    Ok(json!({"outputs": told}).to_string())
}
