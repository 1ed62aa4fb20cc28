//! The calls below `/v2`.

use super::config::config_json;
use super::datatype::datatype_name;
use super::infer::{EXTENSIONS, evaluate, is_batched};
use super::parameters::read_parameters;
use super::request::{json_length, parse_infer, parse_raw};
use super::response::encode_infer;
use super::statistics::statistics_json;
use super::trace;
use crate::admin;
use crate::fault::Fault;
use crate::http::{Body, LARGE, ModelPart, Reply, Shared, V2, blocking};
use crate::json::{Kind, Reader};
use bytes::Bytes;
use serde::Serialize;
use std::sync::Arc;
use stead_node::{
    Code, Embedded, Method, ModelMetadata, Parameters, Protocol, TensorInfo, VersionRef,
    parse_version,
};

const HTTP: Protocol = Protocol::KserveHttp;

/// Answers a call.
///
/// # Errors
/// Those of parsing and of the node.
pub async fn answer(shared: &Arc<Shared>, call: V2, body: Body) -> Result<Reply, Fault> {
    let node = &shared.node;
    match call {
        V2::Server => Reply::serialize(&ServerMetadata {
            name: &shared.options.name,
            version: &shared.options.version,
            extensions: &EXTENSIONS,
        }),
        V2::Live => health(node.live(), "Server is not live"),
        V2::Ready => health(node.ready(), "Server is not ready"),
        V2::AllStatistics => statistics(node, None, &VersionRef::Latest),
        V2::Index => index(node, &body.read(&shared.options).await?),
        V2::Load(model) => load(node, model, &body.read(&shared.options).await?).await,
        V2::Unload(model) => {
            // The one parameter, `unload_dependents`, means nothing without ensembles.
            repository_parameters(&body.read(&shared.options).await?)?;
            let node = node.clone();
            blocking(move || node.unload_model(&model)).await??;
            Ok(Reply::empty())
        }
        V2::TraceSettings { model, changes } => {
            let body = match changes {
                true => body.read(&shared.options).await?,
                false => Bytes::from_static(b"{}"),
            };
            trace::answer(node, model.as_deref(), &trace::parse(&body)?)?;
            trace::reply()
        }
        V2::Sequences(call) => admin::answer(shared, call, body).await,
        V2::Model { model, version, part } => {
            let version = parse_version(&version)?;
            match part {
                ModelPart::Infer => infer(shared, model, version, body).await,
                ModelPart::Ready => {
                    let ready = node.model_ready(&model, &version);
                    node.record_call(HTTP, Method::ModelReady, &model, None, ready);
                    health(ready, "Model version not ready")
                }
                ModelPart::Metadata => {
                    let metadata = node.model_metadata(&model, &version);
                    let served = metadata.as_ref().ok().map(|m| m.version);
                    let ok = metadata.is_ok();
                    node.record_call(HTTP, Method::ModelMetadata, &model, served, ok);
                    Reply::serialize(&Metadata::new(&metadata?))
                }
                ModelPart::Config => {
                    let config = node.model_config(&model, &version)?;
                    Ok(Reply::json(config_json(&config).map_err(internal)?))
                }
                ModelPart::Statistics => statistics(node, Some(&model), &version),
            }
        }
    }
}

pub(super) fn internal(error: serde_json::Error) -> Fault {
    Fault::new(Code::Internal, format!("answer is no JSON: {error}"))
}

fn health(good: bool, text: &str) -> Result<Reply, Fault> {
    // Triton answers 400 for what is not ready, which is the class of a bad request.
    if good { Ok(Reply::empty()) } else { Err(Fault::invalid(text)) }
}

fn statistics(node: &Embedded, model: Option<&str>, version: &VersionRef) -> Result<Reply, Fault> {
    let list = node.statistics(model, version)?;
    Ok(Reply::json(statistics_json(list).map_err(internal)?))
}

async fn infer(
    shared: &Arc<Shared>,
    model: String,
    version: VersionRef,
    body: Body,
) -> Result<Reply, Fault> {
    let header = body.inference_header();
    let bytes = body.read(&shared.options).await?;
    let parsed = match json_length(header.as_deref(), bytes.len())? {
        None => parse_raw(bytes, &shared.node.model_metadata(&model, &version)?)?,
        Some(length) if length > LARGE => blocking(move || parse_infer(&bytes, length)).await??,
        Some(length) => parse_infer(&bytes, length)?,
    };
    let wanted = parsed.outputs.clone();
    let binary_default = parsed.binary_default;
    let response = evaluate(&shared.node, model, version, parsed, HTTP).await?;
    let classes = wanted.iter().any(|w| w.classes.is_some());
    let batched = classes && is_batched(&shared.node, &response);
    let values: usize = response.outputs.iter().map(|(_, t)| t.shape().elements()).sum();
    let encode = move || encode_infer(&response, &wanted, binary_default, batched);
    // A number takes some ten bytes of text.
    let encoded = if values > LARGE / 10 { blocking(encode).await?? } else { encode()? };
    Ok(Reply::tensors(encoded.body, encoded.json_len))
}

fn index(node: &Embedded, body: &Bytes) -> Result<Reply, Fault> {
    let mut ready = false;
    if !body.is_empty() {
        let mut reader = Reader::new(body);
        reader.object::<Fault>(|r, key| {
            match key {
                "ready" => ready = r.boolean().map_err(|e| Fault::from(e).at("ready"))?,
                _ => drop(r.skip()?),
            }
            Ok(())
        })?;
        reader.end()?;
    }
    #[derive(Serialize)]
    struct Entry {
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<&'static str>,
        #[serde(skip_serializing_if = "String::is_empty")]
        reason: String,
    }
    let entries: Vec<Entry> = node
        .repository_index(ready)
        .into_iter()
        .map(|e| Entry {
            name: e.name,
            version: e.version.map(|v| v.to_string()),
            state: e.state.map(|s| s.name()),
            reason: e.reason,
        })
        .collect();
    Reply::serialize(&entries)
}

/// The member `parameters` of a load or unload request.
fn repository_parameters(body: &Bytes) -> Result<Parameters, Fault> {
    let mut parameters = Parameters::new();
    if body.is_empty() {
        return Ok(parameters);
    }
    let mut reader = Reader::new(body);
    reader.object::<Fault>(|r, key| {
        match key {
            "parameters" if r.peek()? == Kind::Object => parameters = read_parameters(r)?,
            _ => drop(r.skip()?),
        }
        Ok(())
    })?;
    reader.end()?;
    Ok(parameters)
}

async fn load(node: &Arc<Embedded>, model: String, body: &Bytes) -> Result<Reply, Fault> {
    let parameters = repository_parameters(body)?;
    let node = node.clone();
    blocking(move || node.load_model(&model, &parameters)).await??;
    Ok(Reply::empty())
}

#[derive(Serialize)]
struct ServerMetadata<'a> {
    name: &'a str,
    version: &'a str,
    extensions: &'a [&'static str],
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    versions: Vec<String>,
    platform: &'a str,
    inputs: Vec<TensorMetadata<'a>>,
    outputs: Vec<TensorMetadata<'a>>,
}

#[derive(Serialize)]
struct TensorMetadata<'a> {
    name: &'a str,
    datatype: String,
    shape: &'a [i64],
}

impl<'a> Metadata<'a> {
    fn new(metadata: &'a ModelMetadata) -> Metadata<'a> {
        let tensor = |t: &'a TensorInfo| TensorMetadata {
            name: &t.name,
            datatype: datatype_name(t.dtype),
            shape: &t.shape,
        };
        Metadata {
            name: &metadata.name,
            versions: metadata.versions.iter().map(u64::to_string).collect(),
            platform: &metadata.platform,
            inputs: metadata.inputs.iter().map(tensor).collect(),
            outputs: metadata.outputs.iter().map(tensor).collect(),
        }
    }
}
