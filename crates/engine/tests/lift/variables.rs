//! Variables that a file names itself: ReadValue and Assign.

use super::harness::{KEEP, Sequence, ZERO, load, session};
use stead_engine::{Lift, StateInit};
use stead_onnx::{ModelBuilder, dims_of};
use stead_tensor::{DType, Tensor};

const ONLY_VARIABLES: Option<Lift> = Some(Lift { zero_init: false, recurrences: false });

/// `y = x + sum; sum = y`, where `sum` begins with 10.
fn sum() -> ModelBuilder {
    ModelBuilder::new(17)
        .import("stead", 1)
        .input("x", DType::F32, &["1", "2"])
        .init("ten", Tensor::from_slice(&[10.0f32, 10.0], &[1, 2]).unwrap())
        .node("ReadValue", &["ten"], &["before"])
        .domain("stead")
        .attr("variable", "sum")
        .node("Add", &["x", "before"], &["y"])
        .node("Assign", &["y"], &["written"])
        .domain("stead")
        .attr("variable", "sum")
        .output("y", DType::F32)
}

fn x(v: f32) -> Vec<Tensor> {
    vec![Tensor::from_slice(&[v, -v], &[1, 2]).unwrap()]
}

#[test]
fn steps_go_on_from_what_was_written() {
    for (label, lift, firsts) in [
        ("variables", ONLY_VARIABLES, [11.0f32, 9.0]),
        ("all", KEEP, [11.0, 9.0]),
        ("zeros", ZERO, [1.0, -1.0]),
    ] {
        let lifted = session(&sum().bytes(), lift);
        let state = &lifted.model().lifted()[0];
        assert_eq!((&*state.input, &*state.output), ("sum", "sum_next"), "{label}");
        let zeros = lift.is_some_and(|l| l.zero_init);
        assert_eq!(zeros, state.init == StateInit::Zeros, "{label}");
        let mut sequence = Sequence::new(&lifted);
        let mut expected = firsts;
        for step in [1.0f32, 2.0, 3.5] {
            if step > 1.0 {
                expected = [expected[0] + step, expected[1] - step];
            }
            let y = sequence.step(&x(step)).remove(0);
            assert_eq!(y.as_slice::<f32>().unwrap(), expected, "{label}, step {step}");
        }
    }
}

#[test]
fn without_lifting_every_run_begins_anew() {
    let plain = session(&sum().bytes(), None);
    assert_eq!((plain.model().inputs().len(), plain.model().outputs().len()), (1, 1));
    for _ in 0..2 {
        let y = Sequence::new(&plain).step(&x(1.0)).remove(0);
        assert_eq!(y.as_slice::<f32>().unwrap(), [11.0, 9.0]);
    }
}

#[test]
fn a_layer_that_goes_on_from_a_variable_is_no_second_state() {
    let weights = |name: &str, rows: usize, columns: usize| {
        let tensor = Tensor::from_slice(&vec![0.25f32; rows * columns], &[1, rows, columns]);
        (name.to_owned(), tensor.unwrap())
    };
    let mut model =
        ModelBuilder::new(17).import("stead", 1).input("x", DType::F32, &["1", "1", "2"]);
    for (name, tensor) in [weights("w", 9, 2), weights("r", 9, 3), weights("zero", 1, 3)] {
        model = model.init(&name, tensor);
    }
    let model = model
        .node("ReadValue", &["zero"], &["h"])
        .domain("stead")
        .attr("variable", "hidden")
        .node("GRU", &["x", "w", "r", "", "", "h"], &["", "hn"])
        .attr("hidden_size", 3i64)
        .node("Assign", &["hn"], &["written"])
        .domain("stead")
        .attr("variable", "hidden")
        .output("hn", DType::F32);
    let model = load(&model.bytes(), KEEP).unwrap();
    let names: Vec<_> = model.lifted().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["hidden"]);
}

#[test]
fn variables_that_cannot_be_states_are_refused() {
    let other = |name: &str| {
        sum().node("Assign", &["x"], &[name]).domain("stead").attr("variable", "sum").bytes()
    };
    let twice = load(&other("again"), ONLY_VARIABLES).unwrap_err().to_string();
    assert!(twice.contains("a second Assign to one variable"), "{twice}");

    let named = sum().init("c", Tensor::scalar(1.0f32).unwrap());
    let named = named.node("Add", &["y", "c"], &["sum"]).output("sum", DType::F32);
    let named = load(&named.bytes(), ONLY_VARIABLES).unwrap_err().to_string();
    assert!(named.contains("is called \"sum\" too"), "{named}");

    let body = |value: &str| {
        ModelBuilder::new(17)
            .import("stead", 1)
            .node("ReadValue", &["x"], &[value])
            .domain("stead")
            .attr("variable", "inner")
            .output_of(value, stead_onnx::ValueType::tensor(DType::F32, Some(dims_of(&["1", "2"]))))
            .graph()
    };
    let inside = sum()
        .init("one", Tensor::scalar(1i64).unwrap())
        .node("Cast", &["one"], &["yes"])
        .attr("to", DType::Bool)
        .node("If", &["yes"], &["z"])
        .attr("then_branch", body("a"))
        .attr("else_branch", body("b"))
        .output("z", DType::F32);
    let inside = load(&inside.bytes(), ONLY_VARIABLES).unwrap_err().to_string();
    assert!(inside.contains("a variable inside the body of another node"), "{inside}");
}
