//! Operators of `com.microsoft`: what is refused, and what ONNX Runtime has no kernel for to be compared with. All others are
//! compared with it in tests/python/operators.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{LoadError, LoadOptions, Model, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

const MICROSOFT: &str = "com.microsoft";

fn load(model: ModelBuilder) -> Result<Session, LoadError> {
    let model = Model::from_bytes(&model.bytes(), None, &LoadOptions::default())?;
    Session::new(model, &SessionOptions::default())
}

/// A model of one node with inputs of these types, of as many dimensions as `ranks` says, or of one.
fn node(
    op: &str,
    inputs: &[DType],
    ranks: &[usize],
    attributes: &[(&str, AttributeValue)],
) -> ModelBuilder {
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("i{i}")).collect();
    let mut model = ModelBuilder::new(17).import(MICROSOFT, 1);
    for (at, (name, dtype)) in names.iter().zip(inputs).enumerate() {
        let rank = ranks.get(at).copied().unwrap_or(1);
        model = model.input(name, *dtype, &["?"; 4][..rank]);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut model = model.node(op, &names, &["y"]).domain(MICROSOFT);
    for (name, value) in attributes {
        model = model.attr(name, value.clone());
    }
    model.output("y", DType::F32)
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let int = AttributeValue::Int;
    let text = |text: &str| AttributeValue::String(text.as_bytes().to_vec());
    let heads = ("num_heads", int(2));
    let (f, i32) = (DType::F32, DType::I32);
    let cases: &[(&str, &[DType], &[(&str, AttributeValue)], &str)] = &[
        ("FusedMatMul", &[f, f], &[("transBatchA", int(1))], "transBatchA is 1; supported: 0"),
        (
            "FusedGemm",
            &[f, f],
            &[("activation", text("Sin"))],
            "activation \"Sin\" is not supported",
        ),
        ("FusedGemm", &[f, f], &[("activation", text("Clip"))], "Clip takes two parameters"),
        (
            "FusedGemm",
            &[f, f],
            &[("activation_gamma", AttributeValue::Float(1.0))],
            "activation_gamma is 1",
        ),
        (
            "FusedConv",
            &[f, f],
            &[("activation", text("Cos"))],
            "activation \"Cos\" is not supported",
        ),
        ("Attention", &[f, f, f], &[], "num_heads"),
        (
            "Attention",
            &[f, f, f],
            &[heads.clone(), ("do_rotary", int(1))],
            "do_rotary is 1; supported: 0",
        ),
        (
            "Attention",
            &[f, f, f],
            &[heads.clone(), ("past_present_share_buffer", int(1))],
            "past_present_share_buffer is 1; supported: 0",
        ),
        (
            "Attention",
            &[f, f, f, i32, f, f, i32],
            std::slice::from_ref(&heads),
            "takes at most 6 inputs, got 7",
        ),
        (
            "MultiHeadAttention",
            &[f],
            std::slice::from_ref(&heads),
            "input 1 of MultiHeadAttention is missing",
        ),
        (
            "EmbedLayerNormalization",
            &[i32, i32, f, f],
            &[],
            "input 5 of EmbedLayerNormalization is missing",
        ),
        ("QLinearSoftmax", &[DType::U8, f, DType::U8, f, DType::U8], &[], "opset"),
        (
            "QLinearConcat",
            &[f, DType::U8, DType::U8, f],
            &[("axis", int(0))],
            "4 inputs; two and three for each part",
        ),
        ("Gelu", &[i32], &[], "has element type i32; supported: f32 f16 f64 bf16"),
    ];
    for (op, inputs, attributes, expected) in cases {
        let error = load(node(op, inputs, &[], attributes)).err().map(|e| e.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains(expected) && error.contains(op), "{op}: {error}");
    }
}

#[test]
fn a_softmax_with_a_bias_is_one_over_all_dimensions_from_the_axis_on() {
    let numbers = |n: usize, seed: usize| -> Vec<f32> {
        (0..n).map(|i| ((i * 7 + seed) % 11) as f32 / 4.0).collect()
    };
    for (axis, cols) in [(2, 12), (3, 4), (-1, 4)] {
        let attributes =
            [("axis", AttributeValue::Int(axis)), ("is_inner_broadcast", AttributeValue::Int(1))];
        let session = load(node("BiasSoftmax", &[DType::F32; 2], &[4, 4], &attributes)).unwrap();
        let (x, bias) = (numbers(48, 1), numbers(24, 5));
        let tensors = [
            Tensor::from_slice(&x, &[2, 2, 3, 4]).unwrap(),
            Tensor::from_slice(&bias, &[2, 1, 3, 4]).unwrap(),
        ];
        let given = [("i0", tensors[0].view()), ("i1", tensors[1].view())];
        let y = session.run(&given, &[]).unwrap().remove(0);
        assert_eq!(&*y.shape(), [2, 2, 3, 4]);
        let sums: Vec<f64> =
            (0..48).map(|at| f64::from(x[at] + bias[at / 24 * 12 + at % 12]).exp()).collect();
        for (at, y) in y.as_slice::<f32>().unwrap().iter().enumerate() {
            let row = &sums[at / cols * cols..][..cols];
            let expected = sums[at] / row.iter().sum::<f64>();
            assert!((f64::from(*y) - expected).abs() < 1e-6, "axis {axis} at {at}: {y} {expected}");
        }
    }
}

#[test]
fn a_mask_of_another_form_is_an_error_that_tells_which_are_known() {
    let types = [DType::F32, DType::F32, DType::F32, DType::I32];
    let heads = [("num_heads", AttributeValue::Int(2))];
    let x = Tensor::from_slice(&[0.5f32; 24], &[2, 3, 4]).unwrap();
    let w = Tensor::from_slice(&[0.25f32; 48], &[4, 12]).unwrap();
    let b = Tensor::from_slice(&[0f32; 12], &[12]).unwrap();
    for (dims, fits) in
        [(vec![2, 3], true), (vec![2], true), (vec![2, 4], false), (vec![2, 1, 3, 3], false)]
    {
        let session = load(node("Attention", &types, &[3, 2, 1, dims.len()], &heads)).unwrap();
        let mask = Tensor::from_slice(&vec![1i32; dims.iter().product()], &dims).unwrap();
        let given = [("i0", x.view()), ("i1", w.view()), ("i2", b.view()), ("i3", mask.view())];
        match session.run(&given, &[]) {
            Ok(_) => assert!(fits, "{dims:?}"),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    !fits && text.contains("supported: [batch], [2 * batch]"),
                    "{dims:?}: {text}"
                );
            }
        }
    }
}
