//! Steps of sequences: the states of all nodes change, or none.

use super::models::{adder, f32s};
use super::server::{STATEFUL, Server, node, pipeline, request, step, sums, values};
use std::path::Path;
use stead_node::{Code, Param, VersionRef};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

#[test]
fn all_states_change_or_none() {
    let server = Server::new(&sums());
    let step = |flags: &[&str], value| step(&server, 7, flags, None, value);
    assert_eq!(step(&["start"], 1.0), Ok(vec![1.0, 1.0, 2.0]));
    assert_eq!(step(&[], 60.0), Ok(vec![61.0, 62.0, 61.0]));
    // The second node fails on 101 although the first has succeeded: neither has changed.
    assert_eq!(step(&[], 40.0), Err(Code::InvalidArgument));
    assert_eq!(step(&[], 1.0), Ok(vec![62.0, 124.0, 2.0]));
    // A failed END leaves the sequence, a failed START leaves none.
    assert_eq!(step(&["end"], 50.0), Err(Code::InvalidArgument));
    assert_eq!(step(&["end"], 1.0), Ok(vec![63.0, 187.0, 2.0]));
    assert_eq!(step(&[], 1.0), Err(Code::NotFound));
    assert_eq!(step(&["start"], 200.0), Err(Code::InvalidArgument));
    assert_eq!(step(&[], 1.0), Err(Code::NotFound));
    let metrics = server.node.metrics();
    let row = metrics.models.iter().find(|m| m.name == "p").unwrap();
    let sequences = row.versions[0].sequences.unwrap();
    assert_eq!((sequences.active, sequences.counters.started, sequences.counters.ended), (0, 1, 1));
    assert_eq!((sequences.counters.steps, sequences.counters.failed), (4, 3));
    // Outputs that are not wanted do not keep a state back.
    let mut quiet = request(&[("x", &[5.0], &[1, 1])]);
    quiet.parameters.insert("sequence_id".into(), Param::U64(7));
    quiet.parameters.insert("sequence_start".into(), Param::Bool(true));
    quiet.outputs = vec!["c".to_owned()];
    assert_eq!(values(&server.infer(quiet).unwrap())[0].2, [6.0]);
    assert_eq!(step(&[], 1.0), Ok(vec![6.0, 11.0, 2.0]));
}

#[test]
fn steps_of_pipelines_run_once() {
    let server = Server::new(&sums());
    let step = |flags: &[&str], n, value| step(&server, 7, flags, Some(n), value);
    assert_eq!(step(&["start"], 1, 1.0), Ok(vec![1.0, 1.0, 2.0]));
    assert_eq!(step(&["start"], 1, 1.0), Ok(vec![1.0, 1.0, 2.0]), "the stored answer");
    assert_eq!(step(&[], 2, 2.0), Ok(vec![3.0, 4.0, 3.0]));
    assert_eq!(step(&[], 2, 2.0), Ok(vec![3.0, 4.0, 3.0]), "the stored answer");
    assert_eq!(step(&[], 4, 2.0), Err(Code::FailedPrecondition));
    assert_eq!(step(&["end"], 3, 1.0), Ok(vec![4.0, 8.0, 2.0]));
    assert_eq!(step(&["end"], 3, 1.0), Ok(vec![4.0, 8.0, 2.0]), "the stored answer");
}

/// Many sequences at once, and several requests of one sequence in flight.
#[test]
fn sequences_are_never_mixed() {
    let server = Server::new(&sums());
    let send = async |id: u64, flag: Option<&str>, value: f32| {
        let mut request = request(&[("x", &[value], &[1, 1])]);
        request.parameters.insert("sequence_id".into(), Param::U64(id));
        flag.map(|f| request.parameters.insert(format!("sequence_{f}").into(), Param::Bool(true)));
        let answer = server.node.infer(request).await.unwrap();
        values(&answer).into_iter().map(|v| v.2[0]).collect::<Vec<_>>()
    };
    let sequence = async |id: u64| {
        let value = id as f32 / 8.0;
        let (mut first, mut second) = (value, value);
        assert_eq!(send(id, Some("start"), value).await[..2], [first, second]);
        for _ in 0..8 {
            let (a, b) = tokio::join!(send(id, None, value), send(id, None, value));
            for got in [a, b] {
                first += value;
                second += first;
                assert_eq!(got[..2], [first, second], "{id}");
            }
        }
        send(id, Some("end"), value).await;
    };
    server.runtime.block_on(async {
        tokio::join!(sequence(1), sequence(2), sequence(3), sequence(4));
    });
}

#[test]
fn a_sequence_can_be_copied_and_read() {
    let server = Server::new(&sums());
    let (latest, id) = (VersionRef::Latest, stead_node::SequenceId::Number);
    step(&server, 1, &["start"], None, 3.0).unwrap();
    assert_eq!(server.node.fork_sequence("p", &latest, &id(1), id(2)), Ok(1));
    let (at, values) = server.node.export_sequence("p", &latest, &id(1)).unwrap();
    let names: Vec<&str> = values.iter().map(|(n, _)| &**n).collect();
    assert_eq!((at, names), (1, vec!["first/sum", "second/sum"]));
    server.node.import_sequence("p", &latest, id(3), 1, values.clone()).unwrap();
    for n in 1..=3 {
        assert_eq!(step(&server, n, &[], None, 1.0), Ok(vec![4.0, 7.0, 2.0]), "{n}");
    }
    let less = server.node.import_sequence("p", &latest, id(4), 1, values[..1].to_vec());
    assert_eq!(less.unwrap_err().to_string(), "node \"second\": state \"sum\" is missing");
    // The models have sequences of their own.
    assert_eq!(server.node.sequences("sum", &latest, None, 9), Ok(vec![]));
    assert_eq!(server.node.sequences("p", &latest, None, 9).unwrap().len(), 3);
}

/// A stateful node may split, and another one may gather; both may have one model.
#[test]
fn stateful_nodes_around_branches() {
    let nodes = [
        node("first sum \"demultiply_count\": 1", "x=request.x", "y"),
        node("each add", "x=first.y", "y"),
        node("last sum \"gather_from_node\": \"first\"", "x=each.y", "y"),
    ];
    let models = [("add", ""), ("sum", STATEFUL)];
    let folder = |folder: &Path| {
        let path = folder.join("models/add/1");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("model.onnx"), adder(1.0, &["1"])).unwrap();
    };
    let server =
        Server::with(&models, &pipeline("x", "", &nodes, "a=last.y b=each.y"), folder, None);
    // The first node sums 1, 2, 3; with 1 added these are summed by the last one.
    for (n, expected) in [[2.0, 2.0], [5.0, 3.0], [9.0, 4.0]].into_iter().enumerate() {
        let flags: &[&str] = if n == 0 { &["start"] } else { &[] };
        assert_eq!(step(&server, 7, flags, None, 1.0), Ok(expected.to_vec()), "{n}");
    }
}

/// A sequence of a pipeline keeps the shapes of its START as one of a model does: a step that differs is refused by the
/// first node or by one behind it, and leaves the states of all.
#[test]
fn sequences_keep_the_shapes_of_their_start() {
    // The state is the sum over time of all inputs, and is added to the input.
    let free = |rows: &str| {
        ModelBuilder::new(17)
            .input("x", DType::F32, &[rows, "time"])
            .input("sum", DType::F32, &[rows, "1"])
            .init("axes", Tensor::from_slice(&[1i64], &[1]).unwrap())
            .node("ReduceSum", &["x", "axes"], &["part"])
            .attr("keepdims", 1)
            .node("Add", &["part", "sum"], &["sum_out"])
            .node("Add", &["x", "sum_out"], &["y"])
            .output_of("y", f32s(&[rows, "time"]))
            .output_of("sum_out", f32s(&[rows, "1"]))
            .bytes()
    };
    let auto = r#", "stateful": true, "shape": "auto""#;
    let nodes = [node("first first", "x=request.x", "y"), node("second second", "x=first.y", "y")];
    let chain = pipeline("x", "", &nodes, "y=second.y");
    // (label, options of both models, the steps: rows, time, and the answer if there is one)
    type Step = (usize, usize, Option<f32>);
    let cases: [(&str, [&str; 2], [Step; 4]); 3] = [
        (
            "the batch",
            [STATEFUL, STATEFUL],
            [(2, 3, Some(16.0)), (3, 3, None), (1, 3, None), (2, 5, Some(66.0))],
        ),
        (
            "shape: auto",
            [auto, auto],
            [(2, 3, Some(16.0)), (2, 5, None), (1, 3, None), (2, 3, Some(40.0))],
        ),
        (
            "shape: auto of the second, when the first has run",
            [STATEFUL, auto],
            [(2, 3, Some(16.0)), (2, 5, None), (2, 4, None), (2, 3, Some(40.0))],
        ),
    ];
    for (label, [first, second], steps) in cases {
        let write = |folder: &Path| {
            for name in ["first", "second"] {
                let path = folder.join("models").join(name).join("1");
                std::fs::create_dir_all(&path).unwrap();
                std::fs::write(path.join("model.onnx"), free("batch")).unwrap();
            }
        };
        let models = [("first", first), ("second", second)];
        let server = Server::with(&models, &chain, write, None);
        assert_eq!(server.problem(), "OK", "{label}");
        for (n, (rows, time, expected)) in steps.into_iter().enumerate() {
            let mut request = request(&[("x", &vec![1.0; rows * time], &[rows, time])]);
            request.id.clear();
            request.parameters.insert("sequence_id".into(), Param::U64(7));
            request.parameters.insert("sequence_start".into(), Param::Bool(n == 0));
            let answer = server.infer(request);
            match expected {
                Some(value) => {
                    let y = answer.unwrap().outputs.remove(0).1;
                    assert_eq!(y.shape().to_vec(), [rows, time], "{label}, step {n}");
                    assert!(
                        y.as_slice::<f32>().unwrap().iter().all(|v| *v == value),
                        "{label}, step {n}: {y:?}"
                    );
                }
                None => {
                    let error = answer.unwrap_err();
                    assert_eq!(error.code, Code::InvalidArgument, "{label}, step {n}: {error}");
                }
            }
        }
    }
}
