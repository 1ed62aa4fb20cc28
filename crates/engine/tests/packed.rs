//! Elements of less than a byte, packed, as inputs and outputs of models.
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{LoadError, LoadOptions, Model, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

fn load(model: ModelBuilder) -> Result<Session, LoadError> {
    let model = Model::from_onnx(model.build().unwrap(), &LoadOptions::default())?;
    Session::new(model, &SessionOptions::default())
}

/// A tensor of codes, one for each element.
fn packed(dtype: DType, codes: &[u8], dims: &[usize]) -> Tensor {
    let (bits, shape) = (dtype.bits(), Shape::new(dims).unwrap());
    let mut bytes = vec![0u8; shape.byte_len(dtype)];
    for (i, code) in codes.iter().enumerate() {
        bytes[i * bits / 8] |= code << (i * bits % 8);
    }
    Tensor::from_buffer(dtype, shape, AlignedBuf::copy_of(&bytes).unwrap()).unwrap()
}

fn run(session: &Session, x: &Tensor) -> Tensor {
    session.run(&[("x", x.view())], &[]).unwrap().remove(0)
}

#[test]
fn elements_are_moved_whole() {
    let cases: [(DType, &[usize]); 8] = [
        (DType::U4, &[3, 5]),
        (DType::I4, &[1, 7]),
        (DType::F4E2M1, &[4, 4]),
        (DType::U2, &[3, 5]),
        (DType::I2, &[5, 2]),
        (DType::U2, &[2, 3, 3]),
        (DType::I4, &[0, 3]),
        (DType::U4, &[1, 1]),
    ];
    for (dtype, dims) in cases {
        let count: usize = dims.iter().product();
        let mask = (1u8 << dtype.bits()) - 1;
        let codes: Vec<u8> = (0..count).map(|i| (i * 7 + 3) as u8 & mask).collect();
        let x = packed(dtype, &codes, dims);
        let names: Vec<&str> = ["a", "b", "c"][..dims.len()].to_vec();
        let model =
            |op: &str| ModelBuilder::new(25).input("x", dtype, &names).node(op, &["x"], &["y"]);
        let same = run(&load(model("Identity").output("y", dtype)).unwrap(), &x);
        assert_eq!(same, x, "Identity of {dtype} {dims:?}");
        let flat = run(&load(model("Flatten").output("y", dtype)).unwrap(), &x);
        let columns = dims[1..].iter().product();
        assert_eq!(flat, packed(dtype, &codes, &[dims[0], columns]), "Flatten of {dtype} {dims:?}");
        let turned = run(&load(model("Transpose").output("y", dtype)).unwrap(), &x);
        let back: Vec<usize> = dims.iter().rev().copied().collect();
        let mut expected = vec![0; count];
        for (i, code) in codes.iter().enumerate() {
            // The position of element `i` with its indices in the other order.
            let (mut rest, mut at, mut stride) = (i, 0, count);
            for &dim in dims.iter().rev() {
                stride /= dim;
                at += rest % dim * stride;
                rest /= dim;
            }
            expected[at] = *code;
        }
        assert_eq!(turned, packed(dtype, &expected, &back), "Transpose of {dtype} {dims:?}");
    }
}

#[test]
fn bits_are_taken_for_another_type() {
    let codes = [15, 8, 7, 0, 1];
    // (input, type, output)
    let cases = [
        (packed(DType::U4, &codes, &[5]), packed(DType::I4, &codes, &[5])),
        (packed(DType::I4, &codes, &[5]), packed(DType::F4E2M1, &codes, &[5])),
        (
            Tensor::from_slice(&[1.0f32, f32::NAN, -0.0], &[3]).unwrap(),
            Tensor::from_slice(&[0x3f80_0000u32, f32::NAN.to_bits(), 1 << 31], &[3]).unwrap(),
        ),
        (
            Tensor::from_slice(&[u64::MAX, 1], &[2]).unwrap(),
            Tensor::from_slice(&[-1i64, 1], &[2]).unwrap(),
        ),
    ];
    for (from, to) in cases {
        let model = || ModelBuilder::new(26).output("y", to.dtype());
        let cast =
            |model: ModelBuilder| model.node("BitCast", &["x"], &["y"]).attr("to", to.dtype());
        let given = load(cast(model().input("x", from.dtype(), &["n"]))).unwrap();
        assert_eq!(run(&given, &from), to, "{} as {}", from.dtype(), to.dtype());
        let known = load(cast(model().init("x", from.clone()))).unwrap();
        assert_eq!(known.run(&[], &[]).unwrap().first(), Some(&to), "constant {}", from.dtype());
    }
}

#[test]
fn a_shape_is_filled() {
    for count in [0, 1, 4, 5] {
        let model = ModelBuilder::new(25)
            .input("x", DType::I64, &["1"])
            .node("ConstantOfShape", &["x"], &["y"])
            .attr("value", packed(DType::I2, &[3], &[1]))
            .output("y", DType::I2);
        let got = run(&load(model).unwrap(), &Tensor::from_slice(&[count as i64], &[1]).unwrap());
        assert_eq!(got, packed(DType::I2, &vec![3; count], &[count]), "{count} elements");
    }
}

#[test]
fn what_is_not_supported_is_named() {
    let x = |opset| ModelBuilder::new(opset).input("x", DType::U4, &["n", "4"]);
    let body = ModelBuilder::new(25)
        .input("i", DType::I64, &[])
        .input("c", DType::Bool, &[])
        .node("Identity", &["c"], &["more"])
        .node("Identity", &["x"], &["slice"])
        .output("more", DType::Bool)
        .output("slice", DType::U4)
        .graph();
    let cases = [
        (
            x(25).node("Concat", &["x", "x"], &["y"]).attr("axis", 0i64).output("y", DType::U4),
            "input 0 of Concat has element type u4",
        ),
        (
            x(25)
                .init("count", Tensor::scalar(2i64).unwrap())
                .node("Loop", &["count", ""], &["y"])
                .attr("body", AttributeValue::Graph(body))
                .output("y", DType::U4),
            "Loop collects elements of type u4 in output 0",
        ),
        (
            x(26).node("BitCast", &["x"], &["y"]).attr("to", DType::U8).output("y", DType::U8),
            "BitCast takes 4 bits of u4 for 8 of u8",
        ),
        (
            x(26)
                .node("BitCast", &["x"], &["y"])
                .attr("to", DType::String)
                .output("y", DType::String),
            "to names element type 8",
        ),
    ];
    for (model, text) in cases {
        let error = load(model).map(drop).unwrap_err().to_string();
        assert!(error.contains(text), "{error:?} has no {text:?}");
    }
}
