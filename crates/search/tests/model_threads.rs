//! The threads of models in every phase: as many as `onnx-model` says, and the same scores for any number of them; and
//! their precision.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_search::Serial;
use stead_search::rank::Ranked;
use stead_tensor::{DType, Tensor};

use crate::harness::{Package, Threads};

const WIDTH: usize = 64;

/// Two layers that are worth several threads for a hundred documents; one row by the file, and for `mixing` for good.
fn network(mixing: bool) -> Vec<u8> {
    let weights = |seed: usize| {
        let list: Vec<f32> =
            (0..WIDTH * 512).map(|n| ((n * 37 + seed) % 101) as f32 / 400.0 - 0.12).collect();
        list
    };
    let first = Tensor::from_slice(&weights(3), &[WIDTH, 512]).unwrap();
    let second = Tensor::from_slice(&weights(5), &[512, WIDTH]).unwrap();
    let flat = Tensor::from_slice(&[WIDTH as i64], &[1]).unwrap();
    let row = Tensor::from_slice(&[1, WIDTH as i64], &[2]).unwrap();
    let b = ModelBuilder::new(17)
        .input("x", DType::F32, &["1", &WIDTH.to_string()])
        .init("a", first)
        .init("b", second)
        .init("flat", flat)
        .init("row", row)
        .node("Reshape", &["x", "flat"], &["vector"])
        .node("Relu", &["vector"], &["positive"])
        .node("Reshape", &["positive", "row"], &["again"])
        .node("MatMul", &["again", "a"], &["wide"])
        .node("Tanh", &["wide"], &["bent"])
        .node("MatMul", &["bent", "b"], &["narrow"]);
    let b = if mixing {
        b.node("Softmax", &["narrow"], &["y"]).attr("axis", 0)
    } else {
        b.node("Sigmoid", &["narrow"], &["y"])
    };
    b.output_of("y", ValueType::tensor(DType::F32, Some(dims_of(&["1", &WIDTH.to_string()]))))
        .bytes()
}

fn package(phase: &str, settings: &str, mixing: bool) -> Package {
    let kind = format!("tensor<float>(d0[1],d1[{WIDTH}])");
    let onnx = "sum(onnx(m) * onnx(m))";
    let phases = match phase {
        "first-phase" => format!("first-phase {{ expression: {onnx} }}"),
        _ => format!(
            "first-phase {{ expression: attribute(n) }}\n{phase} {{\n expression: {onnx}\n rerank-count: 150\n}}"
        ),
    };
    let profile = format!(
        "onnx-model m {{\n file: files/m.onnx\n input x: attribute(x)\n{settings}\n}}\n{phases}"
    );
    let files = [("files/m.onnx", &network(mixing)[..])];
    Package::new(&[("x", &kind), ("n", "int")], &profile, &files)
}

fn documents() -> Vec<Json> {
    let vector = |seed: usize| -> Vec<f64> {
        (0..WIDTH).map(|n| ((n * 31 + seed * 17) % 23) as f64 / 8.0 - 1.0).collect()
    };
    (0..200).map(|at| json!({"n": at, "x": {"values": vector(at)}})).collect()
}

fn scores(ranked: &Ranked) -> Vec<(usize, u64)> {
    ranked.hits.iter().map(|hit| (hit.document as usize, hit.relevance.to_bits())).collect()
}

#[test]
fn models_use_as_many_threads_as_they_may_in_every_phase() {
    let documents = documents();
    for phase in ["first-phase", "second-phase", "global-phase"] {
        for (settings, least, most) in [
            ("", 2, 4 * 200),
            ("intraop-threads: 0", 2, 4 * 200),
            ("intraop-threads: 1", 0, 0),
            ("execution-mode: sequential\nintraop-threads: 1", 0, 0),
            ("execution-mode: parallel\nintraop-threads: 1", 2, 4 * 200),
            ("execution-mode: parallel\nintraop-threads: 1\ninterop-threads: 1", 0, 0),
            ("execution-mode: parallel\ninterop-threads: 3\nintraop-threads: 2", 2, 4 * 200),
        ] {
            let label = format!("{phase} {settings}");
            let package = package(phase, settings, false);
            let expected = package.rank_on(&documents, &Serial);
            assert_eq!(expected.hits.len(), documents.len(), "{label}");
            for count in [2, 4] {
                let cores = Threads::new(count);
                let found = package.rank_on(&documents, &cores);
                assert_eq!(scores(&found), scores(&expected), "{label} on {count}");
                let worked = cores.worked();
                assert!((least..=most).contains(&worked), "{label} on {count}: {worked} threads");
            }
        }
    }
}

#[test]
fn a_model_of_one_row_for_good_has_several_runs_at_a_time() {
    let documents = documents();
    let package = package("first-phase", "execution-mode: parallel\nintraop-threads: 1", true);
    let model = package.model().unwrap();
    assert!(model.singly().is_some_and(|why| why.ends_with("works along the axis of the rows")));
    let explained = model.explain();
    assert_eq!(
        explained.last().unwrap(),
        "onnx(m): 1 thread a run, as many runs as there are idle threads at a time"
    );
    let expected = package.rank_on(&documents, &Serial);
    let cores = Threads::new(3);
    assert_eq!(scores(&package.rank_on(&documents, &cores)), scores(&expected));
    assert!(cores.worked() > 1);
}

#[test]
fn what_has_no_effect_is_told() {
    for (settings, expected) in [
        (
            "intraop-threads: -4",
            "intraop-threads -4 of onnx-model m has no effect: a number of threads is 0, for all there are, or more",
        ),
        (
            "interop-threads: 2",
            "interop-threads 2 of onnx-model m has no effect: only execution-mode: parallel has several runs at a time",
        ),
        ("gpu-device: 0", "gpu-device 0 of onnx-model m has no effect: models run on the CPU"),
        ("intraop-threads: 2\ngpu-device: -1", ""),
        ("execution-mode: parallel\ninterop-threads: 2", ""),
    ] {
        let (wrong, _) = package("first-phase", settings, false).models();
        match expected {
            "" => assert_eq!(wrong, [""; 0], "{settings}"),
            _ => assert!(wrong.len() == 1 && wrong[0].ends_with(expected), "{settings}: {wrong:?}"),
        }
    }
}

#[test]
fn a_model_is_computed_in_the_precision_that_is_said() {
    let documents = documents();
    let of = |settings: &str| package("first-phase", settings, false).rank_on(&documents, &Serial);
    let (plain, exact, half) = (of(""), of("precision: f32"), of("precision: bf16"));
    assert_eq!(scores(&plain), scores(&exact));
    let relevance = |ranked: &Ranked| {
        let mut found: Vec<_> =
            ranked.hits.iter().map(|hit| (hit.document as usize, hit.relevance)).collect();
        found.sort_by_key(|(document, _)| *document);
        found
    };
    let (exact, half) = (relevance(&exact), relevance(&half));
    assert_ne!(exact, half);
    for ((document, a), (_, b)) in exact.iter().zip(&half) {
        assert!((a - b).abs() <= 0.01 * a.abs(), "document {document}: {a} in f32, {b} in bf16");
    }
    let refused = package("first-phase", "precision: f64", false).model().err();
    let refused = refused.map(|e| e.to_string()).unwrap_or_default();
    let expected = "precision f64: the model has no such weights; supported: f32, bf16";
    assert!(refused.ends_with(expected), "{refused}");
}
