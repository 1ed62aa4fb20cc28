//! Metadata and version states, as messages and as the exact text that OpenVINO Model Server writes.

use super::datatype::data_type;
use super::proto_tensor::shape_to_proto;
use crate::fault::Fault;
use crate::proto::tensorflow::serving as pb;
use crate::proto::tensorflow::{SignatureDef, TensorInfo as PbTensorInfo};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::BTreeMap;
use stead_node::{Code, ModelMetadata, TensorInfo, VersionStatus};

/// The one signature's name.
const SIGNATURE: &str = "serving_default";

/// The type of the message in metadata answers.
pub const SIGNATURE_MAP_URL: &str = "type.googleapis.com/tensorflow.serving.SignatureDefMap";

/// The inputs and outputs of a model as a signature.
pub fn signature_map(metadata: &ModelMetadata) -> pb::SignatureDefMap {
    let tensors = |list: &[TensorInfo]| {
        list.iter()
            .map(|t| {
                let info = PbTensorInfo {
                    name: t.name.clone(),
                    dtype: data_type(t.dtype).into(),
                    tensor_shape: Some(shape_to_proto(t.shape.iter().copied())),
                };
                (t.name.clone(), info)
            })
            .collect()
    };
    let signature = SignatureDef {
        inputs: tensors(&metadata.inputs),
        outputs: tensors(&metadata.outputs),
        ..SignatureDef::default()
    };
    pb::SignatureDefMap { signature_def: [(SIGNATURE.to_owned(), signature)].into() }
}

/// The state of a version as a message.
pub fn status_message(status: VersionStatus) -> pb::ModelVersionStatus {
    pb::ModelVersionStatus {
        version: i64::try_from(status.version).unwrap_or(i64::MAX),
        state: status.state.number(),
        status: Some(pb::StatusProto {
            error_code: status.error_code,
            error_message: status.error_message,
        }),
    }
}

/// JSON indented by one space, as protobuf's printer does, with its newline at the end.
fn pretty(value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b" "));
    value
        .serialize(&mut serializer)
        .map_err(|e| Fault::new(Code::Internal, format!("answer is no JSON: {e}")))?;
    out.push(b'\n');
    Ok(out)
}

#[derive(Serialize)]
struct MetadataJson<'a> {
    #[serde(rename = "modelSpec")]
    model_spec: ModelSpec<'a>,
    metadata: Fields<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelSpec<'a> {
    name: &'a str,
    signature_name: &'static str,
    version: String,
}

#[derive(Serialize)]
struct Fields<'a> {
    signature_def: SignatureMap<'a>,
}

#[derive(Serialize)]
struct SignatureMap<'a> {
    #[serde(rename = "@type")]
    url: &'static str,
    #[serde(rename = "signatureDef")]
    signatures: BTreeMap<&'static str, Signature<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signature<'a> {
    inputs: BTreeMap<&'a str, Tensor<'a>>,
    outputs: BTreeMap<&'a str, Tensor<'a>>,
    method_name: &'static str,
    defaults: BTreeMap<&'a str, ()>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tensor<'a> {
    dtype: &'static str,
    tensor_shape: ShapeJson,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShapeJson {
    dim: Vec<DimJson>,
    unknown_rank: bool,
}

#[derive(Serialize)]
struct DimJson {
    size: String,
    name: &'static str,
}

/// The text of `GET .../metadata`.
///
/// # Errors
/// None for values of these types.
pub fn metadata_json(metadata: &ModelMetadata) -> Result<Vec<u8>, Fault> {
    fn tensors(list: &[TensorInfo]) -> BTreeMap<&str, Tensor<'_>> {
        list.iter()
            .map(|t| {
                let dim = |d: &i64| DimJson { size: d.to_string(), name: "" };
                let tensor = Tensor {
                    dtype: data_type(t.dtype).as_str_name(),
                    tensor_shape: ShapeJson {
                        dim: t.shape.iter().map(dim).collect(),
                        unknown_rank: false,
                    },
                    name: &t.name,
                };
                (t.name.as_str(), tensor)
            })
            .collect()
    }
    let signature = Signature {
        inputs: tensors(&metadata.inputs),
        outputs: tensors(&metadata.outputs),
        method_name: "",
        defaults: BTreeMap::new(),
    };
    pretty(&MetadataJson {
        model_spec: ModelSpec {
            name: &metadata.name,
            signature_name: "",
            version: metadata.version.to_string(),
        },
        metadata: Fields {
            signature_def: SignatureMap {
                url: SIGNATURE_MAP_URL,
                signatures: [(SIGNATURE, signature)].into(),
            },
        },
    })
}

#[derive(Serialize)]
struct StatusJson {
    model_version_status: Vec<VersionJson>,
}

#[derive(Serialize)]
struct VersionJson {
    version: String,
    state: &'static str,
    status: ErrorJson,
}

#[derive(Serialize)]
struct ErrorJson {
    error_code: &'static str,
    error_message: String,
}

fn status_value(list: Vec<VersionStatus>) -> StatusJson {
    let version = |s: VersionStatus| VersionJson {
        version: s.version.to_string(),
        state: s.state.name(),
        status: ErrorJson { error_code: s.error_name(), error_message: s.error_message },
    };
    StatusJson { model_version_status: list.into_iter().map(version).collect() }
}

/// The text of `GET /v1/models/{m}`.
///
/// # Errors
/// None for values of these types.
pub fn status_json(list: Vec<VersionStatus>) -> Result<Vec<u8>, Fault> {
    pretty(&status_value(list))
}

/// The text of `/v1/config`: the states of all models by name.
///
/// # Errors
/// None for values of these types.
pub fn all_status_json(models: Vec<(String, Vec<VersionStatus>)>) -> Result<Vec<u8>, Fault> {
    let map: BTreeMap<String, StatusJson> =
        models.into_iter().map(|(name, list)| (name, status_value(list))).collect();
    pretty(&map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_node::VersionState;
    use stead_tensor::DType;

    #[test]
    fn texts_as_published() {
        let info = |name: &str, dtype, shape: &[i64]| TensorInfo {
            name: name.into(),
            dtype,
            shape: shape.to_vec(),
            optional: false,
        };
        let metadata = ModelMetadata {
            name: "dummy".into(),
            version: 23,
            versions: vec![23],
            platform: "onnx".into(),
            inputs: vec![info("b", DType::F32, &[-1])],
            special_inputs: Vec::new(),
            outputs: vec![info("a", DType::I32, &[])],
        };
        let expected = r#"{
 "modelSpec": {
  "name": "dummy",
  "signatureName": "",
  "version": "23"
 },
 "metadata": {
  "signature_def": {
   "@type": "type.googleapis.com/tensorflow.serving.SignatureDefMap",
   "signatureDef": {
    "serving_default": {
     "inputs": {
      "b": {
       "dtype": "DT_FLOAT",
       "tensorShape": {
        "dim": [
         {
          "size": "-1",
          "name": ""
         }
        ],
        "unknownRank": false
       },
       "name": "b"
      }
     },
     "outputs": {
      "a": {
       "dtype": "DT_INT32",
       "tensorShape": {
        "dim": [],
        "unknownRank": false
       },
       "name": "a"
      }
     },
     "methodName": "",
     "defaults": {}
    }
   }
  }
 }
}
"#;
        assert_eq!(String::from_utf8(metadata_json(&metadata).unwrap()).unwrap(), expected);
        let status = VersionStatus {
            version: 1,
            state: VersionState::Available,
            error_code: 0,
            error_message: "OK".into(),
        };
        let expected = r#"{
 "model_version_status": [
  {
   "version": "1",
   "state": "AVAILABLE",
   "status": {
    "error_code": "OK",
    "error_message": "OK"
   }
  }
 ]
}
"#;
        assert_eq!(String::from_utf8(status_json(vec![status]).unwrap()).unwrap(), expected);
    }
}
