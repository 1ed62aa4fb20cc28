//! TensorFlow Serving's API with OpenVINO Model Server's codes, over REST and gRPC.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use pb::model_service_client::ModelServiceClient;
use pb::model_spec::VersionChoice;
use pb::prediction_service_client::PredictionServiceClient;
use prost::Message;
use serde_json::json;
use stead_server::proto::tensorflow::serving as pb;
use stead_server::proto::tensorflow::{
    DataType, TensorProto, TensorShapeProto, tensor_shape_proto,
};
use tonic::Code;

use crate::common::Fixture;

#[test]
fn rest_predicts_in_both_formats() {
    let fixture = Fixture::start();
    let cases = [
        ("acc:predict", json!({"instances": [[1], [2.5]]}), json!({"predictions": [[1.0], [2.5]]})),
        (
            "acc/versions/1:predict",
            json!({"signature_name": "x", "instances": [{"INPUT": [1]}]}),
            json!({"predictions": [[1.0]]}),
        ),
        ("acc/versions/0:predict", json!({"inputs": [[3]]}), json!({"outputs": [[3.0]]})),
        (
            "acc/labels/any:predict",
            json!({"inputs": {"INPUT": [[3]]}}),
            json!({"outputs": [[3.0]]}),
        ),
        (
            "two:predict",
            json!({"inputs": {"a": [[1, 2]], "b": [[3, 4]]}}),
            json!({"outputs": {"ab": [[1.0, 2.0, 3.0, 4.0]], "ba": [[3.0, 4.0, 1.0, 2.0]]}}),
        ),
        (
            "two:predict",
            json!({"instances": [{"a": [1, 2], "b": [3, 4]}, {"a": [5, 6], "b": [7, 8]}]}),
            json!({"predictions": [
                {"ab": [1.0, 2.0, 3.0, 4.0], "ba": [3.0, 4.0, 1.0, 2.0]},
                {"ab": [5.0, 6.0, 7.0, 8.0], "ba": [7.0, 8.0, 5.0, 6.0]}]}),
        ),
        ("id_u64:predict", json!({"inputs": [u64::MAX]}), json!({"outputs": [u64::MAX]})),
    ];
    for (path, body, expected) in cases {
        let answer = fixture.post(&format!("/v1/models/{path}"), body.to_string());
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.text());
        assert_eq!(answer.json(), expected, "{path} {body}");
    }
    let answer = fixture.post("/v1/models/id_f32:predict", r#"{"inputs":[NaN,-Infinity,1e-3]}"#);
    assert_eq!(answer.text(), r#"{"outputs":[NaN,-Infinity,0.001]}"#);
}

#[test]
fn rest_errors_have_the_codes_of_openvino_model_server() {
    let fixture = Fixture::start();
    let cases: [(&str, &str, &str, u16); 24] = [
        ("POST", "acc:predict", "{", 412),
        ("POST", "acc:predict", "", 412),
        ("POST", "acc:predict", "[]", 400),
        ("POST", "acc:predict", "{}", 400),
        ("POST", "acc:predict", r#"{"instances":[[1],[2,3]]}"#, 400),
        ("POST", "acc:predict", r#"{"instances":[["a"]]}"#, 400),
        ("POST", "acc:predict", r#"{"inputs":[1]}"#, 400),
        ("POST", "acc:predict", r#"{"inputs":[[1,2]]}"#, 400),
        ("POST", "acc:predict", r#"{"inputs":{"X":[[1]]}}"#, 400),
        ("POST", "two:predict", r#"{"inputs":{"a":[[1,2]]}}"#, 400),
        ("POST", "nope:predict", r#"{"inputs":[[1]]}"#, 404),
        ("POST", "acc/versions/9:predict", r#"{"inputs":[[1]]}"#, 404),
        ("POST", "acc/versions/x:predict", r#"{"inputs":[[1]]}"#, 400),
        ("POST", "acc:classify", "{}", 404),
        ("POST", "acc:regress", "{}", 404),
        ("GET", "acc:predict", "", 406),
        ("PUT", "acc", "", 406),
        ("GET", "nope", "", 404),
        ("GET", "acc/versions/7", "", 404),
        ("GET", "acc/versions/-1", "", 400),
        ("GET", "acc/versions/", "", 400),
        ("GET", "nope/metadata", "", 404),
        ("GET", "acc/what", "", 400),
        ("GET", "", "", 400),
    ];
    for (method, path, body, status) in cases {
        let answer = fixture.send(method, &format!("/v1/models/{path}"), &[], body.as_bytes());
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.text());
        assert!(answer.json()["error"].is_string(), "{method} {path}");
    }
    let deep = "[".repeat(100_000);
    let answer = fixture.post("/v1/models/acc:predict", format!("{{\"inputs\":{deep}"));
    assert_eq!(answer.status, 412);
    assert!(answer.text().contains("exceeds maximum nesting depth"));
}

#[test]
fn rest_metadata_status_and_configuration() {
    let fixture = Fixture::start();
    let metadata = fixture.get("/v1/models/acc/metadata");
    assert!(metadata.text().starts_with("{\n \"modelSpec\": {\n  \"name\": \"acc\",\n"));
    let signature =
        &metadata.json()["metadata"]["signature_def"]["signatureDef"]["serving_default"];
    assert_eq!(signature["inputs"]["INPUT"]["tensorShape"]["dim"][0]["size"], "-1");
    assert_eq!(signature["outputs"]["OUTPUT"]["dtype"], "DT_FLOAT");
    for path in ["/v1/models/acc", "/v1/models/acc/versions/1"] {
        let status = fixture.get(path).json();
        assert_eq!(status["model_version_status"][0]["state"], "AVAILABLE", "{path}");
    }
    let all = fixture.get("/v1/config").json();
    assert_eq!(all["two"]["model_version_status"][0]["version"], "1");
    let reload = fixture.post("/v1/config/reload", "");
    assert!(matches!(reload.status, 200 | 201), "{}", reload.text());
    assert!(reload.json()["acc"].is_object());
}

#[test]
fn a_reload_that_fails_for_one_model_is_an_error_and_the_others_go_on() {
    let fixture = Fixture::start();
    let version = fixture.folder.path().join("bad/1");
    std::fs::create_dir_all(&version).unwrap();
    std::fs::write(version.join("model.onnx"), b"not a model").unwrap();
    let reload = fixture.post("/v1/config/reload", "");
    assert_eq!(reload.status, 500, "{}", reload.text());
    let text = reload.json()["error"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Reloading models versions failed."), "{text}");
    assert!(text.contains("model: bad; version: 1;"), "{text}");
    assert_eq!(fixture.get("/v1/models/acc").status, 200);
    std::fs::remove_dir_all(version.parent().unwrap()).unwrap();
    let mended = fixture.post("/v1/config/reload", "");
    assert_eq!(mended.status, 201, "{}", mended.text());
}

fn float_tensor(values: &[f32], dims: &[i64]) -> TensorProto {
    let dim = |&size: &i64| tensor_shape_proto::Dim { size, ..Default::default() };
    TensorProto {
        dtype: DataType::DtFloat.into(),
        tensor_shape: Some(TensorShapeProto {
            dim: dims.iter().map(dim).collect(),
            unknown_rank: false,
        }),
        float_val: values.to_vec(),
        ..Default::default()
    }
}

fn spec(name: &str) -> Option<pb::ModelSpec> {
    Some(pb::ModelSpec { name: name.into(), ..Default::default() })
}

#[test]
fn grpc_calls() {
    let fixture = Fixture::start();
    let address = format!("http://{}", fixture.grpc);
    fixture.runtime().block_on(async {
        let mut predict = PredictionServiceClient::connect(address.clone()).await.unwrap();
        let mut models = ModelServiceClient::connect(address).await.unwrap();
        let mut content = float_tensor(&[], &[1, 2]);
        content.tensor_content = [1.0f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let request = pb::PredictRequest {
            model_spec: spec("two"),
            inputs: [
                ("a".to_owned(), content),
                // One value for two elements: filled up.
                ("b".to_owned(), float_tensor(&[10.0], &[1, 2])),
            ]
            .into(),
            output_filter: vec!["ab".into()],
        };
        let answer = predict.predict(request.clone()).await.unwrap().into_inner();
        let expected: Vec<u8> =
            [1.0f32, 2.0, 10.0, 10.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(answer.outputs.len(), 1);
        assert_eq!(answer.outputs["ab"].tensor_content, expected);
        let version = answer.model_spec.unwrap().version_choice;
        assert_eq!(version, Some(VersionChoice::Version(1)));

        let change = |f: fn(&mut pb::PredictRequest)| {
            let mut r = request.clone();
            f(&mut r);
            r
        };
        let wrong = [
            (change(|r| r.model_spec = None), Code::InvalidArgument),
            (change(|r| r.model_spec = spec("nope")), Code::NotFound),
            (
                change(|r| {
                    r.model_spec.as_mut().unwrap().version_choice = Some(VersionChoice::Version(5));
                }),
                Code::NotFound,
            ),
            (
                change(|r| {
                    r.model_spec.as_mut().unwrap().version_choice =
                        Some(VersionChoice::Version(-5));
                }),
                Code::InvalidArgument,
            ),
            (change(|r| drop(r.inputs.remove("a"))), Code::InvalidArgument),
            (
                change(|r| {
                    r.inputs.insert("c".into(), float_tensor(&[1.0], &[1]));
                }),
                Code::InvalidArgument,
            ),
            (change(|r| r.output_filter = vec!["none".into()]), Code::InvalidArgument),
            (
                change(|r| {
                    r.inputs.insert("a".into(), float_tensor(&[1.0], &[1 << 40]));
                }),
                Code::ResourceExhausted,
            ),
        ];
        for (i, (request, code)) in wrong.into_iter().enumerate() {
            let error = predict.predict(request).await.unwrap_err();
            assert_eq!(error.code(), code, "case {i}: {error:?}");
        }

        let request = pb::GetModelMetadataRequest {
            model_spec: spec("acc"),
            metadata_field: vec!["signature_def".into()],
        };
        let metadata = predict.get_model_metadata(request).await.unwrap().into_inner();
        let any = &metadata.metadata["signature_def"];
        let map = pb::SignatureDefMap::decode(&*any.value).unwrap();
        let signature = &map.signature_def["serving_default"];
        assert_eq!(signature.inputs["INPUT"].dtype(), DataType::DtFloat);
        let error = predict
            .get_model_metadata(pb::GetModelMetadataRequest {
                model_spec: spec("acc"),
                metadata_field: vec!["what".into()],
            })
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        let error = predict.classify(pb::ClassificationRequest::default()).await.unwrap_err();
        assert_eq!(error.code(), Code::Unimplemented);

        let status = models
            .get_model_status(pb::GetModelStatusRequest { model_spec: spec("acc") })
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            status.model_version_status[0].state(),
            pb::model_version_status::State::Available
        );
        let reload = models
            .handle_reload_config_request(pb::ReloadConfigRequest::default())
            .await
            .unwrap()
            .into_inner();
        assert_eq!(reload.status.unwrap().error_code, 0);
    });
}
