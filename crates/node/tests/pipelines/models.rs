//! The models that the pipelines join.

use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

pub fn f32s(dims: &[&str]) -> ValueType {
    ValueType::tensor(DType::F32, Some(dims_of(dims)))
}

/// y = x + `add`.
pub fn adder(add: f32, dims: &[&str]) -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, dims)
        .init("k", Tensor::from_slice(&[add], &[1]).unwrap())
        .node("Add", &["x", "k"], &["y"])
        .output_of("y", f32s(dims))
        .bytes()
}

/// difference = a - b, product = a * b.
pub fn two() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("a", DType::F32, &["n", "1"])
        .input("b", DType::F32, &["n", "1"])
        .node("Sub", &["a", "b"], &["difference"])
        .node("Mul", &["a", "b"], &["product"])
        .output_of("difference", f32s(&["n", "1"]))
        .output_of("product", f32s(&["n", "1"]))
        .bytes()
}

/// The sum over the first dimension.
pub fn total() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["m", "n", "1"])
        .init("axes", Tensor::from_slice(&[0i64], &[1]).unwrap())
        .node("ReduceSum", &["x", "axes"], &["y"])
        .attr("keepdims", 0)
        .output_of("y", f32s(&["n", "1"]))
        .bytes()
}

/// The state is the sum of all inputs, and the output is the state. It fails for inputs of 100 and more, after the
/// sum was made.
pub fn summator() -> Vec<u8> {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["1", "1"])
        .input("sum", DType::F32, &["1", "1"])
        .init("table", Tensor::from_slice(&[0f32; 100], &[100]).unwrap())
        .node("Add", &["x", "sum"], &["sum_out"])
        .node("Cast", &["x"], &["index"])
        .attr("to", 7)
        .node("Gather", &["table", "index"], &["zero"])
        .node("Add", &["sum_out", "zero"], &["y"])
        .output_of("y", f32s(&["1", "1"]))
        .output_of("sum_out", f32s(&["1", "1"]))
        .bytes()
}
