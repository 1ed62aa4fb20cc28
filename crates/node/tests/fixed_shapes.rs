//! What the START of a sequence fixes: the batch of its state, and with `shape: auto` all shapes.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use stead_node::{
    Code, Embedded, Error, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef,
};
use stead_onnx::ModelBuilder;
use stead_sequence::SequenceId;
use stead_tensor::{DType, Tensor};

/// Adds the sum along some axes to a state with the given shape.
fn summing(input: &[&str], axes: &[i64], state: &[&str]) -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, input)
        .input("sum", DType::F32, state)
        .init("axes", Tensor::from_slice(axes, &[axes.len()]).unwrap())
        .node("ReduceSum", &["x", "axes"], &["part"])
        .attr("keepdims", 0)
        .node("Add", &["part", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["y"])
        .output("y", DType::F32)
        .output("sum_out", DType::F32)
        .bytes()
}

struct Server {
    node: Option<Arc<Embedded>>,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Server {
    fn new(model: &[u8], options: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models/m/1");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("model.onnx"), model).unwrap();
        let config = format!(
            r#"{{"model_config_list": [{{"config": {{"name": "m", "base_path": "models/m", "stateful": true{options}}}}}]}}"#
        );
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut server = Server { node: None, runtime, folder };
        server.restart();
        server
    }

    fn restart(&mut self) {
        self.node = None;
        let folder = self.folder.path();
        let config = NodeConfig {
            threads: Some(2),
            state_path: Some(folder.join("states")),
            ..NodeConfig::path(folder.join("config.json"))
        };
        self.node = Some(Embedded::start(config).unwrap());
    }

    fn node(&self) -> &Embedded {
        self.node.as_ref().unwrap()
    }

    /// The shape of the answer to ones of a shape, and its first value.
    fn step(&self, id: u64, start: bool, dims: &[usize]) -> Result<(Vec<usize>, f32), Error> {
        let ones = vec![1f32; dims.iter().product()];
        let request = InferRequest {
            model: "m".to_owned(),
            version: VersionRef::Latest,
            id: String::new(),
            inputs: vec![("x".to_owned(), Tensor::from_slice(&ones, dims).unwrap())],
            outputs: Vec::new(),
            parameters: Parameters::from([
                ("sequence_id".into(), Param::U64(id)),
                ("sequence_start".into(), Param::Bool(start)),
            ]),
            deadline: None,
            protocol: Protocol::KserveGrpc,
        };
        let answer = self.runtime.block_on(self.node().infer(request))?;
        let y = &answer.outputs[0].1;
        Ok((y.shape().to_vec(), y.as_slice::<f32>().unwrap()[0]))
    }
}

fn id(n: u64) -> SequenceId {
    SequenceId::from_number(n).unwrap()
}

#[test]
fn a_step_has_the_shapes_of_its_start() {
    let symbols = || summing(&["batch", "time"], &[1], &["batch"]);
    let one_row = || summing(&["batch", "time"], &[0, 1], &["1"]);
    let none = || summing(&["?", "?"], &[1], &["?"]);
    let batch = r#", "batch_size": "auto""#;
    let all = r#", "shape": "auto""#;
    let began = |given: &str, start: &str| {
        format!("input \"x\" has shape {given}, its sequence began with {start}")
    };
    let cases = [
        ("file", symbols(), "", [2, 4], None),
        ("file, batch", symbols(), "", [3, 3], Some(began("[3, 3]", "[2, ?]"))),
        (
            "file, batch to 1, which would broadcast",
            symbols(),
            "",
            [1, 3],
            Some(began("[1, 3]", "[2, ?]")),
        ),
        ("file without symbols", none(), "", [2, 4], None),
        ("file without symbols, batch", none(), "", [3, 3], Some(began("[3, 3]", "[2, ?]"))),
        (
            "file without symbols, batch to 1, which would broadcast",
            none(),
            "",
            [1, 3],
            Some(began("[1, 3]", "[2, ?]")),
        ),
        ("batch_size", symbols(), batch, [2, 4], None),
        ("batch_size, batch", symbols(), batch, [1, 3], Some(began("[1, 3]", "[2, ?]"))),
        ("batch_size, no state tells", one_row(), batch, [2, 4], None),
        (
            "batch_size, no state tells, batch",
            one_row(),
            batch,
            [1, 3],
            Some(began("[1, 3]", "[2, 3]")),
        ),
        ("shape", symbols(), all, [2, 3], None),
        ("shape, time", symbols(), all, [2, 4], Some(began("[2, 4]", "[2, 3]"))),
        ("shape, batch", none(), all, [1, 3], Some(began("[1, 3]", "[2, 3]"))),
    ];
    for (label, model, options, next, expected) in cases {
        let server = Server::new(&model, options);
        // A START that fails fixes nothing.
        server.step(1, true, &[2, 3, 1]).unwrap_err();
        let answer = |rows: usize, sum: usize| match label.contains("no state") {
            true => Ok((vec![1], (rows * sum) as f32)),
            false => Ok((vec![rows], sum as f32)),
        };
        assert_eq!(server.step(1, true, &[2, 3]), answer(2, 3), "{label}");
        match expected {
            None => assert_eq!(server.step(1, false, &next), answer(2, 3 + next[1]), "{label}"),
            Some(text) => {
                let error = server.step(1, false, &next).unwrap_err();
                assert_eq!(
                    (error.code, error.to_string()),
                    (Code::InvalidArgument, text),
                    "{label}"
                );
                assert_eq!(server.step(1, false, &[2, 3]), answer(2, 6), "{label}: as it was");
            }
        }
        assert_eq!(server.step(2, true, &[1, 5]), answer(1, 5), "{label}: each chooses");
    }
}

/// The batch is not the first axis, and has no name.
#[test]
fn the_batch_is_found_where_it_is() {
    let server = Server::new(&summing(&["?", "?"], &[0], &["?"]), "");
    assert_eq!(server.step(1, true, &[3, 2]), Ok((vec![2], 3.0)));
    assert_eq!(server.step(1, false, &[5, 2]), Ok((vec![2], 8.0)), "other time");
    for dims in [[5, 1], [2, 3], [2, 1]] {
        let error = server.step(1, false, &dims).unwrap_err();
        let text = format!("input \"x\" has shape {dims:?}, its sequence began with [?, 2]");
        assert_eq!((error.code, error.to_string()), (Code::InvalidArgument, text));
    }
    assert_eq!(server.step(1, false, &[1, 2]), Ok((vec![2], 9.0)), "as it was");
}

/// The model takes no sizes but those that suit each other, so that it cannot be asked.
#[test]
fn a_batch_that_nobody_tells_is_somewhere() {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["?", "?"])
        .input("sum", DType::F32, &["?"])
        .init("rows_of_four", Tensor::from_slice(&[-1i64, 4], &[2]).unwrap())
        .init("axes", Tensor::from_slice(&[1i64], &[1]).unwrap())
        .node("Reshape", &["x", "rows_of_four"], &["rows"])
        .node("ReduceSum", &["rows", "axes"], &["part"])
        .attr("keepdims", 0)
        .node("Add", &["part", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["y"])
        .output("y", DType::F32)
        .output("sum_out", DType::F32)
        .bytes();
    let server = Server::new(&model, "");
    assert_eq!(server.step(1, true, &[2, 4]), Ok((vec![2], 4.0)));
    let error = server.step(1, false, &[1, 4]).unwrap_err();
    let text = "no input has the batch of 2 with which its sequence began";
    assert_eq!((error.code, error.to_string()), (Code::InvalidArgument, text.to_owned()));
    assert_eq!(server.step(1, false, &[2, 4]), Ok((vec![2], 8.0)), "as it was");
}

/// Fixed shapes go with the state: through a fork, a file and a restart.
#[test]
fn fixed_shapes_go_with_the_state() {
    let options = r#", "shape": "auto", "stead": {"state_durability": "every_step"}"#;
    let mut server = Server::new(&summing(&["batch", "time"], &[1], &["batch"]), options);
    let latest = VersionRef::Latest;
    server.step(1, true, &[2, 3]).unwrap();
    server.node().fork_sequence("m", &latest, &id(1), id(2)).unwrap();
    let (step, values) = server.node().export_sequence("m", &latest, &id(1)).unwrap();
    let names: Vec<&str> = values.iter().map(|(n, _)| &**n).collect();
    assert_eq!(names, ["sum", "shape.x"]);
    server.node().import_sequence("m", &latest, id(3), step, values.clone()).unwrap();
    let without = values[..1].to_vec();
    server.node().import_sequence("m", &latest, id(4), step, without).unwrap();
    let wrong = vec![values[0].clone(), ("shape.x".to_owned(), values[0].1.clone())];
    let refused = server.node().import_sequence("m", &latest, id(5), step, wrong);
    assert_eq!(refused.map_err(|e| e.code), Err(Code::InvalidArgument));
    server.restart();
    for id in [1, 2, 3] {
        let error = server.step(id, false, &[2, 4]).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{id}: {error}");
        assert_eq!(server.step(id, false, &[2, 3]), Ok((vec![2], 6.0)), "{id}");
    }
    assert_eq!(server.step(4, false, &[2, 4]), Ok((vec![2], 7.0)), "chooses with its next step");
    assert_eq!(server.step(4, false, &[2, 3]).map_err(|e| e.code), Err(Code::InvalidArgument));
}
