//! Models that TensorFlow wrote, against what TensorFlow computed of them; `data/tensorflow/README.md` says how they were made.
#![allow(clippy::unwrap_used)]

mod recorded;

use recorded::{complaint, input};
use serde_json::Value;
use std::path::{Path, PathBuf};
use stead_engine::{LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_formats::{FormatError, read, tensorflow};
use stead_onnx::Limits;
use stead_tensor::{Tensor, TensorView};

/// How far a number may be from TensorFlow's.
const TOLERANCE: f64 = 1e-5;

/// Scores of the ranker: a product of a few numbers, and no other difference.
const OF_SCORES: f64 = 1e-6;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tensorflow")
}

fn session(name: &str) -> Session {
    let model = read(&data().join(name), &Limits::default()).unwrap();
    let model = Model::from_onnx(model, &LoadOptions::default());
    let model = model.unwrap_or_else(|e| panic!("{name}: {e}"));
    Session::new(model, &SessionOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn steps(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(data().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn run(session: &Session, step: &Value) -> Vec<Tensor> {
    let specs = session.model().inputs().iter();
    let given: Vec<Tensor> = specs.map(|spec| input(&step["inputs"][&spec.name])).collect();
    let views: Vec<Option<TensorView<'_>>> = given.iter().map(|t| Some(t.view())).collect();
    let all = session.run_with(&views, &RunContext::default(), |outputs| {
        (0..outputs.len()).map(|i| outputs.get(i).unwrap().to_tensor().unwrap()).collect()
    });
    all.unwrap()
}

fn check(name: &str, file: &str, tolerance: f64) {
    let session = session(file);
    let mut wrong = Vec::new();
    for (at, step) in steps(name).iter().enumerate() {
        let expected = step["outputs"].as_object().unwrap();
        let results = run(&session, step);
        assert_eq!(results.len(), expected.len(), "{name}: outputs");
        for (spec, result) in session.model().outputs().iter().zip(&results) {
            if let Some(text) = complaint(result, &expected[&spec.name], tolerance) {
                wrong.push(format!("{name}, step {at}, output {}: {text}", spec.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_ranker_as_saved_model_and_as_onnx() {
    check("mlp", "mlp", OF_SCORES);
    check("mlp", "mlp/saved_model.pb", OF_SCORES);
    check("mlp", "mlp.onnx", OF_SCORES);
    let session = session("mlp");
    let names: Vec<_> =
        session.model().inputs().iter().map(|s| (s.name.as_str(), s.dims_text())).collect();
    assert_eq!(names, [("features", "[?,16]".to_owned())]);
}

#[test]
fn images_with_channels_last() {
    check("images", "images.pb", TOLERANCE);
}

#[test]
fn operations() {
    check("operations", "operations.pb", TOLERANCE);
}

/// A copy of the ranker whose files may be changed.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("variables")).unwrap();
    for file in FILES {
        std::fs::copy(data().join("mlp").join(file), folder.path().join(file)).unwrap();
    }
    folder
}

const FILES: [&str; 3] =
    ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"];

#[test]
fn damage_of_a_checkpoint_is_found() {
    for file in &FILES[1..] {
        let folder = copy();
        let path = folder.path().join(file);
        let good = std::fs::read(&path).unwrap();
        for at in [0, good.len() / 3, good.len() / 2] {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            std::fs::write(&path, bad).unwrap();
            let text = read(folder.path(), &Limits::default()).unwrap_err().to_string();
            assert!(
                text.contains("checksum") || text.contains("variables.index"),
                "{file}: {text}"
            );
        }
        // The last bytes are of what nothing here reads: names of Python objects.
        std::fs::write(&path, &good[..good.len() / 2]).unwrap();
        assert!(read(folder.path(), &Limits::default()).is_err(), "{file} cut short");
        std::fs::remove_file(&path).unwrap();
        assert!(read(folder.path(), &Limits::default()).is_err(), "{file} gone");
    }
}

#[test]
fn hostile_files_are_errors() {
    for name in ["images.pb", "operations.pb"] {
        let good = std::fs::read(data().join(name)).unwrap();
        for at in (0..good.len()).step_by(31) {
            let _ = tensorflow::frozen(&good[..at], &Limits::default());
            let mut bad = good.clone();
            bad[at] = bad[at].wrapping_add(1);
            let _ = tensorflow::frozen(&bad, &Limits::default());
        }
    }
    let index = std::fs::read(data().join("mlp").join(FILES[1])).unwrap();
    for at in 0..index.len() {
        let mut bad = index.clone();
        bad[at] ^= 0xff;
        let _ = tensorflow::check_index(&bad);
    }
}

/// `b"\x30\x01"` is the type DT_FLOAT; a shape is field 7 with field 2 for each dimension, of which field 1 is the size.
#[test]
fn shapes_that_no_tensor_has_are_refused() {
    let placeholder = |sizes: &[&[u8]]| {
        let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len() as u8], bytes].concat();
        let dims: Vec<u8> =
            sizes.iter().flat_map(|size| field(0x12, &[&[0x08], *size].concat())).collect();
        let attribute = |name: &[u8], value: &[u8]| {
            field(0x2a, &[field(0x0a, name), field(0x12, value)].concat())
        };
        let node = [
            field(0x0a, b"x"),
            field(0x12, b"Placeholder"),
            attribute(b"dtype", b"\x30\x01"),
            attribute(b"shape", &field(0x3a, &dims)),
        ];
        let reader = [field(0x0a, b"y"), field(0x12, b"Relu"), field(0x1a, b"x")];
        let bytes = [field(0x0a, &node.concat()), field(0x0a, &reader.concat())].concat();
        tensorflow::frozen(&bytes, &Limits::default())
    };
    // `i64::MAX` as a varint.
    let largest: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert!(placeholder(&[&[3], &[2]]).is_ok());
    let overflowing = placeholder(&[largest, &[2]]);
    assert!(matches!(overflowing, Err(FormatError::Malformed { .. })), "{overflowing:?}");
    let deep = placeholder(&[&[1][..]; 9]);
    assert!(matches!(deep, Err(FormatError::Malformed { .. })), "{deep:?}");
}

/// A GraphDef of nodes without attributes: name, operation and inputs.
fn graph(nodes: &[(&str, &str, &[&str])]) -> Vec<u8> {
    let field =
        |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let mut graph = Vec::new();
    for (name, op, inputs) in nodes {
        let mut node = [field(0x0a, name.as_bytes()), field(0x12, op.as_bytes())].concat();
        inputs.iter().for_each(|input| node.extend(field(0x1a, input.as_bytes())));
        graph.extend(field(0x0a, &node));
    }
    graph
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let refused = |nodes: &[(&str, &str, &[&str])]| {
        tensorflow::frozen(&graph(nodes), &Limits::default()).unwrap_err().to_string()
    };
    let text = refused(&[("w", "RandomUniform", &[]), ("y", "Relu", &["w"])]);
    assert!(
        text.starts_with("RandomUniform node \"w\": the operation is not read; convert"),
        "{text}"
    );
    assert!(text.contains("tf2onnx.convert --saved-model"), "{text}");
    let text = refused(&[("a", "Relu", &["b"]), ("b", "Relu", &["a"]), ("y", "Relu", &["a"])]);
    assert!(text.contains("the nodes have a cycle"), "{text}");
    let text = refused(&[("y", "Relu", &["nobody"])]);
    assert!(text.contains("nothing is called \"nobody\""), "{text}");
    let few = Limits { nodes: 2, ..Limits::default() };
    let bytes = std::fs::read(data().join("images.pb")).unwrap();
    assert!(matches!(tensorflow::frozen(&bytes, &few), Err(FormatError::Limit { .. })));
}
