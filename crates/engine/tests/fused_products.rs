//! Products with what follows them, several of one operand as one, pooling by attention, embeddings that are normalised and
//! columns that are put together: they compute what the nodes of the file do.
#![allow(clippy::unwrap_used)] // a panic is the report

use std::sync::atomic::{AtomicUsize, Ordering};

use stead_engine::{LoadOptions, Model, Parallel, PassChoice, RunContext, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Columns of the tensors between layers.
const N: usize = 48;

/// The passes that must not change what is computed.
const PASSES: [&str; 7] = [
    "product epilogues",
    "embedding normalization",
    "normalized products",
    "products of one operand",
    "products in a row",
    "attention pooling",
    "interleaved columns",
];

/// Numbers that look random in -1..1.
fn floats(seed: u32, dims: &[usize]) -> Tensor {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let values: Vec<f32> = (0..dims.iter().product())
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_slice(&values, dims).unwrap()
}

/// Threads that take the next number each.
struct Threads(usize);

impl Parallel for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < n) {
                f(i);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.0 {
                scope.spawn(work);
            }
        });
    }
}

/// The output of a model, and the kernels that computed it.
fn run(
    model: &[u8],
    passes: PassChoice,
    inputs: &[Tensor],
    threads: usize,
) -> (Vec<f32>, Vec<&'static str>) {
    let options = LoadOptions { passes, ..LoadOptions::default() };
    let model = Model::from_bytes(model, None, &options).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let threads = Threads(threads);
    let cx = RunContext { parallel: &threads, ..RunContext::default() };
    let values = |t: stead_tensor::TensorView<'_>| t.as_slice::<f32>().unwrap().to_vec();
    let result = session.run_with(&views, &cx, |outputs| values(outputs.get(0).unwrap())).unwrap();
    let kernels = session.plan_view(&views).unwrap().steps.iter().map(|s| s.kernel).collect();
    (result, kernels)
}

/// Checks that all passes, each left out and one more thread make no difference beyond rounding, and that all passes
/// together need these kernels.
fn check(label: &str, model: ModelBuilder, inputs: &[Tensor], kernels: &[&str]) {
    let bytes = model.bytes();
    let (expected, _) = run(&bytes, PassChoice::None, inputs, 1);
    let (all, found) = run(&bytes, PassChoice::All, inputs, 1);
    assert_eq!(found, kernels, "{label}");
    let near = |got: &[f32], what: &str| {
        assert_eq!(got.len(), expected.len(), "{label}, {what}");
        for (i, (g, e)) in got.iter().zip(&expected).enumerate() {
            // Normalised numbers are of the size of 1, as are sums of 48 products of such.
            assert!((g - e).abs() <= 2e-5 * (1.0 + e.abs()), "{label}, {what}, {i}: {g}, not {e}");
        }
    };
    near(&all, "all passes");
    for name in PASSES {
        near(&run(&bytes, PassChoice::AllBut(name), inputs, 1).0, name);
    }
    assert_eq!(run(&bytes, PassChoice::All, inputs, 3).0, all, "{label}: bits with three threads");
}

/// `norm(x w + b + r)` with what comes between as the caller says; `r` has these dimensions.
fn layer(residual: &[&str], between: impl Fn(ModelBuilder) -> ModelBuilder) -> ModelBuilder {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["rows", "24"])
        .input("r", DType::F32, residual)
        .init("w", floats(1, &[24, N]))
        .init("b", floats(2, &[N]))
        .init("scale", floats(3, &[N]))
        .init("bias", floats(4, &[N]))
        .node("MatMul", &["x", "w"], &["p"])
        .node("Add", &["p", "b"], &["s"]);
    between(model)
        .node("LayerNormalization", &["t", "scale", "bias"], &["y"])
        .attr("axis", -1i64)
        .output("y", DType::F32)
}

#[test]
fn rows_are_normalised_where_they_are_made() {
    let plain = || layer(&["rows", "n"], |model| model.node("Add", &["s", "r"], &["t"]));
    for rows in [1, 2, 5, 40, 224, 225, 700] {
        let kernel = if rows <= 4 { "gemv packed" } else { "gemm packed, norm" };
        let inputs = [floats(5, &[rows, 24]), floats(6, &[rows, N])];
        check(&format!("{rows} rows"), plain(), &inputs, &[kernel]);
    }
    let row = [floats(5, &[9, 24]), floats(6, &[1, N])];
    check("one row for all", plain(), &row, &["gemm packed, norm"]);
    // The sum has more rows than the product.
    let fewer = [floats(5, &[1, 24]), floats(6, &[7, N])];
    check("one row of the product", plain(), &fewer, &["gemv packed", "add", "layer norm"]);
    let number = [floats(5, &[9, 24]), floats(6, &[9, 1])];
    check("one number a row", plain(), &number, &["gemm packed", "add", "layer norm"]);
    let relu = layer(&["rows", "n"], |model| {
        model.node("Add", &["s", "r"], &["u"]).node("Relu", &["u"], &["t"])
    });
    let inputs = [floats(5, &[9, 24]), floats(6, &[9, N])];
    check("an activation before", relu, &inputs, &["gemm packed, norm"]);
}

#[test]
fn a_feed_forward_layer_is_one_step() {
    let model = |x: &[&str], residual: Option<&[&str]>, is_gemm: bool| {
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, x)
            .init("v", floats(1, &if is_gemm { [90, 24] } else { [24, 90] }))
            .init("a", floats(2, &[90]))
            .init("w", floats(3, &[90, N]))
            .init("b", floats(4, &[N]))
            .init("scale", floats(5, &[N]))
            .init("bias", floats(6, &[N]));
        let model = match is_gemm {
            true => model.node("Gemm", &["x", "v", "a"], &["q"]).attr("transB", 1i64),
            false => model.node("MatMul", &["x", "v"], &["p"]).node("Add", &["p", "a"], &["q"]),
        };
        let model = model.node("Tanh", &["q"], &["h"]).node("MatMul", &["h", "w"], &["s"]).node(
            "Add",
            &["s", "b"],
            &["t"],
        );
        match residual {
            None => model.node("Relu", &["t"], &["y"]),
            Some(dims) => model
                .input("r", DType::F32, dims)
                .node("Add", &["t", "r"], &["u"])
                .node("LayerNormalization", &["u", "scale", "bias"], &["y"])
                .attr("axis", -1i64),
        }
        .output("y", DType::F32)
    };
    let matrix = ["rows", "24"];
    for rows in [0, 1, 2, 5, 40, 224, 225, 700] {
        let x = floats(7, &[rows, 24]);
        for is_gemm in [false, true] {
            let label = format!("{rows} rows, {is_gemm}");
            check(
                &label,
                model(&matrix, None, is_gemm),
                std::slice::from_ref(&x),
                &["feed forward"],
            );
            let normal = model(&matrix, Some(&["rows", "n"]), is_gemm);
            let inputs = [x.clone(), floats(8, &[rows, N])];
            check(&label, normal, &inputs, &["feed forward, norm"]);
        }
    }
    let stack = model(&["texts", "rows", "24"], Some(&["texts", "rows", "n"]), false);
    let texts = [floats(7, &[3, 100, 24]), floats(8, &[3, 100, N])];
    check("three texts", stack, &texts, &["feed forward, norm"]);
    check("a row alone", model(&["24"], None, false), &[floats(7, &[24])], &["feed forward"]);
    // Here the sum has more rows than the products.
    let more = [floats(7, &[1, 24]), floats(8, &[7, N])];
    let apart = ["gemv packed", "gemv packed", "add", "layer norm"];
    check("more rows", model(&matrix, Some(&["rows", "n"]), false), &more, &apart);
}

#[test]
fn embeddings_are_added_and_normalised_where_their_tables_are() {
    let model = |places: &[&str]| {
        ModelBuilder::new(17)
            .input("ids", DType::I64, &["texts", "n"])
            .input("kinds", DType::I32, &["texts", "n"])
            .input("places", DType::I64, places)
            .init("words", floats(1, &[9, N]))
            .init("kind", floats(2, &[2, N]))
            .init("position", floats(3, &[6, N]))
            .init("scale", floats(4, &[N]))
            .init("bias", floats(5, &[N]))
            .node("Gather", &["words", "ids"], &["w"])
            .node("Gather", &["kind", "kinds"], &["k"])
            .node("Gather", &["position", "places"], &["p"])
            .node("Add", &["w", "k"], &["wk"])
            .node("Add", &["p", "wk"], &["s"])
            .node("LayerNormalization", &["s", "scale", "bias"], &["y"])
            .attr("epsilon", 1e-6f32)
            .output("y", DType::F32)
    };
    let ids = |dims: &[usize], values: &[i64]| Tensor::from_slice(values, dims).unwrap();
    let kinds = Tensor::from_slice(&[0i32, 1, -1, 0, 0, 1], &[2, 3]).unwrap();
    let words = ids(&[2, 3], &[8, -9, 0, 3, 3, -1]);
    let fused = ["embedding norm"];
    for (label, places, at) in [
        ("places of all texts", &["1", "n"][..], ids(&[1, 3], &[0, 1, -6])),
        ("places of each text", &["texts", "n"][..], ids(&[2, 3], &[0, 1, 2, 5, 4, 3])),
        ("places without texts", &["n"][..], ids(&[3], &[5, 0, 5])),
        ("one place for all", &["1", "1"][..], ids(&[1, 1], &[4])),
    ] {
        check(label, model(places), &[words.clone(), kinds.clone(), at], &fused);
    }
    let none = [
        ids(&[0, 3], &[]),
        Tensor::from_slice(&[0i32; 0], &[0, 3]).unwrap(),
        ids(&[1, 3], &[0, 1, 2]),
    ];
    check("no text", model(&["1", "n"]), &none, &fused);
    // The same error as a Gather by itself gives.
    let outside = [words, kinds, ids(&[1, 3], &[0, 6, 0])];
    for passes in [PassChoice::None, PassChoice::All] {
        let options = LoadOptions { passes, ..LoadOptions::default() };
        let model = Model::from_bytes(&model(&["1", "n"]).bytes(), None, &options).unwrap();
        let session = Session::new(model, &SessionOptions::default()).unwrap();
        let views: Vec<_> = outside.iter().map(|t| Some(t.view())).collect();
        let error = session.run_with(&views, &RunContext::default(), |_| ()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("index 6 is out of range for an axis of 6"), "{message}");
    }
}

#[test]
fn residuals_are_added_to_a_product_that_is_seen_in_another_shape() {
    let shape = |dims: &[i64]| Tensor::from_slice(dims, &[dims.len()]).unwrap();
    let seen = |dims: &[i64], perm: Vec<i64>| {
        let shape = shape(dims);
        layer(&["a", "b", "c"], |model| {
            model
                .init("shape", shape.clone())
                .node("Reshape", &["s", "shape"], &["u"])
                .node("Transpose", &["u"], &["v"])
                .attr("perm", perm.clone())
                .node("Add", &["r", "v"], &["t"])
        })
    };
    let n = N as i64;
    let turned = || seen(&[-1, 2, n], vec![1, 0, 2]);
    let one = seen(&[-1, 1, n], vec![1, 0, 2]);
    let inputs = |r: &[usize]| [floats(5, &[10, 24]), floats(6, r)];
    check("one sequence", one, &inputs(&[1, 10, N]), &["gemm packed, norm"]);
    // Two sequences turn about: rows of the residual lie in another order.
    let apart = ["gemm packed", "copy", "add", "layer norm"];
    check("two sequences", turned(), &inputs(&[2, 5, N]), &apart);
    check("one row for all", turned(), &inputs(&[1, 1, N]), &["gemm packed, norm", "copy"]);
    check("a row for each sequence", turned(), &inputs(&[2, 1, N]), &apart);
    let same = || vec![0, 1, 2];
    // What is normalised then is half a row of the product, or what was a column of it.
    let halves = layer(&["a", "b", "c"], |model| {
        model
            .init("shape", shape(&[10, 2, n / 2]))
            .init("half", floats(3, &[N / 2]))
            .node("Reshape", &["s", "shape"], &["u"])
            .node("Add", &["r", "u"], &["v"])
            .node("LayerNormalization", &["v", "half", "half"], &["z"])
            .attr("axis", -1i64)
            .init("whole", shape(&[10, n]))
            .node("Reshape", &["z", "whole"], &["t"])
    });
    let kernels = ["gemm packed", "layer norm", "layer norm"];
    check("halves of rows", halves, &inputs(&[10, 2, N / 2]), &kernels);
    let columns = seen(&[1, n, n], vec![0, 2, 1]);
    let square = [floats(5, &[N, 24]), floats(6, &[1, N, N])];
    check("columns", columns, &square, &apart);
    check("as it was", seen(&[1, 10, n], same()), &inputs(&[1, 10, N]), &["gemm packed, norm"]);
}

#[test]
fn queries_keys_and_values_are_one_product() {
    let shape = Tensor::from_slice(&[0i64, 0, 4, -1], &[4]).unwrap();
    let back = Tensor::from_slice(&[0i64, 0, N as i64], &[3]).unwrap();
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "len", "24"])
        .init("heads", shape)
        .init("back", back)
        .init("root", Tensor::scalar(12f32.sqrt()).unwrap());
    for (at, name) in ["q", "k", "v"].into_iter().enumerate() {
        let perm = if name == "k" { vec![0i64, 2, 3, 1] } else { vec![0, 2, 1, 3] };
        let [w, b, p, s, r, t] = ["w", "b", "p", "s", "r", "t"].map(|of| format!("{of}_{name}"));
        model = model.init(&w, floats(at as u32, &[24, N])).node("MatMul", &["x", &w], &[&p]);
        // Keys without a bias, as some models have them.
        let has_bias = name != "k";
        if has_bias {
            model = model.init(&b, floats(10 + at as u32, &[N])).node("Add", &[&b, &p], &[&s]);
        }
        model = model
            .node("Reshape", &[if has_bias { &s } else { &p }, "heads"], &[&r])
            .node("Transpose", &[&r], &[&t])
            .attr("perm", perm);
    }
    let model = model
        .node("MatMul", &["t_q", "t_k"], &["scores"])
        .node("Div", &["scores", "root"], &["scaled"])
        .node("Softmax", &["scaled"], &["weights"])
        .attr("axis", -1i64)
        .node("MatMul", &["weights", "t_v"], &["heads_out"])
        .node("Transpose", &["heads_out"], &["rows"])
        .attr("perm", vec![0i64, 2, 1, 3])
        .node("Reshape", &["rows", "back"], &["y"])
        .output("y", DType::F32);
    let bytes = model.clone().bytes();
    let options = |passes| LoadOptions { passes, ..LoadOptions::default() };
    let without = PassChoice::AllBut("products of one operand");
    for (batch, len) in [(1, 7), (3, 40), (2, 1)] {
        let inputs = [floats(7, &[batch, len, 24])];
        let product = if batch * len <= 4 { "gemv packed" } else { "gemm packed" };
        let label = format!("{batch} x {len}");
        check(&label, model.clone(), &inputs, &[product, "attention"]);
        let (_, apart) = run(&bytes, without, &inputs, 1);
        assert_eq!(apart, [product, product, product, "attention"], "{label}");
    }
    let joined = Model::from_bytes(&bytes, None, &options(PassChoice::All)).unwrap();
    let report = joined.pass_reports().iter().find(|r| r.pass == "products of one operand");
    assert_eq!(report.map(|report| report.changes), Some(1));
}

#[test]
fn rows_are_pooled_by_attention() {
    let vector = |n: i64| Tensor::from_slice(&[n], &[1]).unwrap();
    let model = |keeps: i64| {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["batch", "rows", "24"])
            .input("v", DType::F32, &["batches", "values", "width"])
            .init("w", floats(1, &[24, 1]))
            .init("b", floats(2, &[1]))
            .init("axes", vector(1))
            .node("MatMul", &["x", "w"], &["p"])
            .node("Add", &["p", "b"], &["s"])
            .node("Softmax", &["s"], &["a"])
            .attr("axis", 1i64)
            .node("Mul", &["a", "v"], &["av"])
            .node("ReduceSum", &["av", "axes"], &["y"])
            .attr("keepdims", keeps)
            .output("y", DType::F32)
    };
    let pooled = ["attention pooling"];
    for (label, x, v) in [
        ("one text", [1, 40, 24], [1, 40, N]),
        ("three texts", [3, 7, 24], [3, 7, 5]),
        ("values for all", [3, 7, 24], [1, 7, N]),
        ("weights for all", [1, 7, 24], [3, 7, N]),
        ("one value", [2, 7, 24], [2, 1, N]),
    ] {
        for keeps in [0, 1] {
            check(label, model(keeps), &[floats(3, &x), floats(4, &v)], &pooled);
        }
    }
    for (label, x, v) in [
        ("one row", [2, 1, 24], [2, 1, N]),
        ("one weight", [2, 1, 24], [1, 7, N]),
        ("no rows", [2, 0, 24], [2, 0, N]),
    ] {
        check(label, model(0), &[floats(3, &x), floats(4, &v)], &["sum of rows"]);
    }
}

/// The nodes that torch writes for `y[..., start::2] = part` where `y` was `from`.
fn written(model: ModelBuilder, from: &str, part: &str, start: i64, to: &str) -> ModelBuilder {
    let name = |of: &str| format!("{of}_{to}");
    let [all, size, range, slice, rows, data, new, done, begin] =
        ["all", "size", "range", "slice", "rows", "data", "new", "done", "begin"].map(name);
    model
        .init(&begin, Tensor::from_slice(&[start], &[1]).unwrap())
        .node("Shape", &[from], &[&all])
        .node("Gather", &[&all, "two"], &[&size])
        .node("Range", &["zero", &size, "one"], &[&range])
        .node("Slice", &[&range, &begin, "end", "axis", "step"], &[&slice])
        .node("Unsqueeze", &[&slice, "last"], &[&rows])
        .node("Transpose", &[part], &[&new])
        .attr("perm", vec![2i64, 1, 0])
        .node("Transpose", &[from], &[&data])
        .attr("perm", vec![2i64, 1, 0])
        .node("ScatterND", &[&data, &rows, &new], &[&done])
        .node("Transpose", &[&done], &[to])
        .attr("perm", vec![2i64, 1, 0])
}

#[test]
fn columns_that_are_written_by_turns_are_put_together() {
    let one = |n: i64| Tensor::from_slice(&[n], &[1]).unwrap();
    let number = |n: i64| Tensor::scalar(n).unwrap();
    for (starts, batch) in [([0, 1], 2), ([1, 0], 1), ([0, 1], 1)] {
        let model = ModelBuilder::new(18)
            .input("a", DType::F32, &["batch", "5", "half"])
            .input("b", DType::F32, &["batch", "5", "half"])
            .init("nothing", Tensor::scalar(0f32).unwrap())
            .init("sizes", Tensor::from_slice(&[5i64, 12], &[2]).unwrap())
            .init("end", one(i64::MAX))
            .init("axis", one(0))
            .init("step", one(2))
            .init("last", one(-1))
            .init("zero", number(0))
            .init("one", number(1))
            .init("two", number(2))
            .node("Shape", &["a"], &["batches"])
            .attr("end", 1i64)
            .node("Concat", &["batches", "sizes"], &["shape"])
            .attr("axis", 0i64)
            .node("Expand", &["nothing", "shape"], &["z"]);
        let model = written(model, "z", "a", starts[0], "first");
        let model = written(model, "first", "b", starts[1], "y").output("y", DType::F32);
        let inputs = [floats(1, &[batch, 5, 6]), floats(2, &[batch, 5, 6])];
        check(&format!("{starts:?}, {batch}"), model, &inputs, &["concat"]);
    }
}
