//! Requests that cannot be answered in time are refused over HTTP and gRPC when they come.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use pb::grpc_inference_service_client::GrpcInferenceServiceClient;
use stead_onnx::ModelBuilder;
use stead_server::proto::kserve as pb;
use stead_tensor::{DType, Tensor};

use crate::common;
use crate::common::{Client, Fixture, zip};

/// A number, after some ten milliseconds of multiplications that leave it what it was.
fn slow() -> Vec<u8> {
    const SIZE: usize = 384;
    let mut unit = vec![0.0_f32; SIZE * SIZE];
    (0..SIZE).for_each(|i| unit[i * SIZE + i] = 1.0);
    let ones = || Tensor::from_slice(&[1.0_f32; SIZE], &[SIZE, 1]).unwrap();
    let row = Tensor::from_slice(&[1.0_f32; SIZE], &[1, SIZE]).unwrap();
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["1", "1"])
        .init("column", ones())
        .init("row", row)
        .init("unit", Tensor::from_slice(&unit, &[SIZE, SIZE]).unwrap())
        .node("MatMul", &["column", "x"], &["long"])
        .node("MatMul", &["long", "row"], &["v0"]);
    for step in 0..40 {
        let (from, to) = (format!("v{step}"), format!("v{}", step + 1));
        // What is negated twice in between cannot be left out.
        model = model.node("MatMul", &[&from, "unit"], &[&format!("m{step}")]).node(
            "Neg",
            &[&format!("m{step}")],
            &[&to],
        );
    }
    model.node("ReduceMax", &["v40"], &["y"]).attr("keepdims", 0i64).output("y", DType::F32).bytes()
}

fn body(timeout_us: Option<u64>, value: usize) -> String {
    let timeout = timeout_us.map_or(String::new(), |us| format!(r#""timeout": {us}"#));
    format!(
        r#"{{"parameters": {{{timeout}}}, "inputs": [{{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [{value}]}}]}}"#
    )
}

const HOUR: u64 = 3_600_000_000;

#[test]
fn late_requests_are_told_at_once_when_to_come_again() {
    let fixture = Fixture::of(|folder| {
        std::fs::create_dir_all(folder.join("slow/1")).unwrap();
        std::fs::write(folder.join("slow/1/model.onnx"), slow()).unwrap();
        let config = r#"{"model_config_list": [{"config": {"name": "slow", "base_path": "slow", "nireq": 1}}]}"#;
        std::fs::write(folder.join("config.json"), config).unwrap();
    });
    let path = "/v2/models/slow/infer";
    let check = |answer: &common::Answer, value: usize| {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["outputs"][0]["data"][0].as_f64(), Some(value as f64));
    };
    check(&fixture.post(path, body(None, 7)), 7);
    let enough = AtomicBool::new(false);
    let stop = Stop(&enough);
    std::thread::scope(|scope| {
        // These keep the queue from getting empty, and all have their answers.
        for client in 0..5 {
            let (enough, fixture, check) = (&enough, &fixture, &check);
            scope.spawn(move || {
                let mut connection = fixture.connect();
                let mut value = client;
                while !enough.load(Ordering::SeqCst) {
                    value += 5;
                    let time = if client % 2 == 0 { None } else { Some(HOUR) };
                    let answer = connection.send("POST", path, &[], body(time, value).as_bytes());
                    check(&answer, value);
                }
            });
        }
        let stop = stop;
        let tries = (0..10_000).map(|_| fixture.post(path, body(Some(3000), 1)));
        let refused = tries.into_iter().find(|answer| answer.status == 503).unwrap();
        let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(after >= 1, "{after}");
        let text =
            format!("model slow cannot be answered before the deadline; try again in {after} s");
        assert_eq!(refused.json()["error"], text);
        let refused = refused_over_grpc(&fixture);
        assert_eq!(refused.code(), tonic::Code::Unavailable, "{refused}");
        let told = "model slow cannot be answered before the deadline; try again in ";
        assert!(refused.message().starts_with(told), "{refused}");
        // Who has time is answered meanwhile.
        check(&fixture.post(path, body(Some(HOUR), 3)), 3);
        drop(stop);
    });
    let page = fixture.get("/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix("stead_requests_refused ")).unwrap();
    assert!(line.parse::<u64>().unwrap() >= 1, "{line}");
    check(&fixture.post(path, body(Some(HOUR), 4)), 4);
}

/// Asks over gRPC until a request is refused.
fn refused_over_grpc(fixture: &Fixture) -> tonic::Status {
    let request = || {
        let limit = pb::infer_parameter::ParameterChoice::Int64Param(3000);
        let limit = pb::InferParameter { parameter_choice: Some(limit) };
        let x = pb::model_infer_request::InferInputTensor {
            name: "x".into(),
            datatype: "FP32".into(),
            shape: vec![1, 1],
            ..Default::default()
        };
        pb::ModelInferRequest {
            model_name: "slow".into(),
            inputs: vec![x],
            raw_input_contents: vec![Bytes::copy_from_slice(&1.0_f32.to_le_bytes())],
            parameters: [("timeout".to_owned(), limit)].into(),
            ..Default::default()
        }
    };
    fixture.runtime().block_on(async {
        let address = format!("http://{}", fixture.grpc);
        let mut client = GrpcInferenceServiceClient::connect(address).await.unwrap();
        for _ in 0..10_000 {
            match client.model_infer(request()).await {
                Err(status) if status.code() == tonic::Code::Unavailable => return status,
                // It was answered, or began and was late.
                _ => {}
            }
        }
        panic!("no request was refused")
    })
}

#[test]
fn late_searches_are_told_in_a_result() {
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    let services = r#"<services version="1.0"><container id="front" version="1.0"><search/><document-api/></container>
        <content id="c" version="1.0"><documents><document type="page" mode="index"/></documents></content></services>"#;
    let schema = "schema page {
      document page { field n type double { indexing: attribute } }
      rank-profile slow {
        first-phase { expression: reduce(tensor(i[400],j[400])(sin(i * attribute(n) + j)), max) }
      }
    }";
    let package = zip(&[("services.xml", services), ("schemas/page.sd", schema)]);
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, &package);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = fixture.post("/document/v1/ns/page/docid/1", r#"{"fields": {"n": 2}}"#);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let path = |timeout: &str| {
        format!(
            "/search/?yql=select%20*%20from%20page%20where%20true&ranking=slow&timeout={timeout}"
        )
    };
    let check = |answer: &common::Answer| {
        assert_eq!(answer.json()["root"]["fields"]["totalCount"], 1, "{}", answer.text());
    };
    check(&fixture.get(&path("3600s")));
    let enough = AtomicBool::new(false);
    let stop = Stop(&enough);
    std::thread::scope(|scope| {
        // More than can run at a time on any machine of the tests: some wait.
        for _ in 0..2 * std::thread::available_parallelism().unwrap().get() + 2 {
            scope.spawn(|| {
                let mut connection = fixture.connect();
                while !enough.load(Ordering::SeqCst) {
                    check(&connection.send("GET", &path("3600s"), &[], b""));
                }
            });
        }
        let stop = stop;
        let tries = (0..10_000).map(|_| fixture.get(&path("1ms")));
        let refused = tries.into_iter().find(|answer| answer.status == 503).unwrap();
        let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        let error = &refused.json()["root"]["errors"][0];
        assert_eq!(error["code"], 0, "{error}");
        let told = format!(
            "rank profile slow cannot be answered before the deadline; try again in {after} s"
        );
        assert_eq!(error["message"], told);
        // Who has time is answered meanwhile.
        check(&fixture.get(&path("3600s")));
        drop(stop);
    });
}

/// Ends the clients, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
