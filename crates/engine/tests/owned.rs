//! Outputs that a caller keeps are the memory that the kernels wrote to.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{
    Elements, LoadOptions, Model, OwnedOutput, RunContext, Session, SessionOptions,
};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Outputs of every kind: computed, the same in another shape, half of a value, an input, a constant, text.
fn model() -> ModelBuilder {
    let init = |n: i64| Tensor::from_slice(&[n], &[1]).unwrap();
    ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "4"])
        .input("text", DType::String, &["words"])
        .init("c", Tensor::from_slice(&[1.5f32], &[1]).unwrap())
        .init("flat", Tensor::from_slice(&[-1i64], &[1]).unwrap())
        .init("zero", init(0))
        .init("one", init(1))
        .node("Exp", &["x"], &["e"])
        .node("Add", &["e", "c"], &["sum"])
        .node("Reshape", &["sum", "flat"], &["flat_sum"])
        .node("Mul", &["e", "e"], &["square"])
        .node("Tanh", &["square"], &["whole"])
        .node("Slice", &["whole", "zero", "one", "zero"], &["part"])
        .node("Identity", &["x"], &["same"])
        .node("Identity", &["c"], &["constant"])
        .node("Identity", &["text"], &["words"])
        .output("e", DType::F32)
        .output("sum", DType::F32)
        .output("flat_sum", DType::F32)
        .output("part", DType::F32)
        .output("same", DType::F32)
        .output("constant", DType::F32)
        .output("words", DType::String)
}

fn session(outputs_apart: bool) -> Session {
    let model = Model::from_bytes(&model().bytes(), None, &LoadOptions::default()).unwrap();
    Session::new(model, &SessionOptions { outputs_apart, ..SessionOptions::default() }).unwrap()
}

fn run(session: &Session, rows: usize, seed: f32, wanted: &[usize]) -> Vec<OwnedOutput> {
    let x: Vec<f32> = (0..rows * 4).map(|i| (i as f32 - 5.0) * seed).collect();
    let x = Tensor::from_slice(&x, &[rows, 4]).unwrap();
    let text = Tensor::from_strings(vec![b"one".to_vec(), b"two".to_vec()], &[2]).unwrap();
    session.run_owned(&[Some(x.view()), Some(text.view())], &RunContext::default(), wanted).unwrap()
}

fn floats(output: &OwnedOutput) -> Vec<f32> {
    match &output.elements {
        Elements::Bytes(buf) => bytemuck::cast_slice(buf).to_vec(),
        Elements::Strings(_) => panic!("text"),
    }
}

fn address(output: &OwnedOutput) -> *const u8 {
    match &output.elements {
        Elements::Bytes(buf) => buf.as_ptr(),
        Elements::Strings(_) => panic!("text"),
    }
}

fn check(outputs: &[OwnedOutput], rows: usize, seed: f32, label: &str) {
    let x: Vec<f32> = (0..rows * 4).map(|i| (i as f32 - 5.0) * seed).collect();
    let map = |f: &dyn Fn(f32) -> f32| x.iter().map(|&v| f(v)).collect::<Vec<f32>>();
    let close = |a: &[f32], b: &[f32]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0))
    };
    assert!(close(&floats(&outputs[0]), &map(&f32::exp)), "{label}: e");
    let sums = map(&|v| v.exp() + 1.5);
    assert!(close(&floats(&outputs[1]), &sums), "{label}: sum");
    assert!(close(&floats(&outputs[2]), &sums), "{label}: flat_sum");
    assert_eq!((&*outputs[1].shape, &*outputs[2].shape), (&[rows, 4][..], &[rows * 4][..]));
    let part: Vec<f32> = x[..4].iter().map(|v| (v.exp() * v.exp()).tanh()).collect();
    assert!(close(&floats(&outputs[3]), &part), "{label}: part");
    assert_eq!(floats(&outputs[4]), x, "{label}: same");
    assert_eq!(floats(&outputs[5]), [1.5], "{label}: constant");
    assert!(
        matches!(&outputs[6].elements, Elements::Strings(s) if *s == [b"one".to_vec(), b"two".to_vec()]),
        "{label}: words"
    );
}

#[test]
fn outputs_of_every_kind_are_right_and_stay_so() {
    for apart in [false, true] {
        let session = session(apart);
        // What later runs of more, fewer and as many rows do changes nothing of what was handed over before.
        let runs = [(3, 0.1f32), (7, 0.2), (2, 0.3), (3, 0.05), (2, 0.25)];
        let kept = runs.map(|(rows, seed)| run(&session, rows, seed, &[0, 1, 2, 3, 4, 5, 6]));
        for ((rows, seed), outputs) in runs.iter().zip(&kept) {
            check(outputs, *rows, *seed, &format!("apart {apart}, {rows} rows"));
        }
    }
}

/// Where the kernels have written is seen from inside of a run: outputs that were shown are where those handed over are.
#[test]
fn what_was_computed_is_handed_over_without_a_copy() {
    let session = session(true);
    let x = Tensor::from_slice(&[0.5f32; 12], &[3, 4]).unwrap();
    let text = Tensor::from_strings(vec![Vec::new()], &[1]).unwrap();
    let inputs = [Some(x.view()), Some(text.view())];
    let cx = RunContext::default();
    let shown = |index: usize| {
        let address =
            |o: stead_engine::Outputs<'_>| o.get(index).unwrap().bytes().as_ptr() as usize;
        session.run_with(&inputs, &cx, address).unwrap()
    };
    let (e, sum) = (shown(0), shown(1));
    assert_eq!([shown(0), shown(1)], [e, sum], "nothing is allocated as long as nothing is taken");
    let owned = session.run_owned(&inputs, &cx, &[0, 1, 1, 2]).unwrap();
    assert_eq!(address(&owned[0]) as usize, e);
    // Three times one value: the last one is the memory, the others are copies.
    assert_eq!(address(&owned[3]) as usize, sum);
    assert!(owned[1..3].iter().all(|o| address(o) as usize != sum));
    assert_ne!(address(&owned[1]), address(&owned[2]));
    assert_ne!(shown(0), e, "the caller has the memory now");
    // A value of which only a part is an output is copied, and what nobody wants stays.
    assert_eq!(session.run_owned(&inputs, &cx, &[3]).unwrap()[0].shape[0], 1);
    assert!(session.run_owned(&inputs, &cx, &[99]).is_err());
}
