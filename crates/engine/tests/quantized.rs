//! Products of bytes: what the passes make of them, com.microsoft's operator and the nodes of the file compute the same.
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{LoadOptions, Model, PassChoice, RunContext, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Element, Tensor};

const K: usize = 24;
const N: usize = 40;

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

fn bytes<T: Element>(seed: u32, dims: &[usize], of: impl Fn(f32) -> T) -> Tensor {
    let values = floats(seed, dims);
    let values: Vec<T> = values.as_slice::<f32>().unwrap().iter().map(|x| of(*x)).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

/// A weight of `K x N` with its zero point and scale.
#[derive(Clone, Copy, Debug)]
struct Weight {
    signed: bool,
    by_column: bool,
    zero: bool,
}

fn weight(model: ModelBuilder, Weight { signed, by_column, zero }: Weight) -> ModelBuilder {
    let dims: &[usize] = if by_column { &[N] } else { &[] };
    let (w, zeros) = if signed {
        (bytes(1, &[K, N], |x| (x * 127.9) as i8), bytes(2, dims, |x| (x * 20.0) as i8))
    } else {
        (
            bytes(1, &[K, N], |x| ((x + 1.0) * 127.9) as u8),
            bytes(2, dims, |x| (x * 20.0 + 128.0) as u8),
        )
    };
    let scale = bytes(3, dims, |x| x * 0.01 + 0.02);
    let model = model.init("w", w).init("w_scale", scale);
    if zero { model.init("w_zero", zeros) } else { model }
}

/// The product of a quantised `x` of these dimensions by the weight, with its factor, as `p`.
fn linear(dims: &[&str], of: Weight) -> ModelBuilder {
    let model = ModelBuilder::new(20).input("x", DType::F32, dims);
    let zero = if of.zero { "w_zero" } else { "" };
    weight(model, of)
        .node("DynamicQuantizeLinear", &["x"], &["q", "q_scale", "q_zero"])
        .node("Mul", &["q_scale", "w_scale"], &["scale"])
        .node("MatMulInteger", &["q", "w", "q_zero", zero], &["sums"])
        .node("Cast", &["sums"], &["cast"])
        .attr("to", 1i64)
        .node("Mul", &["cast", "scale"], &["p"])
}

/// The outputs of a model and the kernels that computed them.
fn run(model: &[u8], passes: PassChoice, inputs: &[Tensor]) -> (Vec<f32>, Vec<&'static str>) {
    let options = LoadOptions { passes, ..LoadOptions::default() };
    let model = Model::from_bytes(model, None, &options).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let result = session
        .run_with(&views, &RunContext::default(), |outputs| {
            outputs.get(0).unwrap().as_slice::<f32>().unwrap().to_vec()
        })
        .unwrap();
    let kernels = session.plan_view(&views).unwrap().steps.iter().map(|s| s.kernel).collect();
    (result, kernels)
}

fn weights() -> impl Iterator<Item = Weight> {
    (0..8).map(|bits| Weight {
        signed: bits & 1 == 1,
        by_column: bits & 2 == 2,
        zero: bits & 4 == 4,
    })
}

#[test]
fn passes_change_no_bit_of_a_product_with_bias_and_residual() {
    let shapes: [(&[&str], &[usize]); 4] = [
        (&["m", "24"], &[1, K]),
        (&["m", "24"], &[17, K]),
        (&["b", "m", "24"], &[3, 5, K]),
        (&["b", "m", "24"], &[2, 0, K]),
    ];
    for of in weights() {
        for (names, dims) in shapes {
            let mut out = dims.to_vec();
            *out.last_mut().unwrap() = N;
            // The residual of the product's shape, one row of it, and more than it has.
            for residual in [out.clone(), vec![N], [&[2], &out[..]].concat()] {
                let symbols: Vec<String> = (0..residual.len()).map(|i| format!("r{i}")).collect();
                let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
                let model = linear(names, of)
                    .init("bias", floats(5, &[N]))
                    .input("r", DType::F32, &symbols)
                    .node("Add", &["bias", "p"], &["s"])
                    .node("Add", &["s", "r"], &["t"])
                    .node("Relu", &["t"], &["y"])
                    .output("y", DType::F32)
                    .bytes();
                let inputs = [floats(7, dims), floats(8, &residual)];
                let label = format!("{of:?} {dims:?} {residual:?}");
                let (want, _) = run(&model, PassChoice::None, &inputs);
                let (got, kernels) = run(&model, PassChoice::All, &inputs);
                assert_eq!(got, want, "{label}");
                assert_eq!(kernels[..2], ["dynamic_quantize", "gemm integer to float"], "{label}");
                let rest: &[&str] = if residual == out { &[] } else { &["add"] };
                assert_eq!(kernels[2..], *rest, "{label}");
            }
        }
    }
}

#[test]
fn one_quantised_operand_is_shared_and_activations_are_taken_up() {
    let model = linear(&["m", "24"], Weight { signed: true, by_column: true, zero: false })
        .init("bias", floats(5, &[N]))
        .init("v", bytes(11, &[K, N], |x| (x * 127.9) as i8))
        .init("v_scale", Tensor::scalar(0.03f32).unwrap())
        .node("Add", &["p", "bias"], &["s"])
        .node("Gelu", &["s"], &["g"])
        .node("Mul", &["q_scale", "v_scale"], &["v_factor"])
        .node("MatMulInteger", &["q", "v", "q_zero"], &["v_sums"])
        .node("Cast", &["v_sums"], &["v_cast"])
        .attr("to", 1i64)
        .node("Mul", &["v_factor", "v_cast"], &["v_p"])
        .node("Sub", &["g", "v_p"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let inputs = [floats(7, &[9, K])];
    let (want, _) = run(&model, PassChoice::None, &inputs);
    let (got, kernels) = run(&model, PassChoice::All, &inputs);
    let product = "gemm integer to float";
    assert_eq!(kernels, ["dynamic_quantize", product, product, "sub"]);
    for (got, want) in got.iter().zip(&want) {
        assert!((got - want).abs() <= 1e-5 * want.abs().max(1.0), "{got} {want}");
    }
}

#[test]
fn an_operator_of_com_microsoft_computes_what_its_parts_do() {
    for of in weights() {
        let zero = if of.zero { "w_zero" } else { "" };
        let model =
            ModelBuilder::new(20).import("com.microsoft", 1).input("x", DType::F32, &["m", "24"]);
        let whole = weight(model, of)
            .init("bias", floats(5, &[N]))
            .node("DynamicQuantizeLinear", &["x"], &["q", "q_scale", "q_zero"])
            .node(
                "MatMulIntegerToFloat",
                &["q", "w", "q_scale", "w_scale", "q_zero", zero, "bias"],
                &["y"],
            )
            .domain("com.microsoft")
            .output("y", DType::F32)
            .bytes();
        let parts = linear(&["m", "24"], of)
            .init("bias", floats(5, &[N]))
            .node("Add", &["p", "bias"], &["y"])
            .output("y", DType::F32)
            .bytes();
        let inputs = [floats(7, &[6, K])];
        let (want, _) = run(&parts, PassChoice::None, &inputs);
        let (got, _) = run(&whole, PassChoice::All, &inputs);
        assert_eq!(got, want, "{of:?}");
    }
}

/// A product of a quantised `x` by the dequantised weight as `MatMul`, or as `Gemm` with a bias of columns.
fn between_dequantized(of: Weight, gemm: bool, x_signed: bool) -> ModelBuilder {
    let zero = if of.zero { "w_zero" } else { "" };
    let x_zero = if x_signed { Tensor::scalar(-7i8) } else { Tensor::scalar(121u8) }.unwrap();
    let model = weight(ModelBuilder::new(20).input("x", DType::F32, &["m", "24"]), of)
        .init("x_scale", Tensor::scalar(0.008f32).unwrap())
        .init("x_zero", x_zero)
        .init("bias", floats(5, &[N]))
        .node("QuantizeLinear", &["x", "x_scale", "x_zero"], &["q"])
        .node("DequantizeLinear", &["q", "x_scale", "x_zero"], &["a"])
        .node("DequantizeLinear", &["w", "w_scale", zero], &["b"])
        .attr("axis", 1i64);
    let model = match gemm {
        true => model.node("Gemm", &["a", "b", "bias"], &["y"]),
        false => model.node("MatMul", &["a", "b"], &["y"]),
    };
    model.output("y", DType::F32)
}

#[test]
fn products_between_dequantised_operands_agree_with_the_floats_of_the_file() {
    for of in weights() {
        for (gemm, x_signed, rows) in
            [(false, false, 1), (false, true, 17), (true, false, 5), (true, true, 33)]
        {
            let model = between_dequantized(of, gemm, x_signed).bytes();
            let inputs = [floats(7, &[rows, K])];
            let (want, _) = run(&model, PassChoice::None, &inputs);
            let (got, kernels) = run(&model, PassChoice::All, &inputs);
            let label = format!("{of:?} gemm {gemm} signed {x_signed}, {rows} rows");
            assert!(kernels.contains(&"gemm integer to float"), "{label}: {kernels:?}");
            // Sums of floats are rounded at each step, those of bytes not at all.
            let most = want.iter().fold(0f32, |most, x| most.max(x.abs()));
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() <= 1e-6 * most, "{label}: {got} for {want}");
            }
        }
    }
}

#[test]
fn scales_that_do_not_fit_are_errors_of_the_plan() {
    let of = Weight { signed: true, by_column: false, zero: false };
    let model = ModelBuilder::new(20).import("com.microsoft", 1);
    let model = model.input("q", DType::U8, &["m", "24"]).input("scale", DType::F32, &["s"]);
    let model = weight(model, of)
        .node("MatMulIntegerToFloat", &["q", "w", "scale", "w_scale"], &["y"])
        .domain("com.microsoft")
        .output("y", DType::F32)
        .bytes();
    let model = Model::from_bytes(&model, None, &LoadOptions::default()).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    let inputs = [bytes(1, &[2, K], |x| (x * 9.0) as u8), floats(1, &[2])];
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let refused = session.run_with(&views, &RunContext::default(), |_| ()).unwrap_err();
    assert!(refused.to_string().contains("input 2: [1] numbers expected, got [2]"), "{refused}");
}
