//! The calls below `/v1`.

use super::predict::{Format, encode_predict, parse_predict, rows_of};
use super::signature::{all_status_json, metadata_json, status_json};
use crate::fault::Fault;
use crate::http::{Body, LARGE, Reply, Shared, TfsCall, V1, blocking};
use crate::tensors::check_json;
use bytes::Bytes;
use http::StatusCode;
use std::sync::Arc;
use stead_node::{
    Code, Embedded, ErrorKind, InferRequest, Method, ModelMetadata, Parameters, Protocol,
    VersionRef, parse_version,
};

const HTTP: Protocol = Protocol::TfsHttp;

/// Answers a call.
///
/// # Errors
/// Those of parsing and of the node.
pub async fn answer(shared: &Arc<Shared>, call: V1, body: Body) -> Result<Reply, Fault> {
    let node = &shared.node;
    match call {
        V1::Config => Ok(Reply::json(all_status_json(node.all_status())?)),
        V1::Reload => {
            let node = node.clone();
            let outcome = blocking(move || node.reload_config()).await??;
            if let Some((model, version, why)) = outcome.failures.first() {
                // As in OVMS: what could be loaded is served, and the caller learns that not all was.
                return Err(Fault::new(
                    Code::Internal,
                    format!(
                        "Reloading models versions failed. Check server logs for more info. - model: \
                         {model}; version: {version}; {why}"
                    ),
                ));
            }
            let status = if outcome.changed { StatusCode::CREATED } else { StatusCode::OK };
            Ok(Reply { status, ..Reply::json(all_status_json(outcome.models)?) })
        }
        V1::Model { model, version, label, call } => {
            let version = match (version, label) {
                // An empty text would mean the latest; in a path it means nothing.
                (Some(text), _) if text.is_empty() => return Err(bad_version()),
                (Some(text), _) => parse_version(&text)?,
                (None, Some(label)) => VersionRef::Label(label),
                (None, None) => VersionRef::Latest,
            };
            match call {
                TfsCall::Predict => predict(shared, model, version, body).await,
                TfsCall::Metadata => {
                    Ok(Reply::json(metadata_json(&metadata(shared, &model, &version)?)?))
                }
                TfsCall::Status => {
                    let status = match &version {
                        // Without a version all are listed; `Latest` asks for that.
                        VersionRef::Label(_) => node.model_status(&model, &VersionRef::Latest),
                        version => node.model_status(&model, version),
                    };
                    let ok = status.is_ok();
                    node.record_call(HTTP, Method::GetModelStatus, &model, None, ok);
                    Ok(Reply::json(status_json(status?)?))
                }
                TfsCall::ClassifyOrRegress => {
                    Err(Fault::new(Code::NotFound, "Requested REST resource not found"))
                }
            }
        }
    }
}

fn bad_version() -> Fault {
    Fault::invalid("Could not parse model version in request")
}

fn metadata(shared: &Shared, model: &str, version: &VersionRef) -> Result<ModelMetadata, Fault> {
    let metadata = shared.node.model_metadata(model, version);
    let served = metadata.as_ref().ok().map(|m| m.version);
    let ok = metadata.is_ok();
    shared.node.record_call(HTTP, Method::GetModelMetadata, model, served, ok);
    Ok(metadata?)
}

/// A request, and whom it is for.
struct Read {
    request: InferRequest,
    format: Format,
    metadata: ModelMetadata,
}

/// Reads a request. The types of inputs decide how numbers are read; while a model that was replaced finishes its
/// sequences, they are those of the one where the sequence lives, which only the request itself tells.
fn read(node: &Embedded, model: String, version: VersionRef, bytes: &Bytes) -> Result<Read, Fault> {
    let holders = node.metadata_of_holders(&model, &version)?;
    let alone = holders.len() == 1;
    let read_as = |metadata: ModelMetadata| {
        let parsed = parse_predict(bytes, &metadata)?;
        let request = InferRequest {
            model: model.clone(),
            version: version.clone(),
            id: String::new(),
            inputs: parsed.inputs,
            outputs: Vec::new(),
            parameters: Parameters::new(),
            deadline: None,
            protocol: HTTP,
        };
        Ok(Read { request, format: parsed.format, metadata })
    };
    let is_for = |read: &Read| {
        let holder = node.metadata_for(&read.request);
        holder.is_ok_and(|holder| holder.has_signature_of(&read.metadata))
    };
    let mut first = None;
    for metadata in holders {
        let read = read_as(metadata);
        if read.as_ref().is_ok_and(|read| alone || is_for(read)) {
            return read;
        }
        first.get_or_insert(read);
    }
    first.unwrap_or_else(|| Err(ErrorKind::UnknownModel { model }.into()))
}

async fn predict(
    shared: &Arc<Shared>,
    model: String,
    version: VersionRef,
    body: Body,
) -> Result<Reply, Fault> {
    let bytes = body.read(&shared.options).await?;
    let read = if bytes.len() > LARGE {
        let node = shared.node.clone();
        blocking(move || read(&node, model, version, &bytes)).await??
    } else {
        read(&shared.node, model, version, &bytes)?
    };
    let Read { request, mut format, metadata } = read;
    // Before the model runs: a step of a sequence that was done must have its answer.
    metadata.outputs.iter().try_for_each(|o| check_json(o.dtype))?;
    let stateful = !metadata.special_inputs.is_empty();
    let outputs = shared.node.infer(request).await?.outputs;
    if stateful && rows_of(&outputs).is_none() {
        // The step is done. Columns can hold every answer.
        format = Format::Column;
    }
    let values: usize = outputs.iter().map(|(_, t)| t.shape().elements()).sum();
    // A number takes some ten bytes of text.
    let body = if values > LARGE / 10 {
        blocking(move || encode_predict(format, &outputs)).await??
    } else {
        encode_predict(format, &outputs)?
    };
    Ok(Reply::json(body))
}
