//! Asks again what Triton was asked over gRPC and compares the codes and the tensors.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report
#![allow(clippy::print_stdout)] // the counts are reported

use bytes::Bytes;
use pb::grpc_inference_service_client::GrpcInferenceServiceClient;
use pb::infer_parameter::ParameterChoice;
use pb::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use serde_json::Value;
use std::collections::BTreeMap;
use stead_server::proto::kserve as pb;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::common::Fixture;

type Client = GrpcInferenceServiceClient<Channel>;

/// What an answer says, as far as it is compared.
#[derive(Debug, Default, PartialEq)]
struct Said {
    /// Fields that are set, by their names in the text format.
    fields: Vec<String>,
    /// Datatype, shape and raw contents of outputs.
    outputs: Vec<(String, Vec<i64>, Vec<u8>)>,
}

fn parameter(choice: ParameterChoice) -> pb::InferParameter {
    pb::InferParameter { parameter_choice: Some(choice) }
}

fn input(datatype: &str, shape: &[i64]) -> InferInputTensor {
    InferInputTensor {
        name: "INPUT".into(),
        datatype: datatype.into(),
        shape: shape.to_vec(),
        ..Default::default()
    }
}

fn request(value: f32) -> pb::ModelInferRequest {
    pb::ModelInferRequest {
        model_name: "acc".into(),
        inputs: vec![input("FP32", &[1, 1])],
        raw_input_contents: vec![Bytes::copy_from_slice(&value.to_le_bytes())],
        parameters: [
            ("sequence_id".to_owned(), parameter(ParameterChoice::Int64Param(100))),
            ("sequence_start".to_owned(), parameter(ParameterChoice::BoolParam(true))),
            ("sequence_end".to_owned(), parameter(ParameterChoice::BoolParam(true))),
        ]
        .into(),
        ..Default::default()
    }
}

fn with_sequence_id(choice: ParameterChoice) -> pb::ModelInferRequest {
    let mut r = request(3.0);
    r.parameters.insert("sequence_id".into(), parameter(choice));
    r
}

/// A step of a sequence that neither begins nor ends with it unless `start` or `end` is set.
fn step(id: i64, start: bool, end: bool, value: f32) -> pb::ModelInferRequest {
    let mut r = request(value);
    r.parameters.insert("sequence_id".into(), parameter(ParameterChoice::Int64Param(id)));
    for (name, on) in [("sequence_start", start), ("sequence_end", end)] {
        r.parameters.insert(name.into(), parameter(ParameterChoice::BoolParam(on)));
    }
    r
}

/// The request of a recorded inference, by its tag.
fn infer_request(tag: &str) -> Option<pb::ModelInferRequest> {
    let mut r = request(1.0);
    match tag {
        "infer no seq" => r.parameters.clear(),
        "infer seq 0" => return Some(step(0, true, false, 1.0)),
        "infer unknown seq" => return Some(step(901, false, false, 1.0)),
        "infer end unknown" => return Some(step(901, false, true, 1.0)),
        "start 100" => return Some(step(100, true, false, 1.0)),
        "cont 100 contents" => {
            r = step(100, false, false, 0.0);
            r.raw_input_contents.clear();
            r.inputs[0].contents =
                Some(pb::InferTensorContents { fp32_contents: vec![2.0], ..Default::default() });
        }
        "end 100" => return Some(step(100, false, true, 3.0)),
        // The record has no inputs here; these give its outputs.
        "cont 300 after stream cancel" => return Some(step(300, false, false, 0.0)),
        "end 300" => return Some(step(300, false, true, 2.0)),
        "seq str" => return Some(with_sequence_id(ParameterChoice::StringParam("x".into()))),
        "seq uint64_param" => return Some(with_sequence_id(ParameterChoice::Uint64Param(5))),
        "seq bool_param" => return Some(with_sequence_id(ParameterChoice::BoolParam(true))),
        "seq negative" => return Some(with_sequence_id(ParameterChoice::Int64Param(-5))),
        "start int64" => {
            r.parameters.insert("sequence_start".into(), parameter(ParameterChoice::Int64Param(1)));
        }
        "raw and contents" => {
            r.inputs[0].contents =
                Some(pb::InferTensorContents { fp32_contents: vec![1.0], ..Default::default() });
        }
        "raw too short" => r.raw_input_contents = vec![Bytes::from_static(&[0, 0])],
        "raw too long" => r.raw_input_contents = vec![Bytes::from_static(&[0; 8])],
        "raw count mismatch" => r.raw_input_contents.push(Bytes::from_static(&[0; 4])),
        "wrong dtype" => r.inputs[0].datatype = "INT32".into(),
        "bogus dtype" => r.inputs[0].datatype = "FOO".into(),
        "wrong rank" => r.inputs[0].shape = vec![1],
        "neg dim" => r.inputs[0].shape = vec![-1, 1],
        "unknown input" => r.inputs[0].name = "X".into(),
        "no inputs" => {
            r.inputs.clear();
            r.raw_input_contents.clear();
        }
        "unknown model" => r.model_name = "nope".into(),
        "version 9" => r.model_version = "9".into(),
        "version x" => r.model_version = "x".into(),
        "unknown output" => {
            r.outputs = vec![InferRequestedOutputTensor { name: "Y".into(), ..Default::default() }];
        }
        "classification" => {
            r.outputs = vec![InferRequestedOutputTensor {
                name: "OUTPUT".into(),
                parameters: [(
                    "classification".to_owned(),
                    parameter(ParameterChoice::Int64Param(1)),
                )]
                .into(),
            }];
        }
        _ => return None,
    }
    Some(r)
}

fn said(response: pb::ModelInferResponse) -> Said {
    let outputs = response
        .outputs
        .into_iter()
        .zip(response.raw_output_contents)
        .map(|(o, raw)| (o.datatype, o.shape, raw.to_vec()))
        .collect();
    Said { fields: vec![], outputs }
}

/// Names of the fields that are set anywhere in a text-format message, repetition left out.
fn recorded(text: &str) -> Said {
    let mut said = Said::default();
    let mut outputs: Vec<(String, Vec<i64>, Vec<u8>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((name, value)) = line.split_once(": ") else { continue };
        match name {
            "datatype" => outputs.push((value.trim_matches('"').into(), vec![], vec![])),
            "shape" => outputs.last_mut().unwrap().1.push(value.parse().unwrap()),
            "raw_output_contents" => {
                let at = outputs.iter().position(|o| o.2.is_empty()).unwrap();
                outputs[at].2 = unescape(value.trim_matches('"'));
            }
            _ => {}
        }
    }
    said.outputs = outputs;
    said
}

/// Undoes the escapes of protobuf's text format.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match bytes.next().unwrap() {
            b'n' => out.push(b'\n'),
            d @ b'0'..=b'7' => {
                let mut code = u32::from(d - b'0');
                for _ in 0..2 {
                    if let Some(d @ b'0'..=b'7') = bytes.peek().copied() {
                        code = code * 8 + u32::from(d - b'0');
                        bytes.next();
                    }
                }
                out.push(code as u8);
            }
            other => out.push(other),
        }
    }
    out
}

async fn ask(client: &mut Client, tag: &str) -> Result<Said, Status> {
    let (name, version) = match tag.rsplit_once(' ') {
        Some((_, "none")) => ("nope", ""),
        Some((_, "v9")) => ("acc", "9"),
        Some((_, "vX")) => ("acc", "x"),
        _ => ("acc", ""),
    };
    let (name, version) = (name.to_owned(), version.to_owned());
    let none = Said::default();
    Ok(match tag.split(' ').next().unwrap() {
        "ServerLive" => {
            assert!(client.server_live(pb::ServerLiveRequest {}).await?.into_inner().live);
            none
        }
        "ServerReady" => {
            assert!(client.server_ready(pb::ServerReadyRequest {}).await?.into_inner().ready);
            none
        }
        "ServerMetadata" => {
            let m = client.server_metadata(pb::ServerMetadataRequest {}).await?.into_inner();
            assert!(!m.name.is_empty() && !m.version.is_empty() && !m.extensions.is_empty());
            none
        }
        "ModelReady" => {
            let ready = client.model_ready(pb::ModelReadyRequest { name, version }).await?;
            assert_eq!(ready.into_inner().ready, tag == "ModelReady", "{tag}");
            none
        }
        "ModelMetadata" => {
            let request = pb::ModelMetadataRequest { name, version };
            let m = client.model_metadata(request).await?.into_inner();
            assert_eq!((m.versions[0].as_str(), m.platform.is_empty()), ("1", false));
            let tensor = |t: &pb::model_metadata_response::TensorMetadata| {
                (t.datatype.clone(), t.shape.clone(), vec![])
            };
            Said { outputs: m.inputs.iter().chain(&m.outputs).map(tensor).collect(), ..none }
        }
        "ModelConfig" => {
            let request = pb::ModelConfigRequest { name, version };
            let c = client.model_config(request).await?.into_inner().config.unwrap();
            assert_eq!((c.name.as_str(), c.max_batch_size), ("acc", 4));
            assert_eq!(
                (c.input[0].dims.as_slice(), c.output[0].dims.as_slice()),
                (&[1i64][..], &[1i64][..])
            );
            assert_eq!(c.input[0].data_type(), pb::DataType::TypeFp32);
            assert!(c.version_policy.is_some() && c.optimization.is_some());
            assert_eq!((c.instance_group.len(), c.backend.is_empty()), (1, false));
            none
        }
        "ModelStatistics" => {
            let request = pb::ModelStatisticsRequest { name, version };
            let s = client.model_statistics(request).await?.into_inner();
            let stats = s.model_stats[0].inference_stats.as_ref().unwrap();
            assert!(stats.success.is_some() && stats.fail.is_some() && stats.cache_hit.is_some());
            none
        }
        "RepositoryIndex" => {
            let i = client.repository_index(pb::RepositoryIndexRequest::default()).await?;
            let acc = i.into_inner().models.into_iter().find(|m| m.name == "acc").unwrap();
            assert_eq!((acc.version.as_str(), acc.state.as_str()), ("1", "READY"));
            none
        }
        "Load" => {
            let model_name = if tag == "Load none" { "nope" } else { "acc" }.to_owned();
            let request = pb::RepositoryModelLoadRequest { model_name, ..Default::default() };
            client.repository_model_load(request).await?;
            none
        }
        "TraceSetting" => {
            client.trace_setting(pb::TraceSettingRequest::default()).await.map(|_| none)?
        }
        "LogSettings" => {
            client.log_settings(pb::LogSettingsRequest::default()).await.map(|_| none)?
        }
        "SysShmStatus" => client
            .system_shared_memory_status(pb::SystemSharedMemoryStatusRequest::default())
            .await
            .map(|_| none)?,
        "SysShmRegister" => client
            .system_shared_memory_register(pb::SystemSharedMemoryRegisterRequest::default())
            .await
            .map(|_| none)?,
        _ => {
            let request = infer_request(tag).unwrap_or_else(|| panic!("no request for {tag}"));
            said(client.model_infer(request).await?.into_inner())
        }
    })
}

/// The recorded stream: steps of sequence 300, and requests that are wrong among them.
async fn stream_mixed(client: &mut Client, case: &Value) {
    let with = |id: &str, mut r: pb::ModelInferRequest| {
        r.id = id.into();
        r
    };
    let mut bad = step(300, false, false, 1.0);
    bad.inputs[0].datatype = "INT32".into();
    let mut unknown = step(300, false, false, 1.0);
    unknown.model_name = "nope".into();
    let requests = vec![
        with("a", step(300, true, false, 1.0)),
        with("b", step(300, false, false, 2.0)),
        with("bad-unknown-seq", step(999, false, false, 1.0)),
        with("bad-dtype", bad),
        with("c", step(300, false, false, 4.0)),
        with("nomodel", unknown),
    ];
    let mut want = BTreeMap::new();
    for text in case["msgs"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()) {
        let id = text.split("id: \"").nth(1).unwrap().split('"').next().unwrap();
        want.insert(id.to_owned(), (text.starts_with("error_message"), recorded(text)));
    }
    let stream = client.model_stream_infer(tokio_stream::iter(requests)).await.unwrap();
    let (mut stream, mut got, mut order) = (stream.into_inner(), BTreeMap::new(), Vec::new());
    while let Some(answer) = stream.message().await.unwrap() {
        let response = answer.infer_response.unwrap();
        order.push(response.id.clone());
        got.insert(response.id.clone(), (!answer.error_message.is_empty(), said(response)));
    }
    assert_eq!(got, want);
    order.retain(|id| id != "bad-unknown-seq" && id != "nomodel");
    assert_eq!(order, ["a", "b", "bad-dtype", "c"], "the order of the sequence");
}

fn code_of(name: &str) -> Code {
    let table = BTreeMap::from([
        ("OK", Code::Ok),
        ("INVALID_ARGUMENT", Code::InvalidArgument),
        ("NOT_FOUND", Code::NotFound),
        ("INTERNAL", Code::Internal),
        ("UNIMPLEMENTED", Code::Unimplemented),
    ]);
    table[name]
}

/// Runs the recorded cases in their order, against a model that adds up its inputs as the recorded one does.
#[test]
fn answers_agree_with_triton() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("data/triton/grpc_2.51.0.json")).unwrap();
    let allowed: Value = serde_json::from_str(include_str!("data/triton/allowed.json")).unwrap();
    let fixture = Fixture::stateful(|_| {});
    let address = format!("http://{}", fixture.grpc);
    let (mut agree, mut deviate, mut failures) = (0, 0, Vec::new());
    fixture.runtime().block_on(async {
        let mut client = Client::connect(address).await.unwrap();
        // The record has statistics of a model that was used.
        client.model_infer(request(1.0)).await.ok();
        for case in &cases {
            let tag = case["tag"].as_str().unwrap();
            if tag == "stream mixed" {
                stream_mixed(&mut client, case).await;
                agree += 1;
                continue;
            }
            let exception = &allowed["grpc"][tag]["code"];
            let want = code_of(exception.as_str().or(case["code"].as_str()).unwrap());
            let got = ask(&mut client, tag).await;
            let code = got.as_ref().err().map_or(Code::Ok, Status::code);
            if code != want {
                failures.push(format!("{tag}: {want:?}, got {got:?}"));
                continue;
            }
            // Texts about sequences are what clients of Triton know.
            let text = case["details"]
                .as_str()
                .filter(|t| t.contains("correlation ID") || t.contains("START flag"));
            if let (Some(text), Err(status)) = (text, &got)
                && status.message() != text
            {
                failures.push(format!("{tag}: {text}, got {}", status.message()));
                continue;
            }
            if let (Ok(said), true) = (&got, exception.is_null()) {
                let recorded = recorded(case["resp"].as_str().unwrap());
                if !recorded.outputs.is_empty() && recorded != *said {
                    failures.push(format!("{tag}: {recorded:?}, got {said:?}"));
                    continue;
                }
            }
            if exception.is_null() { agree += 1 } else { deviate += 1 }
        }
    });
    println!("{agree} agree, {deviate} deviate as allowed");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The recorded stream, with those of its messages whose answer does not depend on a sequence.
#[test]
fn a_stream_goes_on_after_errors() {
    let fixture = Fixture::start();
    let address = format!("http://{}", fixture.grpc);
    let with = |id: &str, change: fn(&mut pb::ModelInferRequest)| {
        let mut r = request(1.0);
        r.id = id.into();
        change(&mut r);
        r
    };
    let requests = vec![
        with("a", |_| {}),
        with("bad-dtype", |r| r.inputs[0].datatype = "INT32".into()),
        with("c", |_| {}),
        with("nomodel", |r| r.model_name = "nope".into()),
        with("e", |_| {}),
    ];
    let answers = fixture.runtime().block_on(async {
        let mut client = Client::connect(address).await.unwrap();
        let stream = client.model_stream_infer(tokio_stream::iter(requests)).await.unwrap();
        let mut stream = stream.into_inner();
        let mut answers = Vec::new();
        while let Some(answer) = stream.message().await.unwrap() {
            answers.push(answer);
        }
        answers
    });
    let ids = ["a", "bad-dtype", "c", "nomodel", "e"];
    assert_eq!(answers.len(), ids.len());
    for (answer, id) in answers.into_iter().zip(ids) {
        let response = answer.infer_response.unwrap();
        assert_eq!(response.id, id);
        assert_eq!(
            answer.error_message.is_empty(),
            id.len() == 1,
            "{id}: {}",
            answer.error_message
        );
        if id.len() == 1 {
            assert_eq!(response.raw_output_contents[0], &1.0f32.to_le_bytes()[..]);
            assert!(response.parameters.contains_key("triton_final_response"));
        }
    }
}

/// L0_sequence_stress over one stream: many sequences, mixed, and requests that are wrong among them. Each answer is
/// checked, and comes in the order of its sequence.
#[test]
fn many_sequences_on_one_stream() {
    const SEQUENCES: u64 = 50;
    const STEPS: u64 = 20;
    let fixture = Fixture::stateful(|_| {});
    let address = format!("http://{}", fixture.grpc);
    let mut requests = Vec::new();
    for step in 0..STEPS {
        for sequence in 1..=SEQUENCES {
            let mut r = request((sequence * 100 + step) as f32);
            r.model_name = "sum".into();
            r.inputs[0].name = "b".into();
            r.id = format!("{sequence} {step}");
            let flag = |on| parameter(ParameterChoice::BoolParam(on));
            let id = parameter(ParameterChoice::Int64Param(sequence as i64));
            r.parameters.insert("sequence_id".into(), id);
            r.parameters.insert("sequence_start".into(), flag(step == 0));
            r.parameters.insert("sequence_end".into(), flag(step == STEPS - 1));
            if (sequence + step) % 17 == 0 && step > 0 && step < STEPS - 1 {
                r.raw_input_contents = vec![Bytes::from_static(&[0, 0])];
            }
            requests.push(r);
        }
    }
    fixture.runtime().block_on(async {
        let mut client = Client::connect(address).await.unwrap();
        let stream = client.model_stream_infer(tokio_stream::iter(requests)).await.unwrap();
        let mut stream = stream.into_inner();
        let mut sums = vec![(0, 0.0); SEQUENCES as usize + 1];
        for _ in 0..SEQUENCES * STEPS {
            let answer = stream.message().await.unwrap().unwrap();
            let response = answer.infer_response.unwrap();
            let (sequence, step) = response.id.split_once(' ').unwrap();
            let (sequence, step): (u64, u64) = (sequence.parse().unwrap(), step.parse().unwrap());
            let (next, sum) = &mut sums[sequence as usize];
            assert_eq!(step, *next, "sequence {sequence}");
            *next += 1;
            if (sequence + step) % 17 == 0 && step > 0 && step < STEPS - 1 {
                assert!(!answer.error_message.is_empty());
                continue;
            }
            assert_eq!(answer.error_message, "");
            *sum += (sequence * 100 + step) as f32;
            assert_eq!(
                response.raw_output_contents[0],
                &sum.to_le_bytes()[..],
                "{sequence} {step}"
            );
        }
        assert!(stream.message().await.unwrap().is_none());
    });
}
