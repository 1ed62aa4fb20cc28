//! KServe V2 as clients use it, over HTTP and gRPC.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use std::io::{Read, Write};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use pb::grpc_inference_service_client::GrpcInferenceServiceClient;
use pb::infer_parameter::ParameterChoice;
use pb::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use serde_json::json;
use stead_server::CorsOptions;
use stead_server::proto::kserve as pb;
use stead_tensor::DType;
use tonic::Code;
use tonic::codec::CompressionEncoding;

use crate::common::{Fixture, TYPES};

/// The protocol's name of a type and three elements of it as raw bytes and as JSON.
fn sample(dtype: DType) -> (&'static str, Vec<u8>, serde_json::Value) {
    fn raw<T: bytemuck::NoUninit>(v: [T; 3]) -> Vec<u8> {
        bytemuck::cast_slice(&v).to_vec()
    }
    match dtype {
        DType::F32 => ("FP32", raw([1.5f32, -0.1, 3e38]), json!([1.5, -0.1, 3e38])),
        DType::F64 => ("FP64", raw([1.5f64, 0.1, 1e300]), json!([1.5, 0.1, 1e300])),
        DType::F16 => ("FP16", raw([0x3c00u16, 0xc000, 0]), json!([1.0, -2.0, 0.0])),
        DType::BF16 => ("BF16", raw([0x3f80u16, 0xc000, 0]), json!([1.0, -2.0, 0.0])),
        DType::I8 => ("INT8", raw([1i8, -128, 127]), json!([1, -128, 127])),
        DType::I16 => ("INT16", raw([1i16, -2, i16::MAX]), json!([1, -2, 32767])),
        DType::I32 => ("INT32", raw([1i32, -2, i32::MIN]), json!([1, -2, i32::MIN])),
        DType::I64 => ("INT64", raw([1i64, -2, i64::MAX]), json!([1, -2, i64::MAX])),
        DType::U8 => ("UINT8", vec![1, 2, 255], json!([1, 2, 255])),
        DType::U16 => ("UINT16", raw([1u16, 2, 65535]), json!([1, 2, 65535])),
        DType::U32 => ("UINT32", raw([1u32, 2, u32::MAX]), json!([1, 2, u32::MAX])),
        DType::U64 => ("UINT64", raw([1u64, 2, u64::MAX]), json!([1, 2, u64::MAX])),
        DType::Bool => ("BOOL", vec![1, 0, 1], json!([true, false, true])),
        _ => {
            ("BYTES", b"\x01\0\0\0a\0\0\0\0\x02\0\0\0\xc3\xa9".to_vec(), json!(["a", "", "\u{e9}"]))
        }
    }
}

#[test]
fn every_type_passes_through_as_json_as_binary_and_over_grpc() {
    let fixture = Fixture::start();
    let address = format!("http://{}", fixture.grpc);
    let mut grpc =
        fixture.runtime().block_on(GrpcInferenceServiceClient::connect(address)).unwrap();
    for &dtype in TYPES {
        let (datatype, raw, values) = sample(dtype);
        let path = format!("/v2/models/id_{dtype}/infer");
        let input = json!({"name": "INPUT", "shape": [3], "datatype": datatype, "data": values});
        let answer = fixture.post(&path, json!({"inputs": [input]}).to_string());
        assert_eq!(answer.status, 200, "{dtype}: {}", answer.text());
        let output = &answer.json()["outputs"][0];
        assert_eq!(output["data"], values, "{dtype}");
        assert_eq!(output["datatype"], datatype);

        let head = json!({
            "parameters": {"binary_data_output": true},
            "inputs": [{"name": "INPUT", "shape": [3], "datatype": datatype,
                "parameters": {"binary_data_size": raw.len()}}]
        })
        .to_string();
        let length = head.len().to_string();
        let headers = [("Inference-Header-Content-Length", length.as_str())];
        let answer = fixture.send("POST", &path, &headers, &[head.as_bytes(), &raw].concat());
        assert_eq!(answer.status, 200, "{dtype}: {}", answer.text());
        let at: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
        assert_eq!(&answer.body[at..], &raw[..], "{dtype}");

        let request = pb::ModelInferRequest {
            model_name: format!("id_{dtype}"),
            inputs: vec![InferInputTensor {
                name: "INPUT".into(),
                datatype: datatype.into(),
                shape: vec![3],
                ..Default::default()
            }],
            raw_input_contents: vec![raw.clone().into()],
            ..Default::default()
        };
        let answer = fixture.runtime().block_on(grpc.model_infer(request)).unwrap().into_inner();
        assert_eq!(answer.raw_output_contents, [Bytes::from(raw)], "{dtype}");
        assert_eq!(
            (answer.outputs[0].datatype.as_str(), &answer.outputs[0].shape[..]),
            (datatype, &[3i64][..])
        );
    }
}

#[test]
fn outputs_come_as_asked_for() {
    let fixture = Fixture::start();
    let body = |outputs: serde_json::Value| {
        json!({"id": "x", "outputs": outputs, "inputs": [
            {"name": "b", "shape": [1, 2], "datatype": "FP32", "data": [[10, 20]]},
            {"name": "a", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]})
        .to_string()
    };
    let names = |outputs| -> Vec<String> {
        let answer = fixture.post("/v2/models/two/infer", body(outputs));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let list = answer.json()["outputs"].as_array().unwrap().clone();
        list.iter().map(|o| format!("{}{}", o["name"].as_str().unwrap(), o["data"])).collect()
    };
    let (ab, ba) = ("ab[1.0,2.0,10.0,20.0]", "ba[10.0,20.0,1.0,2.0]");
    assert_eq!(names(json!([])), [ab, ba]);
    assert_eq!(names(json!([{"name": "ba"}])), [ba]);
    assert_eq!(names(json!([{"name": "ba"}, {"name": "ab"}])), [ba, ab]);
    // One of two as raw bytes.
    let wanted = json!([{"name": "ab", "parameters": {"binary_data": true}}, {"name": "ba"}]);
    let answer = fixture.post("/v2/models/two/infer", body(wanted));
    let at: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
    let raw: Vec<u8> = [1.0f32, 2.0, 10.0, 20.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(answer.body[at..], raw);
    let json: serde_json::Value = serde_json::from_slice(&answer.body[..at]).unwrap();
    assert_eq!(json["outputs"][0]["parameters"]["binary_data_size"], 16);
    assert_eq!(json["outputs"][1]["data"], json!([10.0, 20.0, 1.0, 2.0]));
}

/// A request to the model of two inputs.
fn pair(parameters: &[(&str, ParameterChoice)]) -> pb::ModelInferRequest {
    let input = |name: &str| InferInputTensor {
        name: name.into(),
        datatype: "FP32".into(),
        shape: vec![1, 2],
        ..Default::default()
    };
    let parameter = |(name, choice): &(&str, ParameterChoice)| {
        let choice = Some(choice.clone());
        ((*name).to_owned(), pb::InferParameter { parameter_choice: choice })
    };
    pb::ModelInferRequest {
        model_name: "two".into(),
        inputs: vec![input("a"), input("b")],
        raw_input_contents: vec![vec![0; 8].into(), vec![1; 8].into()],
        parameters: parameters.iter().map(parameter).collect(),
        ..Default::default()
    }
}

/// The nodes that an answer tells of.
fn traced(answer: &pb::ModelInferResponse) -> Option<usize> {
    let told = answer.parameters.get("stead_trace")?.parameter_choice.as_ref()?;
    let ParameterChoice::StringParam(text) = told else { panic!("{told:?}") };
    let told: serde_json::Value = serde_json::from_str(text).unwrap();
    assert!(told["run_ms"].as_f64() >= Some(0.0) && told["wait_ms"].is_number(), "{told}");
    Some(told["nodes"].as_array().unwrap().len())
}

#[test]
fn traces_are_asked_for_over_grpc_too() {
    let fixture = Fixture::start();
    let address = format!("http://{}", fixture.grpc);
    let yes = || pair(&[("stead_trace", ParameterChoice::BoolParam(true))]);
    fixture.runtime().block_on(async {
        let mut grpc = GrpcInferenceServiceClient::connect(address).await.unwrap();
        let plain = grpc.model_infer(pair(&[])).await.unwrap().into_inner();
        assert_eq!(traced(&plain), None);
        let no = pair(&[("stead_trace", ParameterChoice::BoolParam(false))]);
        assert_eq!(traced(&grpc.model_infer(no).await.unwrap().into_inner()), None);
        let answer = grpc.model_infer(yes()).await.unwrap().into_inner();
        assert_eq!(traced(&answer), Some(2));
        assert_eq!(answer.raw_output_contents, plain.raw_output_contents);
        let wrong = pair(&[("stead_trace", ParameterChoice::StringParam("yes".into()))]);
        let error = grpc.model_infer(wrong).await.unwrap_err();
        assert!(error.code() == Code::InvalidArgument, "{error}");
        // In a stream too, where those around it are not traced.
        let requests = tokio_stream::iter(vec![pair(&[]), yes(), pair(&[])]);
        let mut stream = grpc.model_stream_infer(requests).await.unwrap().into_inner();
        for expected in [None, Some(2), None] {
            let answer = stream.message().await.unwrap().unwrap();
            assert_eq!(answer.error_message, "");
            assert_eq!(traced(&answer.infer_response.unwrap()), expected);
        }
    });
}

#[test]
fn trace_settings_are_those_of_a_triton_that_traces_nothing() {
    let fixture = Fixture::start();
    let off = json!({"trace_level": ["OFF"], "trace_rate": "1000", "trace_count": "-1",
        "log_frequency": "0", "trace_file": "", "trace_mode": "triton"});
    let on = r#"{"trace_level": ["TIMESTAMPS"]}"#;
    for path in ["/v2/trace/setting", "/v2/models/two/trace/setting"] {
        assert_eq!((fixture.get(path).status, fixture.get(path).json()), (200, off.clone()));
        let same = fixture.post(path, r#"{"trace_level": ["OFF"], "trace_rate": null}"#);
        assert_eq!((same.status, same.json()), (200, off.clone()), "{path}");
        let refused = fixture.post(path, on);
        assert!(refused.status == 400 && refused.text().contains("TIMESTAMPS"), "{path}");
    }
    let told = |path: &str| (fixture.get(path).status, fixture.get(path).text());
    assert_eq!(told("/v2/models/nope/trace/setting"), told("/v2/models/nope"));
    let address = format!("http://{}", fixture.grpc);
    fixture.runtime().block_on(async {
        use pb::trace_setting_request::SettingValue;
        let mut grpc = GrpcInferenceServiceClient::connect(address).await.unwrap();
        let ask = |model: &str, level: Option<&str>| {
            let value = |level: &str| SettingValue { value: vec![level.to_owned()] };
            let settings = level.map(|level| ("trace_level".to_owned(), value(level)));
            let settings = settings.into_iter().collect();
            pb::TraceSettingRequest { model_name: model.to_owned(), settings }
        };
        for request in [ask("", None), ask("two", None), ask("two", Some("OFF"))] {
            let told = grpc.trace_setting(request).await.unwrap().into_inner().settings;
            assert_eq!((told.len(), &told["trace_level"].value[..]), (6, &["OFF".to_owned()][..]));
        }
        let refused = grpc.trace_setting(ask("", Some("TIMESTAMPS"))).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(grpc.trace_setting(ask("nope", None)).await.unwrap_err().code(), Code::NotFound);
    });
}

#[test]
fn bodies_may_be_compressed_both_ways() {
    let fixture = Fixture::start();
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let plain =
        json!({"inputs": [{"name": "INPUT", "shape": [1000], "datatype": "FP32", "data": values}]})
            .to_string();
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(plain.as_bytes()).unwrap();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(plain.as_bytes()).unwrap();
    let cases = [("gzip", gz.finish().unwrap()), ("deflate", zlib.finish().unwrap())];
    for (encoding, body) in cases {
        let headers = [("Content-Encoding", encoding), ("Accept-Encoding", encoding)];
        let answer = fixture.send("POST", "/v2/models/id_f32/infer", &headers, &body);
        assert_eq!(answer.status, 200, "{encoding}: {}", answer.text());
        assert_eq!(answer.header("content-encoding"), Some(encoding));
        let mut text = String::new();
        match encoding {
            "gzip" => GzDecoder::new(&*answer.body).read_to_string(&mut text).unwrap(),
            _ => ZlibDecoder::new(&*answer.body).read_to_string(&mut text).unwrap(),
        };
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["outputs"][0]["data"].as_array().unwrap().len(), 1000);
    }
}

#[test]
fn raw_bodies_are_the_one_input() {
    let fixture = Fixture::start();
    let headers = [("Inference-Header-Content-Length", "0")];
    let body: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let send = |model: &str, body: &[u8]| {
        fixture.send("POST", &format!("/v2/models/{model}/infer"), &headers, body)
    };
    let answer = send("id_f32", &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let at: usize = answer.header("inference-header-content-length").unwrap().parse().unwrap();
    assert_eq!(answer.body[at..], body);
    assert_eq!(send("id_f32", &body[..3]).status, 400);
    assert_eq!(send("two", &body).status, 400, "two inputs");
}

#[test]
fn models_are_loaded_and_unloaded_by_request() {
    let fixture = Fixture::start();
    let post = |path: &str, body: &str| fixture.post(path, body).status;
    let ready = || fixture.get("/v2/models/two/ready").status;
    assert_eq!(ready(), 200);
    assert_eq!(
        post("/v2/repository/models/two/unload", "{\"parameters\":{\"unload_dependents\":true}}"),
        200
    );
    assert_eq!(ready(), 400);
    let index = fixture.post("/v2/repository/index", "").json();
    let two = index.as_array().unwrap().iter().find(|m| m["name"] == "two").unwrap().clone();
    assert_eq!(two["state"], "UNAVAILABLE");
    assert!(!fixture.post("/v2/repository/index", "{\"ready\":true}").text().contains("two"));
    assert_eq!(post("/v2/repository/models/two/load", ""), 200);
    assert_eq!(ready(), 200);
    let file = r#"{"parameters":{"config":"{}","file:1/model.onnx":"AAAA"}}"#;
    assert_eq!(post("/v2/repository/models/two/load", file), 400, "file overrides");
    assert_eq!(post("/v2/repository/models/two/load", "{\"parameters\":{\"a\":[]}}"), 400);
}

#[test]
fn headers_of_requests_and_answers() {
    let fixture = Fixture::with(|o| {
        o.cors = CorsOptions {
            allowed_origins: "https://a.example".into(),
            allowed_methods: "GET,POST".into(),
            allowed_headers: "*".into(),
            allow_credentials: true,
        };
    });
    let answer = fixture.send("GET", "/v2", &[("X-Request-Id", "r-1")], b"");
    assert_eq!(answer.header("x-request-id"), Some("r-1"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://a.example"));
    let origin = [("Origin", "https://a.example"), ("Access-Control-Request-Method", "POST")];
    let preflight = fixture.send("OPTIONS", "/v2/models/two/infer", &origin, b"");
    assert_eq!(preflight.status, 200);
    assert_eq!(preflight.header("access-control-allow-methods"), Some("GET,POST"));
    assert_eq!(preflight.header("access-control-allow-credentials"), Some("true"));
    let plain = Fixture::start();
    assert_eq!(plain.send("OPTIONS", "/v2", &origin, b"").status, 405);
    assert_eq!(plain.get("/v2").header("access-control-allow-origin"), None);
}

#[test]
fn metrics_count_requests() {
    let fixture = Fixture::start();
    let body = r#"{"inputs":[{"name":"INPUT","shape":[1,1],"datatype":"FP32","data":[1]}]}"#;
    assert_eq!(fixture.post("/v2/models/acc/infer", body).status, 200);
    assert_eq!(fixture.post("/v2/models/acc/infer", "{\"inputs\":[]}").status, 400);
    fixture.get("/v2/models/acc");
    let page = fixture.get("/metrics");
    assert!(page.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = page.text();
    for line in [
        r#"ovms_requests_success{api="KServe",interface="REST",method="ModelInfer",name="acc",version="1"} 1"#,
        r#"ovms_requests_fail{api="KServe",interface="REST",method="ModelInfer",name="acc",version="1"} 1"#,
        r#"ovms_requests_success{api="KServe",interface="REST",method="ModelMetadata",name="acc",version="1"} 1"#,
        r#"ovms_inference_time_us_count{name="acc",version="1"} 1"#,
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let open = fixture.send("GET", "/metrics", &[("Accept", "application/openmetrics-text")], b"");
    assert!(open.text().ends_with("# EOF\n"));
    assert!(open.text().contains("ovms_requests_success_total{"));
    let off = Fixture::with(|o| o.metrics.enabled = false);
    assert_eq!(off.get("/metrics").status, 400);
    let some = Fixture::with(|o| o.metrics.list = vec!["ovms_infer_req_active".into()]);
    let text = some.get("/metrics").text();
    assert!(text.contains("ovms_infer_req_active") && !text.contains("ovms_streams"));
}

#[test]
fn grpc_limits_deadlines_compression_and_unknown_calls() {
    let fixture = Fixture::with(|o| o.max_body_bytes = 100_000);
    let address = format!("http://{}", fixture.grpc);
    let request = |n: usize| pb::ModelInferRequest {
        model_name: "id_u8".into(),
        inputs: vec![InferInputTensor {
            name: "INPUT".into(),
            datatype: "UINT8".into(),
            shape: vec![n as i64],
            ..Default::default()
        }],
        outputs: vec![InferRequestedOutputTensor { name: "OUTPUT".into(), ..Default::default() }],
        raw_input_contents: vec![vec![7; n].into()],
        ..Default::default()
    };
    fixture.runtime().block_on(async {
        let plain = GrpcInferenceServiceClient::connect(address).await.unwrap();
        let mut packed = plain
            .clone()
            .send_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Gzip);
        let answer = packed.model_infer(request(50_000)).await.unwrap().into_inner();
        assert_eq!(answer.raw_output_contents[0].len(), 50_000);
        // A request that is not compressed is answered in another way than one that is.
        let mut takes = plain.clone().accept_compressed(CompressionEncoding::Gzip);
        for (n, encoding) in [(50_000, Some("gzip")), (10, None)] {
            let answer = takes.model_infer(request(n)).await.unwrap();
            let used = answer.metadata().get("grpc-encoding").map(|e| e.to_str().unwrap());
            assert_eq!((used, answer.get_ref().raw_output_contents[0].len()), (encoding, n));
        }
        let mut plain = plain;
        for client in [&mut packed, &mut plain] {
            // Gzip makes the second one small on the wire: the limit is on what it unpacks to.
            let error = client.model_infer(request(200_000)).await.unwrap_err();
            assert!(
                matches!(error.code(), Code::OutOfRange | Code::ResourceExhausted),
                "{error:?}"
            );
        }
        let mut late = tonic::Request::new(request(10));
        late.set_timeout(Duration::from_nanos(1));
        let error = plain.model_infer(late).await.unwrap_err();
        assert!(matches!(error.code(), Code::DeadlineExceeded | Code::Cancelled), "{error:?}");
        let error = plain
            .cuda_shared_memory_status(pb::CudaSharedMemoryStatusRequest::default())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::Unimplemented);
        assert!(error.message().contains("CudaSharedMemoryStatus"));
    });
}
