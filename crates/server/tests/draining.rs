//! A model that was removed or replaced finishes its sequences over every protocol.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use std::collections::BTreeMap;
use std::path::Path;

use pb::infer_parameter::ParameterChoice;
use serde_json::json;
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_server::proto::kserve as pb;
use stead_server::proto::tensorflow::{
    DataType, TensorProto, TensorShapeProto, serving, tensor_shape_proto,
};
use stead_tensor::DType;
use tonic::Status;

use crate::common::{Answer, Fixture};

fn summator(dtype: DType) -> Vec<u8> {
    let vector = ValueType::tensor(dtype, Some(dims_of(&["batch", "1"])));
    ModelBuilder::new(17)
        .input("b", dtype, &["batch", "1"])
        .input("sum", dtype, &["batch", "1"])
        .node("Add", &["b", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["y"])
        .output_of("y", vector.clone())
        .output_of("sum_out", vector)
        .bytes()
}

fn write_config(folder: &Path, models: &[&str]) {
    let entry =
        |name: &&str| json!({"config": {"name": name, "base_path": name, "stateful": true}});
    let list: Vec<_> = models.iter().map(entry).collect();
    std::fs::write(folder.join("config.json"), json!({"model_config_list": list}).to_string())
        .unwrap();
}

fn write_version(folder: &Path, version: u64, dtype: DType) {
    let folder = folder.join("sum").join(version.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("model.onnx"), summator(dtype)).unwrap();
}

/// What a step asks for.
#[derive(Clone, Copy, PartialEq)]
enum Control {
    Start,
    Step,
    End,
}

/// One step of a sequence by one protocol: the sum, or what went wrong.
type Protocol = fn(&Fixture, u64, Control, f32) -> Result<f64, String>;

const PROTOCOLS: [(&str, Protocol); 5] = [
    ("TFS REST", tfs_rest),
    ("TFS gRPC", tfs_grpc),
    ("KServe REST", kserve_rest),
    ("KServe gRPC", kserve_grpc),
    ("KServe stream", kserve_stream),
];

fn number(answer: &Answer, pointer: &str) -> Result<f64, String> {
    let value = answer.json().pointer(pointer).and_then(serde_json::Value::as_f64);
    value.ok_or_else(|| format!("{}: {}", answer.status, answer.text()))
}

fn tfs_rest(fixture: &Fixture, id: u64, control: Control, value: f32) -> Result<f64, String> {
    let body = json!({"inputs": {"b": [[value]], "sequence_id": [id],
        "sequence_control_input": [match control { Control::Start => 1, Control::Step => 0, Control::End => 2 }]}});
    number(&fixture.post("/v1/models/sum:predict", body.to_string()), "/outputs/y/0/0")
}

fn kserve_rest(fixture: &Fixture, id: u64, control: Control, value: f32) -> Result<f64, String> {
    let body = json!({
        "inputs": [{"name": "b", "shape": [1, 1], "datatype": "FP32", "data": [value]}],
        "parameters": {"sequence_id": id, "sequence_start": control == Control::Start,
                       "sequence_end": control == Control::End}});
    number(&fixture.post("/v2/models/sum/infer", body.to_string()), "/outputs/0/data/0")
}

fn tfs_grpc(fixture: &Fixture, id: u64, control: Control, value: f32) -> Result<f64, String> {
    let proto = |dtype: DataType, dims: &[i64], change: &dyn Fn(&mut TensorProto)| {
        let dim = |&size: &i64| tensor_shape_proto::Dim { size, name: String::new() };
        let shape = TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank: false };
        let (dtype, tensor_shape) = (dtype.into(), Some(shape));
        let mut proto = TensorProto { dtype, tensor_shape, ..Default::default() };
        change(&mut proto);
        proto
    };
    // No type is declared: OpenVINO Model Server reads that only where it knows a special input.
    let special = |change: &dyn Fn(&mut TensorProto)| proto(DataType::DtInvalid, &[1], change);
    let bytes = value.to_le_bytes().to_vec();
    let control = match control {
        Control::Start => 1,
        Control::Step => 0,
        Control::End => 2,
    };
    let inputs = std::collections::BTreeMap::from([
        (
            "b".to_owned(),
            proto(DataType::DtFloat, &[1, 1], &|p| p.tensor_content = bytes.clone().into()),
        ),
        ("sequence_id".to_owned(), special(&|p| p.uint64_val = vec![id])),
        ("sequence_control_input".to_owned(), special(&|p| p.uint32_val = vec![control])),
    ]);
    let model_spec = Some(serving::ModelSpec { name: "sum".into(), ..Default::default() });
    let request = serving::PredictRequest { model_spec, inputs, ..Default::default() };
    fixture.runtime().block_on(async {
        type Client =
            serving::prediction_service_client::PredictionServiceClient<tonic::transport::Channel>;
        let mut client = Client::connect(format!("http://{}", fixture.grpc)).await.unwrap();
        let answer = client.predict(request).await.map_err(|e| e.to_string())?.into_inner();
        let bytes = answer.outputs["y"].tensor_content[..].try_into().unwrap();
        Ok(f64::from(f32::from_le_bytes(bytes)))
    })
}

type Client =
    pb::grpc_inference_service_client::GrpcInferenceServiceClient<tonic::transport::Channel>;

fn kserve_request(id: u64, control: Control, value: f32) -> pb::ModelInferRequest {
    let parameter = |choice| pb::InferParameter { parameter_choice: Some(choice) };
    let flag = |on| parameter(ParameterChoice::BoolParam(on));
    pb::ModelInferRequest {
        model_name: "sum".into(),
        inputs: vec![pb::model_infer_request::InferInputTensor {
            name: "b".into(),
            datatype: "FP32".into(),
            shape: vec![1, 1],
            ..Default::default()
        }],
        raw_input_contents: vec![value.to_le_bytes().to_vec().into()],
        parameters: BTreeMap::from([
            ("sequence_id".to_owned(), parameter(ParameterChoice::Uint64Param(id))),
            ("sequence_start".to_owned(), flag(control == Control::Start)),
            ("sequence_end".to_owned(), flag(control == Control::End)),
        ]),
        ..Default::default()
    }
}

fn answered(answer: &pb::ModelInferResponse) -> f64 {
    f64::from(f32::from_le_bytes(answer.raw_output_contents[0][..].try_into().unwrap()))
}

fn kserve_grpc(fixture: &Fixture, id: u64, control: Control, value: f32) -> Result<f64, String> {
    fixture.runtime().block_on(async {
        let mut client = Client::connect(format!("http://{}", fixture.grpc)).await.unwrap();
        let answer = client.model_infer(kserve_request(id, control, value)).await;
        Ok(answered(answer.map_err(|e| e.to_string())?.get_ref()))
    })
}

fn kserve_stream(fixture: &Fixture, id: u64, control: Control, value: f32) -> Result<f64, String> {
    fixture.runtime().block_on(async {
        let mut client = Client::connect(format!("http://{}", fixture.grpc)).await.unwrap();
        let requests = tokio_stream::iter([kserve_request(id, control, value)]);
        let answers = client.model_stream_infer(requests).await;
        let text = |e: Status| e.to_string();
        let answer = answers.map_err(text)?.get_mut().message().await.map_err(text)?.unwrap();
        match answer.error_message.is_empty() {
            true => Ok(answered(&answer.infer_response.unwrap())),
            false => Err(answer.error_message),
        }
    })
}

/// Begins a sequence by each protocol, changes the repository, and finishes them, each by every protocol.
fn finish_behind(change: impl FnOnce(&Path)) -> Fixture {
    let fixture = Fixture::of(|folder| {
        write_version(folder, 1, DType::F32);
        write_config(folder, &["sum"]);
    });
    for (id, (label, step)) in (1..).zip(PROTOCOLS) {
        assert_eq!(step(&fixture, id, Control::Start, 0.5), Ok(0.5), "{label}");
    }
    change(fixture.folder.path());
    fixture.node.reload_config().unwrap();
    for (id, (began, _)) in (1..).zip(PROTOCOLS) {
        let mut sum = 0.5;
        for (label, step) in PROTOCOLS {
            sum += 0.25;
            let got = step(&fixture, id, Control::Step, 0.25);
            assert_eq!(got, Ok(sum), "begun by {began}, continued by {label}");
        }
    }
    for (id, (label, step)) in (1..).zip(PROTOCOLS) {
        assert_eq!(step(&fixture, id, Control::End, 1.0), Ok(2.75), "{label}");
        assert!(step(&fixture, id, Control::Step, 1.0).is_err(), "{label}: it has ended");
    }
    fixture
}

#[test]
fn a_removed_model_finishes_its_sequences() {
    let fixture = finish_behind(|folder| write_config(folder, &[]));
    for (label, step) in PROTOCOLS {
        assert!(step(&fixture, 9, Control::Start, 1.0).is_err(), "{label}: no new ones begin");
    }
}

/// The new version takes another type: what a request holds is read as the version takes it where the sequence lives.
#[test]
fn a_version_that_was_replaced_finishes_its_sequences() {
    let fixture = finish_behind(|folder| write_version(folder, 2, DType::F64));
    let body = json!({"inputs": {"b": [[0.1]], "sequence_id": [9], "sequence_control_input": [1]}});
    let answer = fixture.post("/v1/models/sum:predict", body.to_string());
    assert_eq!(number(&answer, "/outputs/y/0/0"), Ok(0.1), "in double precision");
}

#[test]
fn an_unloaded_model_finishes_its_sequences() {
    let fixture = Fixture::of(|folder| {
        write_version(folder, 1, DType::F32);
        write_config(folder, &["sum"]);
    });
    for (id, (label, step)) in (1..).zip(PROTOCOLS) {
        assert_eq!(step(&fixture, id, Control::Start, 1.0), Ok(1.0), "{label}");
    }
    assert_eq!(fixture.post("/v2/repository/models/sum/unload", "{}").status, 200);
    for (id, (label, step)) in (1..).zip(PROTOCOLS) {
        assert_eq!(step(&fixture, id, Control::End, 1.0), Ok(2.0), "{label}");
    }
}
