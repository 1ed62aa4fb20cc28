//! Steps over HTTP/1.1, tensors in KServe's binary form.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use serde_json::{Value, json};

use super::carry::Carried;
use super::signals::RawTensor;
use super::trial::{Step, Trial};
use crate::http_client::{Target, segment};
use crate::kept_connection::Connections;

/// The length of the JSON part of a body, behind which binary tensors stand.
const JSON_LENGTH: &str = "inference-header-content-length";

/// A good answer: JSON, then tensors.
struct Answer {
    json: usize,
    body: Bytes,
}

impl Answer {
    fn read(answer: Response<Bytes>) -> Result<Answer, String> {
        let (head, body) = answer.into_parts();
        let json = head.headers.get(JSON_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
        match head.status.as_u16() {
            200 => Ok(Answer { json: json.unwrap_or(body.len()), body }),
            status => Err(format!("{status}: {}", String::from_utf8_lossy(&body))),
        }
    }
}

/// Sends the steps of one sequence, each when it is due and the one before is answered.
pub async fn sequence(trial: &Trial<'_>, connections: &Connections, sequence: usize) {
    let mut carried = Carried::new(trial.carry);
    for step in 0..trial.schedule.steps {
        let due = trial.turn(sequence, step).await;
        let sent = trial.step(sequence, step);
        let answer = match request(trial, connections.target(), &sent, &carried) {
            Ok(request) => connections.exchange(request).await.and_then(Answer::read),
            Err(error) => Err(error.to_string()),
        };
        let outputs = answer.map(|answer| match trial.reads_answers() {
            true => outputs(&answer).unwrap_or_default(),
            false => Vec::new(),
        });
        let noted = outputs.and_then(|outputs| {
            trial.answered(sequence, step, due, &outputs);
            carried.take(outputs)
        });
        // The later steps would fail too, or be of no use.
        if let Err(text) = noted {
            return trial.failed(text);
        }
    }
}

fn request(
    trial: &Trial<'_>,
    target: &Target,
    step: &Step,
    carried: &Carried<'_>,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut parameters = json!({"binary_data_output": true});
    if let Some(place) = &step.place {
        parameters["sequence_id"] = json!(place.id);
        for (name, set) in [("sequence_start", place.is_start), ("sequence_end", place.is_end)] {
            if set {
                parameters[name] = json!(true);
            }
        }
    }
    let raw = carried.inputs(trial.signals.frame(step.frame));
    infer(target, trial.model, &raw, &parameters)
}

/// A request for a model with these inputs.
///
/// # Errors
/// None that a target and a name can cause.
pub fn infer(
    target: &Target,
    model: &str,
    raw: &[&RawTensor],
    parameters: &Value,
) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let input = |t: &&RawTensor| {
        json!({"name": t.name, "datatype": t.datatype, "shape": t.shape,
            "parameters": {"binary_data_size": t.bytes.len()}})
    };
    let inputs: Vec<Value> = raw.iter().map(input).collect();
    let mut body = json!({"parameters": parameters, "inputs": inputs}).to_string().into_bytes();
    let json = body.len();
    raw.iter().for_each(|t| body.extend_from_slice(&t.bytes));
    let path = format!("{}/v2/models/{}/infer", target.prefix(), segment(model));
    target
        .authorize(Request::post(path))
        .header("host", target.authority())
        .header("content-type", "application/octet-stream")
        .header(JSON_LENGTH, json)
        .body(Full::new(body.into()))
}

/// The outputs; `None` for an answer of another form.
fn outputs(answer: &Answer) -> Option<Vec<RawTensor>> {
    let head: Value = serde_json::from_slice(answer.body.get(..answer.json)?).ok()?;
    let mut at = answer.json;
    let mut outputs = Vec::new();
    for output in head["outputs"].as_array()? {
        let size = usize::try_from(output["parameters"]["binary_data_size"].as_u64()?).ok()?;
        let end = at.checked_add(size).filter(|end| *end <= answer.body.len())?;
        let text = |key: &str| Some(output[key].as_str()?.to_owned());
        outputs.push(RawTensor {
            name: text("name")?,
            datatype: text("datatype")?,
            shape: output["shape"].as_array()?.iter().filter_map(Value::as_i64).collect(),
            bytes: answer.body.slice(at..end),
        });
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
        let output = |name: &str, size: usize| {
            json!({"name": name, "datatype": "UINT8", "shape": [size],
                "parameters": {"binary_data_size": size}})
        };
        let two = json!({"outputs": [output("a", 2), output("b", 1)]});
        let tensor = |name: &str, text: &'static str| RawTensor {
            name: name.to_owned(),
            datatype: "UINT8".to_owned(),
            shape: vec![text.len() as i64],
            bytes: Bytes::from_static(text.as_bytes()),
        };
        let expected = vec![tensor("a", "xy"), tensor("b", "z")];
        assert_eq!(of(two.clone(), b"xyz"), Some(expected));
        assert_eq!(of(two, b"xy"), None);
        assert_eq!(of(json!({"outputs": [{"name": "a", "data": [1]}]}), b""), None);
    }
}
