//! Pipelines of an OpenVINO Model Server configuration over all protocols: clients see models.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use std::path::Path;

use serde_json::{Value, json};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_server::proto::tensorflow::serving as pb;
use stead_server::proto::tensorflow::{
    DataType, TensorProto, TensorShapeProto, tensor_shape_proto,
};
use stead_tensor::{DType, Tensor};

use crate::common::Fixture;

fn f32s(dims: &[&str]) -> ValueType {
    ValueType::tensor(DType::F32, Some(dims_of(dims)))
}

/// The two models of OpenVINO Model Server's page about demultiplexing, made small: the first gives two values for
/// each of three branches, the second takes one of each.
fn model_a() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("input", DType::F32, &["n", "1", "2"])
        .init("k", Tensor::from_slice(&[10f32], &[1]).unwrap())
        .node("Add", &["input", "k"], &["output_A"])
        .node("Concat", &["input", "output_A"], &["output_B"])
        .attr("axis", 2)
        .output_of("output_A", f32s(&["n", "1", "2"]))
        .output_of("output_B", f32s(&["n", "1", "4"]))
        .bytes()
}

fn model_b() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("input_A", DType::F32, &["1", "2"])
        .input("input_B", DType::F32, &["1", "4"])
        .node("Concat", &["input_A", "input_B"], &["output"])
        .attr("axis", 1)
        .output_of("output", f32s(&["1", "6"]))
        .bytes()
}

fn summator() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "1"])
        .input("sum", DType::F32, &["batch", "1"])
        .node("Add", &["x", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["y"])
        .output_of("y", f32s(&["batch", "1"]))
        .output_of("sum_out", f32s(&["batch", "1"]))
        .bytes()
}

fn mapping(name: &str, node: &str, item: &str) -> Value {
    json!({name: {"node_name": node, "data_item": item}})
}

fn config(count: i64) -> Value {
    let sum = |name: &str, from: &str, item: &str| {
        json!({"name": name, "model_name": "sum", "type": "DL model", "inputs": [mapping("x", from, item)],
               "outputs": [{"data_item": "y", "alias": "y"}]})
    };
    json!({
        "model_config_list": [
            {"config": {"name": "Model_A", "base_path": "model_a"}},
            {"config": {"name": "Model_B", "base_path": "model_b"}},
            {"config": {"name": "sum", "base_path": "sum", "stateful": true,
                        "stead": {"sequence_ids": "counter"}}}
        ],
        "custom_node_library_config_list": [{"name": "ocr", "base_path": "/ovms/lib/libcustom_node_ocr.so"}],
        "pipeline_config_list": [
            {"name": "my_pipeline_with_demultiplexer", "inputs": ["pipeline_input_name"],
             "nodes": [
                {"name": "Model_A_node", "model_name": "Model_A", "type": "DL model",
                 "demultiply_count": count, "inputs": [mapping("input", "request", "pipeline_input_name")],
                 "outputs": [{"data_item": "output_A", "alias": "output_A"},
                             {"data_item": "output_B", "alias": "output_B"}]},
                {"name": "Model_B_node", "model_name": "Model_B", "type": "DL model",
                 "inputs": [mapping("input_A", "Model_A_node", "output_A"),
                            mapping("input_B", "Model_A_node", "output_B")],
                 "outputs": [{"data_item": "output", "alias": "output"}]}],
             "outputs": [mapping("pipeline_output_name", "Model_B_node", "output")]},
            {"name": "sums", "inputs": ["b"],
             "nodes": [sum("first", "request", "b"), sum("second", "first", "y")],
             "outputs": [mapping("once", "first", "y"), mapping("twice", "second", "y")]},
            {"name": "text", "inputs": ["image"],
             "nodes": [{"name": "ocr_node", "library_name": "ocr", "type": "custom",
                        "params": {"width": "1920"}, "inputs": [mapping("image", "request", "image")],
                        "outputs": [{"data_item": "texts", "alias": "texts"}]}],
             "outputs": [mapping("texts", "ocr_node", "texts")]}
        ]
    })
}

fn write(folder: &Path, count: i64) {
    for (name, bytes) in [("model_a", model_a()), ("model_b", model_b()), ("sum", summator())] {
        let version = folder.join(name).join("1");
        std::fs::create_dir_all(&version).unwrap();
        std::fs::write(version.join("model.onnx"), bytes).unwrap();
    }
    std::fs::write(folder.join("config.json"), config(count).to_string()).unwrap();
}

const NAME: &str = "my_pipeline_with_demultiplexer";

fn input() -> Value {
    json!([[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]])
}

/// `[x + 10, x, x + 10]` for each branch.
fn output() -> Value {
    let row = |a: f64, b: f64| json!([[a + 10.0, b + 10.0, a, b, a + 10.0, b + 10.0]]);
    json!([row(1.0, 2.0), row(3.0, 4.0), row(5.0, 6.0)])
}

#[test]
fn tensorflow_serving_rest() {
    let fixture = Fixture::of(|folder| write(folder, 3));
    let body = json!({"inputs": {"pipeline_input_name": input()}}).to_string();
    for version in ["", "/versions/1", "/versions/42"] {
        let answer = fixture.post(&format!("/v1/models/{NAME}{version}:predict"), &body);
        assert_eq!(answer.json(), json!({"outputs": output()}), "{version}");
    }
    let rows: Vec<Value> = input().as_array().unwrap().clone();
    let body = json!({"instances": rows}).to_string();
    let answer = fixture.post(&format!("/v1/models/{NAME}:predict"), &body);
    assert_eq!(answer.json(), json!({"predictions": output()}));
    let status = fixture.get(&format!("/v1/models/{NAME}")).json();
    assert_eq!(status["model_version_status"][0]["state"], "AVAILABLE");
    assert_eq!(status["model_version_status"][0]["version"], "1");
    let metadata = fixture.get(&format!("/v1/models/{NAME}/metadata")).json();
    let signature = &metadata["metadata"]["signature_def"]["signatureDef"]["serving_default"];
    let shape = |place: &str, name: &str| {
        let dims = &signature[place][name]["tensorShape"]["dim"];
        dims.as_array().unwrap().iter().map(|d| d["size"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(shape("inputs", "pipeline_input_name"), ["-1", "1", "2"]);
    assert_eq!(shape("outputs", "pipeline_output_name"), ["3", "1", "6"]);
    let wrong = json!({"inputs": {"pipeline_input_name": [[[1.0, 2.0]]]}}).to_string();
    let answer = fixture.post(&format!("/v1/models/{NAME}:predict"), wrong);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("Should match demultiply count"), "{}", answer.text());
    // The pipeline with a library is not served, and says why; the others are.
    let text = fixture.get("/v1/models/text").json();
    let status = &text["model_version_status"][0]["status"];
    assert!(status["error_message"].as_str().unwrap().contains("custom node library \"ocr\""));
    assert_eq!(fixture.post("/v1/models/text:predict", r#"{"inputs": [1]}"#).status, 404);
}

#[test]
fn kserve_rest() {
    let fixture = Fixture::of(|folder| write(folder, 3));
    let metadata = fixture.get(&format!("/v2/models/{NAME}")).json();
    assert_eq!(metadata["versions"], json!(["1"]));
    assert_eq!(metadata["platform"], "stead_pipeline");
    let tensor =
        |name: &str, shape: [i64; 3]| json!([{"name": name, "datatype": "FP32", "shape": shape}]);
    assert_eq!(metadata["inputs"], tensor("pipeline_input_name", [-1, 1, 2]));
    assert_eq!(metadata["outputs"], tensor("pipeline_output_name", [3, 1, 6]));
    assert_eq!(fixture.get(&format!("/v2/models/{NAME}/ready")).status, 200);
    assert_eq!(fixture.get("/v2/models/text/ready").status, 400);
    let config = fixture.get(&format!("/v2/models/{NAME}/config")).json();
    let node = &config["parameters"]["node.Model_B_node"]["string_value"];
    assert_eq!(node, "model Model_B, version 1", "{config}");
    let index = fixture.post("/v2/repository/index", "{}").json();
    let entry = |name: &str| index.as_array().unwrap().iter().find(|e| e["name"] == name).cloned();
    assert_eq!(entry(NAME).unwrap()["state"], "READY");
    assert_eq!(entry("text").unwrap()["state"], "UNAVAILABLE");
    let body = json!({"id": "7", "inputs": [{"name": "pipeline_input_name", "datatype": "FP32",
                      "shape": [3, 1, 2], "data": [1, 2, 3, 4, 5, 6]}]});
    let answer = fixture.post(&format!("/v2/models/{NAME}/infer"), body.to_string()).json();
    assert_eq!((&answer["id"], &answer["model_name"]), (&json!("7"), &json!(NAME)));
    assert_eq!(answer["outputs"][0]["shape"], json!([3, 1, 6]));
    assert_eq!(
        answer["outputs"][0]["data"].as_array().unwrap()[..6],
        [11.0, 12.0, 1.0, 2.0, 11.0, 12.0]
    );
    let metrics = fixture.get("/metrics").text();
    let line = metrics.lines().find(|l| {
        l.starts_with("ovms_requests_success{")
            && l.contains(NAME)
            && l.contains("ModelInfer")
            && l.contains("REST")
    });
    assert!(line.is_some_and(|l| l.ends_with(" 1")), "{line:?}");
}

#[test]
fn no_results_are_no_content() {
    let fixture = Fixture::of(|folder| write(folder, -1));
    let body = json!({"id": "7", "inputs": [{"name": "pipeline_input_name", "datatype": "FP32",
                      "shape": [0, 1, 2], "data": []}]});
    // One connection: nothing of the first answer may be left in it.
    let mut client = fixture.connect();
    for _ in 0..2 {
        let path = format!("/v2/models/{NAME}/infer");
        let answer = client.send("POST", &path, &[], body.to_string().as_bytes());
        assert_eq!((answer.status, &*answer.text()), (204, ""));
    }
}

#[test]
fn one_sequence_id_through_all_nodes() {
    let fixture = Fixture::of(|folder| write(folder, 3));
    let send = |id: u64, control: u32, value: f64| {
        let mut inputs = json!({"b": [[value]]});
        if id > 0 {
            inputs["sequence_id"] = json!([id]);
        }
        if control > 0 {
            inputs["sequence_control_input"] = json!([control]);
        }
        let body = json!({"inputs": inputs}).to_string();
        let answer = fixture.post("/v1/models/sums:predict", body);
        (answer.status, answer.json())
    };
    let said = |once: f64, twice: f64, id: u64| {
        (200, json!({"outputs": {"once": [[once]], "twice": [[twice]], "sequence_id": [id]}}))
    };
    assert_eq!(send(9, 1, 1.0), said(1.0, 1.0, 9));
    assert_eq!(send(0, 1, 5.0), said(5.0, 5.0, 1));
    assert_eq!(send(9, 0, 2.0), said(3.0, 4.0, 9));
    assert_eq!(send(9, 1, 2.0).0, 409);
    assert_eq!(send(9, 2, 0.0), said(3.0, 7.0, 9));
    assert_eq!(send(9, 0, 0.0).0, 404);
    assert_eq!(send(1, 2, 1.0), said(6.0, 11.0, 1));
}

#[test]
fn tensorflow_serving_grpc() {
    let fixture = Fixture::of(|folder| write(folder, 3));
    let dim = |size| tensor_shape_proto::Dim { size, name: String::new() };
    let shape = TensorShapeProto { dim: [3, 1, 2].map(dim).to_vec(), unknown_rank: false };
    let values: Vec<u8> = (1..=6).flat_map(|v| (v as f32).to_le_bytes()).collect();
    let input = TensorProto {
        dtype: DataType::DtFloat.into(),
        tensor_shape: Some(shape),
        tensor_content: values.into(),
        ..Default::default()
    };
    let spec = pb::ModelSpec { name: NAME.into(), ..Default::default() };
    let request = pb::PredictRequest {
        model_spec: Some(spec.clone()),
        inputs: [("pipeline_input_name".to_owned(), input)].into(),
        ..Default::default()
    };
    let address = format!("http://{}", fixture.grpc);
    fixture.runtime().block_on(async {
        let mut client =
            pb::prediction_service_client::PredictionServiceClient::connect(address.clone())
                .await
                .unwrap();
        let answer = client.predict(request).await.unwrap().into_inner();
        let bytes = &answer.outputs["pipeline_output_name"].tensor_content;
        let got: Vec<f32> =
            bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(got[..6], [11.0, 12.0, 1.0, 2.0, 11.0, 12.0]);
        assert_eq!(got.len(), 18);
        let mut client =
            pb::model_service_client::ModelServiceClient::connect(address).await.unwrap();
        let request = pb::GetModelStatusRequest { model_spec: Some(spec) };
        let status = client.get_model_status(request).await.unwrap().into_inner();
        assert_eq!(status.model_version_status[0].state, 30);
    });
}
