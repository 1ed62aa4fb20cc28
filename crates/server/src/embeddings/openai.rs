//! `POST /v1/embeddings` (OpenAI, API reference, `embeddings/create`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value, json};
use stead_node::{Code, EmbedInput, EmbedOutput, EmbedRequest};

use super::Members;
use crate::fault::Fault;
use crate::http::{Body, Dialect, Reply, Shared};

/// Answers a request; failures as OpenAI has them.
///
/// # Errors
/// None but that of an answer that is no JSON.
pub(crate) async fn answer(shared: &Shared, body: Body) -> Result<Reply, Fault> {
    match embeddings(shared, body).await {
        Ok(answer) => Reply::serialize(&answer),
        Err(fault) => failure(&fault),
    }
}

/// What a body asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The texts, and the embedder that `model` names.
    pub request: EmbedRequest,
    /// Whether vectors are written as base64.
    pub is_base64: bool,
}

impl Asked {
    /// Reads a body.
    ///
    /// # Errors
    /// What is no object of JSON, members that are not known or of another kind, and empty texts.
    pub fn read(body: &[u8]) -> Result<Asked, Fault> {
        let mut members = Members::read(body)?;
        let model = members.text("model")?;
        let embedder = model.ok_or_else(|| Fault::invalid("you must provide a model parameter"))?;
        let (inputs, _) = members.inputs("input")?;
        let is_empty = |input: &EmbedInput| match input {
            EmbedInput::Text(text) => text.is_empty(),
            EmbedInput::Ids(ids) => ids.is_empty(),
        };
        if inputs.iter().any(is_empty) {
            return Err(Fault::invalid("input cannot be an empty string or array"));
        }
        let is_base64 = match members.text("encoding_format")?.as_deref() {
            None | Some("float") => false,
            Some("base64") => true,
            Some(other) => {
                return Err(Fault::invalid(format!(
                    "encoding_format must be float or base64, found {other:.50}"
                )));
            }
        };
        let dimensions = members.count("dimensions")?;
        // It names who asks, for statistics that are not made here.
        let _ = members.text("user")?;
        let role = members.role("input_type")?;
        members.end()?;
        let request = EmbedRequest { embedder, inputs, role, dimensions, normalize: None };
        Ok(Asked { request, is_base64 })
    }
}

async fn embeddings(shared: &Shared, body: Body) -> Result<Value, Fault> {
    let bytes = body.read(&shared.options).await?;
    let Asked { request, is_base64 } = Asked::read(&bytes)?;
    let model = request.embedder.clone();
    let answer = shared.node.embed(request).await?;
    let one = |(index, output): (usize, &EmbedOutput)| {
        let EmbedOutput::Vector(cells) = output else {
            let text = format!("embedder {model} does not make one vector of a text; ask /embed");
            return Err(Fault::invalid(text));
        };
        let embedding = match is_base64 {
            true => {
                let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
                Value::String(STANDARD.encode(bytes))
            }
            false => json!(cells),
        };
        Ok(json!({"object": "embedding", "index": index, "embedding": embedding}))
    };
    let data = answer.outputs.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
    let tokens = answer.tokens;
    Ok(json!({
        "object": "list",
        "data": data,
        "model": answer.embedder,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }))
}

/// `{"error": {"message", "type", "param", "code"}}`.
fn failure(Fault(error): &Fault) -> Result<Reply, Fault> {
    let status = Dialect::Kserve.status(error.code);
    let kind = match status {
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    };
    let code = match error.code {
        Code::NotFound => Some("model_not_found"),
        _ => None,
    };
    let status = if error.code == Code::NotFound { StatusCode::NOT_FOUND } else { status };
    let message = error.to_string();
    let error = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    Ok(Reply { status, ..Reply::serialize(&error)? })
}
