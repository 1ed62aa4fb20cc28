//! What a state begins with.

use super::harness::{KEEP, Rng, Sequence, ZERO, part, session};
use super::layers::layer;
use super::loops::scan_model;
use stead_engine::StateInit;
use stead_onnx::{Dim, ModelBuilder};
use stead_tensor::{DType, Tensor};

#[test]
fn zeros_may_take_the_place_of_the_initial_values() {
    let mut rng = Rng(3);
    let case = layer("LSTM", &mut rng, false, true, false);
    let scan = scan_model(&mut rng, 1, 2).bytes();
    let first = |bytes: &[u8], x: &Tensor, lift| {
        Sequence::new(&session(bytes, lift)).step(std::slice::from_ref(x)).remove(0)
    };
    let x = rng.tensor(&[4, 1, 2]);
    for (bytes, x) in [(&case.bytes, &case.x), (&scan, &x)] {
        assert_eq!(first(bytes, x, KEEP), first(bytes, x, None));
        assert_ne!(first(bytes, x, ZERO), first(bytes, x, None));
        let lifted = session(bytes, ZERO);
        assert!(lifted.model().lifted().iter().all(|s| s.init == StateInit::Zeros));
        // The same as zeros that the caller brings.
        let kept = session(bytes, KEEP);
        let mut sequence = Sequence::new(&kept);
        for (state, spec) in sequence.states.iter_mut().zip(lifted.model().lifted()) {
            let dim = |d: &Dim| d.known().unwrap_or(x.shape()[1]);
            let dims: Vec<usize> = spec.dims.as_ref().unwrap().iter().map(dim).collect();
            let shape = stead_tensor::Shape::new(&dims).unwrap();
            *state = Some(Tensor::zeros(spec.dtype, shape).unwrap());
        }
        assert_eq!(sequence.step(std::slice::from_ref(x)).remove(0), first(bytes, x, ZERO));
    }
}

#[test]
fn a_first_value_from_an_input_counts_on_the_first_step_only() {
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["t", "b", "2"])
        .input("h", DType::F32, &["1", "b", "3"])
        .init("w", Rng(1).tensor(&[1, 9, 2]))
        .init("r", Rng(2).tensor(&[1, 9, 3]))
        .node("GRU", &["x", "w", "r", "", "", "h"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let (plain, lifted) = (session(&bytes, None), session(&bytes, KEEP));
    assert_eq!(lifted.model().lifted()[0].init, StateInit::Computed);
    let mut rng = Rng(5);
    let (x, h, other) = (rng.tensor(&[2, 1, 2]), rng.tensor(&[1, 1, 3]), rng.tensor(&[1, 1, 3]));
    let whole = Sequence::new(&plain).step(&[x.clone(), h.clone()]).remove(0);
    let mut sequence = Sequence::new(&lifted);
    let first = sequence.step(&[part(&x, 0, 0, 1), h]).remove(0);
    let second = sequence.step(&[part(&x, 0, 1, 1), other]).remove(0);
    assert_eq!([first, second], [part(&whole, 0, 0, 1), part(&whole, 0, 1, 1)]);
}
