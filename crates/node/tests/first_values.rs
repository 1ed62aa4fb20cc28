//! What a sequence begins with: a constant, a file in the version's folder, or what its START brings.
#![allow(clippy::unwrap_used)]

use stead_node::{
    Code, Embedded, Error, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef,
};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor, npy};

fn tensor(values: [f32; 2]) -> Tensor {
    Tensor::from_slice(&values, &[1, 2]).unwrap()
}

/// The sums after a START with 1, 1 and a step with 2, 2.
fn play(init: &str, first: Option<Tensor>, again: bool) -> Result<[Vec<f32>; 2], Error> {
    let model = ModelBuilder::new(17)
        .input("in", DType::F32, &["batch", "2"])
        .input("sum", DType::F32, &["batch", "2"])
        .node("Add", &["in", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["out"])
        .output("out", DType::F32)
        .output("sum_out", DType::F32)
        .bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models/m/1");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.onnx"), model).unwrap();
    let mut file = std::fs::File::create(path.join("first.npy")).unwrap();
    npy::write(&mut file, &tensor([10.0, 20.0]).view()).unwrap();
    let config = format!(
        r#"{{"model_config_list": [{{"config": {{"name": "m", "base_path": "models/m", "stateful": true,
           "stead": {{"states": [{{"input": "sum", "output": "sum_out", "init": {init}}}]}}}}}}]}}"#
    );
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let node = Embedded::start(NodeConfig::path(folder.path().join("config.json"))).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let step = |start: bool, value: f32, first: Option<Tensor>| {
        let mut inputs = vec![("in".to_owned(), tensor([value, value]))];
        inputs.extend(first.map(|first| ("sum".to_owned(), first)));
        let request = InferRequest {
            model: "m".to_owned(),
            version: VersionRef::Latest,
            id: String::new(),
            inputs,
            outputs: Vec::new(),
            parameters: Parameters::from([
                ("sequence_id".into(), Param::U64(1)),
                ("sequence_start".into(), Param::Bool(start)),
            ]),
            deadline: None,
            protocol: Protocol::KserveGrpc,
        };
        let answer = runtime.block_on(node.infer(request))?;
        Ok::<_, Error>(answer.outputs[0].1.as_slice::<f32>().unwrap().to_vec())
    };
    Ok([step(true, 1.0, first.clone())?, step(false, 2.0, first.filter(|_| again))?])
}

#[test]
fn sequences_begin_with_what_the_settings_say() {
    let brought = || Some(tensor([5.0, 6.0]));
    let cases = [
        ("zeros", r#""zeros""#, None, [[1.0, 1.0], [3.0, 3.0]]),
        ("one number", r#"{"const": 0.5}"#, None, [[1.5, 1.5], [3.5, 3.5]]),
        ("values", r#"{"const": [[3, 4]]}"#, None, [[4.0, 5.0], [6.0, 7.0]]),
        ("a file", r#"{"file": "first.npy"}"#, None, [[11.0, 21.0], [13.0, 23.0]]),
        ("the START", r#""first_value""#, brought(), [[6.0, 7.0], [8.0, 9.0]]),
    ];
    for (label, init, first, expected) in cases {
        assert_eq!(play(init, first, false), Ok(expected.map(|v| v.to_vec())), "{label}");
    }
    let refused = [
        ("the START brings nothing", r#""first_value""#, None, false),
        ("a later step brings one too", r#""first_value""#, brought(), true),
        ("a state that clients do not see", r#""zeros""#, brought(), false),
    ];
    for (label, init, first, again) in refused {
        let code = play(init, first, again).map_err(|e| e.code);
        assert_eq!(code, Err(Code::InvalidArgument), "{label}");
    }
}
