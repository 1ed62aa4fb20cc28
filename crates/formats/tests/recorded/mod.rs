//! Tensors that other libraries computed, recorded as JSON.

use serde_json::Value;
use stead_tensor::{DType, Tensor};

pub fn dims(value: &Value) -> Vec<usize> {
    value["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as usize).collect()
}

pub fn numbers(value: &Value) -> Vec<f64> {
    let number =
        |v: &Value| v.as_f64().unwrap_or_else(|| f64::from(u8::from(v.as_bool().unwrap())));
    value["data"].as_array().unwrap().iter().map(number).collect()
}

pub fn input(value: &Value) -> Tensor {
    let (dims, numbers) = (dims(value), numbers(value));
    match value["type"].as_str().unwrap() {
        "float32" => {
            Tensor::from_slice(&numbers.iter().map(|&v| v as f32).collect::<Vec<_>>(), &dims)
        }
        "int32" => {
            Tensor::from_slice(&numbers.iter().map(|&v| v as i32).collect::<Vec<_>>(), &dims)
        }
        "int64" => {
            Tensor::from_slice(&numbers.iter().map(|&v| v as i64).collect::<Vec<_>>(), &dims)
        }
        other => panic!("{other}"),
    }
    .unwrap()
}

pub fn output(tensor: &Tensor) -> (&'static str, Vec<f64>) {
    match tensor.dtype() {
        DType::F32 => {
            ("float32", tensor.as_slice::<f32>().unwrap().iter().map(|&v| v.into()).collect())
        }
        DType::I32 => {
            ("int32", tensor.as_slice::<i32>().unwrap().iter().map(|&v| v.into()).collect())
        }
        DType::I64 => {
            ("int64", tensor.as_slice::<i64>().unwrap().iter().map(|&v| v as f64).collect())
        }
        DType::Bool => ("bool", tensor.bytes().iter().map(|&v| v.into()).collect()),
        other => panic!("{other}"),
    }
}

/// What is wrong with a result, or nothing.
pub fn complaint(result: &Tensor, expected: &Value, tolerance: f64) -> Option<String> {
    let (ty, values) = output(result);
    if result.shape().dims() != dims(expected) || expected["type"] != ty {
        let wanted = (&expected["type"], dims(expected));
        return Some(format!("{ty}{} for {wanted:?}", result.shape()));
    }
    let near = |(a, b): (&f64, &f64)| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < tolerance * b.abs().max(1.0)
    };
    let expected = numbers(expected);
    let is_near = values.iter().zip(&expected).all(near);
    (!is_near).then(|| format!("{values:?} for {expected:?}"))
}
