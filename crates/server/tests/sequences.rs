//! Sequences as clients of OpenVINO Model Server see them, over TensorFlow Serving's API, and over KServe.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use pb::prediction_service_client::PredictionServiceClient;
use serde_json::{Value, json};
use stead_server::proto::tensorflow::serving as pb;
use stead_server::proto::tensorflow::{
    DataType, TensorProto, TensorShapeProto, tensor_shape_proto,
};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::common::Fixture;

type Client = PredictionServiceClient<Channel>;

fn proto(dtype: DataType, dims: &[i64], change: impl FnOnce(&mut TensorProto)) -> TensorProto {
    let dim = |&size: &i64| tensor_shape_proto::Dim { size, name: String::new() };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank: false };
    let mut proto =
        TensorProto { dtype: dtype.into(), tensor_shape: Some(shape), ..Default::default() };
    change(&mut proto);
    proto
}

fn id(value: u64) -> (&'static str, TensorProto) {
    ("sequence_id", proto(DataType::DtUint64, &[1], |p| p.uint64_val = vec![value]))
}

fn control(value: u32) -> (&'static str, TensorProto) {
    ("sequence_control_input", proto(DataType::DtUint32, &[1], |p| p.uint32_val = vec![value]))
}

fn data(value: f32) -> (&'static str, TensorProto) {
    let bytes = value.to_le_bytes().to_vec();
    ("b", proto(DataType::DtFloat, &[1, 1], |p| p.tensor_content = bytes.into()))
}

async fn predict(
    client: &mut Client,
    inputs: Vec<(&str, TensorProto)>,
) -> Result<pb::PredictResponse, Status> {
    let request = pb::PredictRequest {
        model_spec: Some(pb::ModelSpec { name: "sum".into(), ..Default::default() }),
        inputs: inputs.into_iter().map(|(n, p)| (n.to_owned(), p)).collect(),
        ..Default::default()
    };
    Ok(client.predict(request).await?.into_inner())
}

/// The sum and the id of an answer.
fn said(answer: &pb::PredictResponse) -> (f32, u64) {
    assert_eq!(answer.outputs.len(), 2, "the state is not shown");
    let id = &answer.outputs["sequence_id"];
    assert_eq!((id.dtype, id.tensor_content.len()), (DataType::DtUint64 as i32, 0));
    assert_eq!(id.tensor_shape.as_ref().unwrap().dim[0].size, 1);
    let sum = answer.outputs["y"].tensor_content[..].try_into().unwrap();
    (f32::from_le_bytes(sum), id.uint64_val[0])
}

#[test]
fn tfs_grpc_standard_flow_and_encodings() {
    let fixture = Fixture::stateful(|_| {});
    fixture.runtime().block_on(async {
        let mut client = Client::connect(format!("http://{}", fixture.grpc)).await.unwrap();
        let first = predict(&mut client, vec![data(1.0), control(1)]).await.unwrap();
        assert_eq!(said(&first), (1.0, 1), "an id of the server's");
        // Every encoding of the same number; the declared type does not count.
        let int = |dtype, change: fn(&mut TensorProto)| ("sequence_id", proto(dtype, &[1], change));
        let content = |p: &mut TensorProto| p.tensor_content = 1u64.to_le_bytes().to_vec().into();
        let mut sum = 1.0;
        for (label, id) in [
            ("uint64_val", id(1)),
            ("tensor_content", int(DataType::DtUint64, content)),
            ("int64_val", int(DataType::DtInt64, |p| p.int64_val = vec![1])),
            ("int_val", int(DataType::DtInt32, |p| p.int_val = vec![1])),
            ("no dtype", int(DataType::DtInvalid, |p| p.uint64_val = vec![1])),
            ("another dtype", int(DataType::DtFloat, |p| p.uint64_val = vec![1])),
        ] {
            let answer = predict(&mut client, vec![data(1.0), id]).await;
            sum += 1.0;
            assert_eq!(said(&answer.unwrap()), (sum, 1), "{label}");
        }
        let step = ("sequence_step", proto(DataType::DtUint64, &[1], |p| p.uint64_val = vec![8]));
        for _ in 0..2 {
            let numbered = vec![data(1.0), id(1), step.clone(), control(2)];
            let answer = predict(&mut client, numbered).await.unwrap();
            assert_eq!(answer.outputs["sequence_step"].uint64_val, [8], "answered if it was sent");
            let sum = answer.outputs["y"].tensor_content[..].try_into().unwrap();
            assert_eq!(f32::from_le_bytes(sum), 8.0, "a repeated END has its answer");
        }
        let gone = predict(&mut client, vec![data(1.0), id(1)]).await.unwrap_err();
        assert_eq!(gone.code(), Code::NotFound);
    });
}

/// Names are those of OpenVINO Model Server's tests, where it has the case.
#[test]
fn tfs_grpc_errors() {
    let special = |name: &'static str, dims: &[i64], change: fn(&mut TensorProto)| {
        (name, proto(DataType::DtUint64, dims, change))
    };
    let (ids, controls) = ("sequence_id", "sequence_control_input");
    let one: fn(&mut TensorProto) = |p| (p.uint64_val, p.uint32_val) = (vec![1], vec![]);
    let bad_id = "Could not find sequence id in expected tensor proto field uint64_val";
    let bad_control =
        "Could not find sequence control input in expected tensor proto field uint32_val";
    let no_shape = "Special input proto does not contain tensor shape information";
    let id_rank = "Invalid number of shape dimensions - Required shape for sequence_id is: (1)";
    let id_shape = "Invalid input shape - Required shape for sequence_id is: (1)";
    let control_rank =
        "Invalid number of shape dimensions - Required shape for sequence_control_input is: (1)";
    let control_shape = "Invalid input shape - Required shape for sequence_control_input is: (1)";
    let no_id = "Sequence ID has not been provided in request inputs";
    let missing = "Sequence with provided ID does not exist";
    let bad = Code::InvalidArgument;
    let cases: Vec<(&str, Vec<(&str, TensorProto)>, Code, &str)> = vec![
        ("missingSeqId", vec![data(1.0)], bad, no_id),
        ("wrongSeqIdEnd", vec![data(1.0), id(0), control(2)], bad, no_id),
        ("wrongSeqIdNoControl", vec![data(1.0), id(0), control(0)], bad, no_id),
        ("wrongProtoKeywords", vec![data(1.0), ("sequenceid", id(3).1)], bad, no_id),
        (
            "badControlInput",
            vec![data(1.0), id(3), control(999)],
            bad,
            "Unexpected value of sequence control input",
        ),
        (
            "invalidProtoTypes",
            vec![data(1.0), special(ids, &[1], |p| p.float_val = vec![1.0])],
            bad,
            bad_id,
        ),
        ("SequenceMissing", vec![data(1.0), id(7)], Code::NotFound, missing),
        ("SequenceMissing at END", vec![data(1.0), id(7), control(2)], Code::NotFound, missing),
        (
            "IdAlreadyExists",
            vec![data(1.0), id(42), control(1)],
            Code::AlreadyExists,
            "Sequence with provided ID already exists",
        ),
        ("extractSequenceId_NoTensorShape", vec![data(1.0), special(ids, &[], one)], bad, no_shape),
        (
            "extractSequenceId_WrongTensorShapeDims",
            vec![data(1.0), special(ids, &[1, 1], one)],
            bad,
            id_rank,
        ),
        (
            "extractSequenceId_WrongTensorShape",
            vec![data(1.0), special(ids, &[3], one)],
            bad,
            id_shape,
        ),
        (
            "extractSequenceId_WrongValField",
            vec![data(1.0), special(ids, &[1], |p| p.uint64_val = vec![1, 2])],
            bad,
            bad_id,
        ),
        (
            "extractSequenceControlInput_NoTensorShape",
            vec![data(1.0), special(controls, &[], one)],
            bad,
            no_shape,
        ),
        (
            "extractSequenceControlInput_WrongTensorShapeDims",
            vec![data(1.0), special(controls, &[1, 1], one)],
            bad,
            control_rank,
        ),
        (
            "extractSequenceControlInput_WrongTensorShape",
            vec![data(1.0), special(controls, &[2], one)],
            bad,
            control_shape,
        ),
        (
            "extractSequenceControlInput_WrongValField",
            vec![data(1.0), special(controls, &[1], |p| p.uint32_val = vec![1, 2])],
            bad,
            bad_control,
        ),
        ("a hostile shape", vec![data(1.0), special(ids, &[1 << 62], one)], bad, id_shape),
        (
            "an invalid tensor never begins a sequence",
            vec![("b", proto(DataType::DtFloat, &[1, 1], |_| ())), id(9), control(1)],
            bad,
            "",
        ),
        ("... and it did not", vec![data(1.0), id(9)], Code::NotFound, missing),
    ];
    let fixture = Fixture::stateful(|_| {});
    fixture.runtime().block_on(async {
        let mut client = Client::connect(format!("http://{}", fixture.grpc)).await.unwrap();
        let begun = predict(&mut client, vec![data(1.0), id(42), control(1)]).await.unwrap();
        assert_eq!(said(&begun), (1.0, 42));
        for (label, inputs, code, text) in cases {
            let status = predict(&mut client, inputs).await.unwrap_err();
            assert_eq!(status.code(), code, "{label}: {status}");
            assert!(text.is_empty() || status.message() == text, "{label}: {status}");
        }
        let next = predict(&mut client, vec![data(1.0), id(42), control(2)]).await.unwrap();
        assert_eq!(said(&next), (2.0, 42), "no error moved it");
    });
}

#[test]
fn tfs_rest_in_both_formats() {
    let fixture = Fixture::stateful(|_| {});
    let column = |inputs: Value| ("sum", json!({"inputs": inputs}));
    let row = |instances: Value| ("sum", json!({"instances": instances}));
    let no_id = "Sequence ID has not been provided in request inputs";
    let missing = "Sequence with provided ID does not exist";
    let cases: Vec<((&str, Value), u16, Value)> = vec![
        (
            column(json!({"b": [[1]], "sequence_id": [10], "sequence_control_input": [1]})),
            200,
            json!({"outputs": {"y": [[1.0]], "sequence_id": [10]}}),
        ),
        (
            column(json!({"b": [[2]], "sequence_id": [10]})),
            200,
            json!({"outputs": {"y": [[3.0]], "sequence_id": [10]}}),
        ),
        (
            row(json!([{"b": [3], "sequence_id": 10}])),
            200,
            json!({"predictions": [{"y": [6.0], "sequence_id": 10}]}),
        ),
        (
            row(json!([{"b": [1], "sequence_id": 11, "sequence_control_input": 1},
                       {"b": [2], "sequence_control_input": 1, "sequence_id": 11}])),
            200,
            json!({"predictions": [{"y": [1.0], "sequence_id": 11},
                                   {"y": [2.0], "sequence_id": 11}]}),
        ),
        (
            row(json!([{"b": [1], "sequence_id": 11}, {"b": [2], "sequence_id": 12}])),
            400,
            json!("sequence_id is different in the rows"),
        ),
        (
            (
                "wide",
                json!({"instances": [{"b": [1], "sequence_id": 3, "sequence_control_input": 1}]}),
            ),
            200,
            json!({"outputs": {"y": [[1.0]], "yyy": [[1.0], [1.0], [1.0]], "sequence_id": [3]}}),
        ),
        (
            column(json!({"b": [[1]], "sequence_id": [10], "sequence_control_input": [1]})),
            409,
            json!("Sequence with provided ID already exists"),
        ),
        (column(json!({"b": [[1]], "sequence_id": [77]})), 404, json!(missing)),
        (column(json!({"b": [[1]], "sequence_id": [0]})), 400, json!(no_id)),
        (column(json!({"b": [[1]]})), 400, json!(no_id)),
        (
            column(json!({"b": [[1]], "sequence_id": 5})),
            400,
            json!("Special input proto does not contain tensor shape information"),
        ),
        (
            column(json!({"b": [[1]], "sequence_id": [[5]]})),
            400,
            json!("Invalid number of shape dimensions"),
        ),
        (column(json!({"b": [[1]], "sequence_id": []})), 400, json!("Invalid input shape")),
        (column(json!({"b": [[1]], "sequence_id": [-5]})), 400, json!("not valid ndarray")),
        (column(json!({"b": [[1]], "sequence_id": [5.5]})), 400, json!("not valid ndarray")),
        (column(json!({"b": [[1]], "sequence_id": ["5"]})), 400, json!("not valid ndarray")),
        (
            column(json!({"b": [[1]], "sequence_id": [10], "sequence_control_input": [3]})),
            400,
            json!("Unexpected value of sequence control input"),
        ),
        (
            column(json!({"b": [[1]], "sequence_id": [10], "sequence_step": [4],
                          "sequence_control_input": [2]})),
            200,
            json!({"outputs": {"y": [[7.0]], "sequence_id": [10], "sequence_step": [4]}}),
        ),
    ];
    for ((model, body), status, expected) in cases {
        let answer = fixture.post(&format!("/v1/models/{model}:predict"), body.to_string());
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        match expected.as_str() {
            None => assert_eq!(answer.json(), expected, "{body}"),
            Some(text) => {
                let error = answer.json()["error"].as_str().unwrap().to_lowercase();
                assert!(error.contains(&text.to_lowercase()), "{body}: {error}");
            }
        }
    }
}

#[test]
fn tables_have_limits_over_rest_too() {
    let fixture = Fixture::stateful(|_| {});
    let start = json!({"inputs": {"b": [[1]], "sequence_control_input": [1]}}).to_string();
    for id in 1..=500 {
        let answer = fixture.post("/v1/models/sum:predict", &start);
        assert_eq!(answer.json()["outputs"]["sequence_id"], json!([id]));
    }
    let answer = fixture.post("/v1/models/sum:predict", &start);
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.json()["error"],
        "Max sequence number has been reached. Could not create new sequence."
    );
}

#[test]
fn kserve_rest_in_both_forms() {
    let fixture = Fixture::stateful(|_| {});
    let ask = |parameters: Value, more: Vec<Value>| {
        let mut inputs =
            vec![json!({"name": "b", "shape": [1, 1], "datatype": "FP32", "data": [1]})];
        inputs.extend(more);
        let body = json!({"inputs": inputs, "parameters": parameters});
        fixture.post("/v2/models/sum/infer", body.to_string())
    };
    let tensor = |name: &str, datatype: &str, value: u64| json!({"name": name, "shape": [1], "datatype": datatype, "data": [value]});
    let answer = ask(json!({"sequence_id": "a", "sequence_start": true}), vec![]);
    assert_eq!(answer.json()["parameters"], json!({"sequence_id": "a", "sequence_step": 1}));
    assert_eq!(answer.json()["outputs"].as_array().unwrap().len(), 1);
    let answer = ask(json!({"sequence_id": "a", "sequence_end": true, "sequence_step": 2}), vec![]);
    assert_eq!(answer.json()["parameters"], json!({"sequence_id": "a", "sequence_step": 2}));
    let again = ask(json!({"sequence_id": "a", "sequence_end": true, "sequence_step": 2}), vec![]);
    assert_eq!(again.json(), answer.json(), "a repeated END has its answer");
    let answer = ask(
        json!({}),
        vec![tensor("sequence_id", "UINT64", 4), tensor("sequence_control_input", "INT32", 1)],
    );
    assert_eq!(answer.json()["parameters"], json!({"sequence_id": 4, "sequence_step": 1}));
    assert_eq!(
        answer.json()["outputs"][1],
        json!({"name": "sequence_id", "datatype": "UINT64", "shape": [1], "data": [4]})
    );
    for (parameters, status) in [
        (json!({"sequence_id": 99}), 404),
        (json!({"sequence_id": 4, "sequence_start": true}), 409),
        (json!({"sequence_id": 4, "sequence_step": 9}), 412),
        (json!({}), 400),
        (json!({"sequence_id": -4}), 400),
        (json!({"sequence_id": "x".repeat(200)}), 400),
    ] {
        let answer = ask(parameters.clone(), vec![]);
        assert_eq!(answer.status, status, "{parameters}: {}", answer.text());
    }
    let config = fixture.get("/v2/models/sum/config").json();
    assert_eq!(config["sequence_batching"]["oldest"]["max_candidate_sequences"], 500);
    let state = &config["sequence_batching"]["state"][0];
    assert_eq!((&state["input_name"], &state["output_name"]), (&json!("sum"), &json!("sum_out")));
    assert_eq!((&state["data_type"], &state["dims"]), (&json!("TYPE_FP32"), &json!([-1, 1])));
    let told = &config["parameters"]["stead.states"]["string_value"];
    let told: Value = serde_json::from_str(told.as_str().unwrap()).unwrap();
    let state = json!({"input": "sum", "output": "sum_out", "datatype": "FP32", "shape": [-1, 1],
                       "batch_axis": 0, "init": "zeros"});
    assert_eq!(told, json!({"states": [state], "windows": []}));
    assert_eq!(config["parameters"].as_object().unwrap().len(), 2, "and the text: {config}");
    let metadata = fixture.get("/v2/models/sum").json();
    assert_eq!(metadata["inputs"].as_array().unwrap().len(), 1, "special inputs are not listed");
}
