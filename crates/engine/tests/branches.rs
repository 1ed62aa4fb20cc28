//! Shapes and branches that depend on values: the plan continues according to what it reads.
#![allow(clippy::unwrap_used)]

use stead_engine::{LoadOptions, Model, RunError, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

fn session(bytes: &[u8]) -> Session {
    let model = Model::from_bytes(bytes, None, &LoadOptions::default()).unwrap();
    Session::new(model, &SessionOptions::default()).unwrap()
}

#[test]
fn a_shape_that_arrives_at_run_time_selects_the_plan() {
    let bytes = ModelBuilder::new(18)
        .input("x", DType::F32, &["n"])
        .input("shape", DType::I64, &["rank"])
        .node("Reshape", &["x", "shape"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let session = session(&bytes);
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[6]).unwrap();
    for dims in [vec![2i64, 3], vec![3, 2], vec![-1, 1, 2], vec![2, 3]] {
        let shape = Tensor::from_slice(&dims, &[dims.len()]).unwrap();
        let out = session.run(&[("x", x.view()), ("shape", shape.view())], &[]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), x.as_slice::<f32>().unwrap());
        assert_eq!(out[0].shape().rank(), dims.len());
    }
    let bad = Tensor::from_slice(&[4i64, 4], &[2]).unwrap();
    let error = session.run(&[("x", x.view()), ("shape", bad.view())], &[]).unwrap_err();
    assert!(matches!(error, RunError::Plan { .. }), "{error}");
    assert!(error.to_string().contains("cannot reshape [6] to [4, 4]"), "{error}");
}

#[test]
fn a_condition_selects_a_branch_that_reads_outer_values() {
    let branch = |source: &str| {
        ModelBuilder::new(18).node("Identity", &[source], &["r"]).output("r", DType::F32).graph()
    };
    let bytes = ModelBuilder::new(18)
        .input("c", DType::Bool, &[])
        .input("a", DType::F32, &["n"])
        .input("b", DType::F32, &["m"])
        .node("If", &["c"], &["y"])
        .attr("then_branch", branch("a"))
        .attr("else_branch", branch("b"))
        .output("y", DType::F32)
        .bytes();
    let session = session(&bytes);
    let a = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
    let b = Tensor::from_slice(&[2.0f32, 3.0], &[2]).unwrap();
    for (condition, expected) in [(true, &a), (false, &b), (true, &a)] {
        let c = Tensor::scalar(stead_tensor::Bool::from(condition)).unwrap();
        let inputs = [("c", c.view()), ("a", a.view()), ("b", b.view())];
        assert_eq!(&session.run(&inputs, &["y"]).unwrap()[0], expected);
    }
}

#[test]
fn strings_are_passed_on_in_another_shape() {
    let bytes = ModelBuilder::new(18)
        .input("s", DType::String, &["n"])
        .init("shape", Tensor::from_slice(&[-1i64, 2], &[2]).unwrap())
        .node("Identity", &["s"], &["same"])
        .node("Reshape", &["s", "shape"], &["pairs"])
        .output("same", DType::String)
        .output("pairs", DType::String)
        .bytes();
    let session = session(&bytes);
    let words: Vec<Vec<u8>> = [&b"a"[..], b"", b"\xff\x00", b"d"].map(<[u8]>::to_vec).to_vec();
    let s = Tensor::from_strings(words.clone(), &[4]).unwrap();
    let out = session.run(&[("s", s.view())], &[]).unwrap();
    assert_eq!(out[0], s);
    assert_eq!((out[1].shape().dims(), out[1].view().strings()), (&[2, 2][..], &words[..]));
}

#[test]
fn an_optional_input_overrides_its_default_wherever_it_is_read() {
    let identity = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 1.0], &[2, 2]).unwrap();
    let bytes = ModelBuilder::new(18)
        .input("x", DType::F32, &["1", "2"])
        .input("w", DType::F32, &["2", "2"])
        .input("b", DType::F32, &["2"])
        .init("w", identity)
        .init("b", Tensor::from_slice(&[0.0f32, 0.0], &[2]).unwrap())
        .node("MatMul", &["x", "w"], &["p"])
        .node("Add", &["p", "b"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let session = session(&bytes);
    let x = Tensor::from_slice(&[1.0f32, 2.0], &[1, 2]).unwrap();
    let w = Tensor::from_slice(&[5.0f32, 0.0, 0.0, 7.0], &[2, 2]).unwrap();
    let b = Tensor::from_slice(&[1.0f32, 1.0], &[2]).unwrap();
    let (x, w, b) = (("x", x.view()), ("w", w.view()), ("b", b.view()));
    let cases: [(&[_], [f32; 2]); 4] = [
        (&[x], [1.0, 2.0]),
        (&[x, w, b], [6.0, 15.0]),
        (&[x, b], [2.0, 3.0]),
        (&[x, w], [5.0, 14.0]),
    ];
    for (inputs, expected) in cases {
        let outputs = session.run(inputs, &["y"]).unwrap();
        assert_eq!(outputs[0].as_slice::<f32>().unwrap(), expected);
    }
}
