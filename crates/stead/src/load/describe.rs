//! What a server tells about a model.

use std::collections::BTreeMap;

use serde_json::Value;
use stead_engine::{Dim, IoSpec};
use stead_server::proto::kserve as pb;

use super::grpc;
use super::signals::Declared;
use crate::failure::Failure;
use crate::http_client::{Target, segment};
use crate::inputs::parse_dtype;

/// A model as its server describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Described {
    /// Its inputs.
    pub inputs: Vec<Declared>,
    /// The parameters of its configuration, in which stead tells of states and windows.
    pub parameters: BTreeMap<String, String>,
}

/// Asks over HTTP.
///
/// # Errors
/// No server, no such model, and metadata of an unknown form.
pub fn over_http(target: &Target, model: &str) -> Result<Described, Failure> {
    let ask = |path: &str| -> Result<Value, Failure> {
        let answer = target.send("GET", &format!("/v2/models/{}{path}", segment(model)), b"")?;
        let value = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        match answer.status {
            200 => Ok(value),
            status => Err(Failure::failed(format!(
                "{target} ({status}): {}",
                value["error"].as_str().unwrap_or("it does not speak KServe V2")
            ))),
        }
    };
    let metadata = ask("")?;
    let inputs = metadata["inputs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let input = |input: &Value| {
        let shape = input["shape"].as_array().map(Vec::as_slice).unwrap_or_default();
        let shape: Vec<i64> = shape.iter().filter_map(Value::as_i64).collect();
        let text = |key: &str| input[key].as_str().unwrap_or_default();
        declared(text("name"), text("datatype"), &shape)
    };
    let inputs: Result<Vec<Declared>, Failure> = inputs.iter().map(input).collect();
    // Another server need not have this page.
    let config = ask("/config").unwrap_or_default();
    let parameters = config["parameters"].as_object().into_iter().flatten();
    let text = |(name, value): (&String, &Value)| {
        Some((name.clone(), value["string_value"].as_str()?.to_owned()))
    };
    Ok(Described { inputs: inputs?, parameters: parameters.filter_map(text).collect() })
}

/// Asks over gRPC.
///
/// # Errors
/// As [`over_http`].
pub async fn over_grpc(target: &Target, model: &str) -> Result<Described, Failure> {
    let mut client = grpc::connect(target).await?;
    let name = model.to_owned();
    let bad =
        |s: tonic::Status| Failure::failed(format!("{target} ({:?}): {}", s.code(), s.message()));
    let metadata = pb::ModelMetadataRequest { name: name.clone(), version: String::new() };
    let metadata = client.model_metadata(metadata).await.map_err(bad)?.into_inner();
    let inputs = metadata.inputs.iter().map(|i| declared(&i.name, &i.datatype, &i.shape));
    let inputs: Result<Vec<Declared>, Failure> = inputs.collect();
    let config = pb::ModelConfigRequest { name, version: String::new() };
    let config = match client.model_config(config).await {
        Ok(config) => config.into_inner().config.unwrap_or_default(),
        Err(_) => pb::ModelConfig::default(),
    };
    let parameters = config.parameters.into_iter().map(|(name, p)| (name, p.string_value));
    Ok(Described { inputs: inputs?, parameters: parameters.collect() })
}

/// An input of the metadata. Free dimensions have names, so that `--dim 'x[0]=4'` gives their sizes.
fn declared(name: &str, datatype: &str, shape: &[i64]) -> Result<Declared, Failure> {
    let Some(dtype) = parse_dtype(datatype) else {
        return Err(Failure::failed(format!("input `{name}` is of the unknown type {datatype}")));
    };
    let dim = |(axis, size): (usize, &i64)| match usize::try_from(*size) {
        Ok(size) => Dim::Known(size),
        Err(_) => Dim::Symbol(format!("{name}[{axis}]")),
    };
    let dims = Some(shape.iter().enumerate().map(dim).collect());
    let spec = IoSpec { name: name.to_owned(), dtype, dims, optional: false };
    Ok(Declared { spec, datatype: datatype.to_owned() })
}
