//! Steps over HTTP/1.1, tensors in KServe's binary form.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::trial::{Step, Trial};
use crate::http_client::{Target, segment};

/// The length of the JSON part of a body, behind which binary tensors stand.
const JSON_LENGTH: &str = "inference-header-content-length";

type Connection = SendRequest<Full<Bytes>>;

/// Connections that are kept open; there are as many as there ever were requests at a time.
pub struct Connections {
    target: Target,
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    /// No connections yet.
    pub fn new(target: &Target) -> Connections {
        Connections { target: target.clone(), idle: Mutex::default() }
    }

    async fn get(&self) -> Result<Connection, String> {
        loop {
            // Not `while let`: its lock would be held while the connection is waited for.
            let kept = self.idle().pop();
            let Some(mut kept) = kept else { break };
            if kept.ready().await.is_ok() {
                return Ok(kept);
            }
        }
        let none = |e: &dyn std::fmt::Display| format!("no connection: {e}");
        let stream = TcpStream::connect(self.target.authority()).await.map_err(|e| none(&e))?;
        stream.set_nodelay(true).map_err(|e| none(&e))?;
        let (connection, work) = handshake(TokioIo::new(stream)).await.map_err(|e| none(&e))?;
        tokio::spawn(work);
        Ok(connection)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, String> {
        let mut connection = self.get().await?;
        let text = |e: hyper::Error| format!("the connection broke: {e}");
        let (head, body) = connection.send_request(request).await.map_err(text)?.into_parts();
        let body = body.collect().await.map_err(text)?.to_bytes();
        self.idle().push(connection);
        let json = head.headers.get(JSON_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
        match head.status.as_u16() {
            200 => Ok(Answer { json: json.unwrap_or(body.len()), body }),
            status => Err(format!("{status}: {}", String::from_utf8_lossy(&body))),
        }
    }
}

/// A good answer: JSON, then tensors.
struct Answer {
    json: usize,
    body: Bytes,
}

/// Sends the steps of one sequence, each when it is due and the one before is answered.
pub async fn sequence(trial: &Trial<'_>, connections: &Connections, sequence: usize) {
    for step in 0..trial.schedule.steps {
        trial.until_due(sequence, step).await;
        let answer = match request(trial, &connections.target, &trial.step(sequence, step)) {
            Ok(request) => connections.send(request).await,
            Err(error) => Err(error.to_string()),
        };
        match answer {
            Ok(answer) if trial.signals.is_checked() => {
                trial.answered(sequence, step, &outputs(&answer).unwrap_or_default());
            }
            Ok(_) => trial.answered(sequence, step, &[]),
            // The later steps would fail too, or be of no use.
            Err(text) => return trial.failed(text),
        }
    }
}

fn request(
    trial: &Trial<'_>,
    target: &Target,
    step: &Step,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut parameters = json!({"sequence_id": step.id, "binary_data_output": true});
    for (name, set) in [("sequence_start", step.is_start), ("sequence_end", step.is_end)] {
        if set {
            parameters[name] = json!(true);
        }
    }
    let raw = trial.signals.frame(step.frame).map(|f| &*f.raw).unwrap_or_default();
    let input = |t: &super::signals::RawTensor| {
        json!({"name": t.name, "datatype": t.datatype, "shape": t.shape,
            "parameters": {"binary_data_size": t.bytes.len()}})
    };
    let inputs: Vec<Value> = raw.iter().map(input).collect();
    let mut body = json!({"parameters": parameters, "inputs": inputs}).to_string().into_bytes();
    let json = body.len();
    raw.iter().for_each(|t| body.extend_from_slice(&t.bytes));
    Request::post(format!("{}/v2/models/{}/infer", target.prefix(), segment(trial.model)))
        .header("host", target.authority())
        .header("content-type", "application/octet-stream")
        .header(JSON_LENGTH, json)
        .body(Full::new(body.into()))
}

/// Outputs by name; `None` for an answer of another form.
fn outputs(answer: &Answer) -> Option<Vec<(String, Bytes)>> {
    let head: Value = serde_json::from_slice(answer.body.get(..answer.json)?).ok()?;
    let mut at = answer.json;
    let mut outputs = Vec::new();
    for output in head["outputs"].as_array()? {
        let size = usize::try_from(output["parameters"]["binary_data_size"].as_u64()?).ok()?;
        let end = at.checked_add(size).filter(|end| *end <= answer.body.len())?;
        outputs.push((output["name"].as_str()?.to_owned(), answer.body.slice(at..end)));
        at = end;
    }
    Some(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_stand_behind_the_json() {
        let of = |head: Value, tail: &[u8]| {
            let head = head.to_string().into_bytes();
            let answer = Answer { json: head.len(), body: [&*head, tail].concat().into() };
            outputs(&answer)
        };
        let output = |name: &str, size: usize| json!({"name": name, "parameters": {"binary_data_size": size}});
        let two = json!({"outputs": [output("a", 2), output("b", 1)]});
        let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
        let expected = vec![("a".to_owned(), bytes("xy")), ("b".to_owned(), bytes("z"))];
        assert_eq!(of(two.clone(), b"xyz"), Some(expected));
        assert_eq!(of(two, b"xy"), None);
        assert_eq!(of(json!({"outputs": [{"name": "a", "data": [1]}]}), b""), None);
    }
}
