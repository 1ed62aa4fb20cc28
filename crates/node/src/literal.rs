//! Literals of the configuration as tensors of the model's type.

use half::{bf16, f16};
use stead_app::{Literal, Scalar};
use stead_tensor::{Bool, DType, Tensor, TensorError};

/// The literal as a tensor of `dtype`.
///
/// # Errors
/// In words, when a value does not fit the type or the type has no literals.
pub(crate) fn tensor_of(literal: &Literal, dtype: DType) -> Result<Tensor, String> {
    let values = &literal.values;
    let dims = &literal.dims;
    let made = match dtype {
        DType::F32 => {
            Tensor::from_slice(&all(values, dtype, |v| float(v).map(|f| f as f32))?, dims)
        }
        DType::F64 => Tensor::from_slice(&all(values, dtype, float)?, dims),
        DType::F16 => {
            Tensor::from_slice(&all(values, dtype, |v| float(v).map(f16::from_f64))?, dims)
        }
        DType::BF16 => {
            Tensor::from_slice(&all(values, dtype, |v| float(v).map(bf16::from_f64))?, dims)
        }
        DType::I8 => integers::<i8>(literal, dtype)?,
        DType::I16 => integers::<i16>(literal, dtype)?,
        DType::I32 => integers::<i32>(literal, dtype)?,
        DType::I64 => integers::<i64>(literal, dtype)?,
        DType::U8 => integers::<u8>(literal, dtype)?,
        DType::U16 => integers::<u16>(literal, dtype)?,
        DType::U32 => integers::<u32>(literal, dtype)?,
        DType::U64 => integers::<u64>(literal, dtype)?,
        DType::Bool => {
            let read = |v: &Scalar| match v {
                Scalar::Bool(b) => Some(Bool(u8::from(*b))),
                Scalar::Int(i @ (0 | 1)) => Some(Bool(u8::from(*i == 1))),
                _ => None,
            };
            Tensor::from_slice(&all(values, dtype, read)?, dims)
        }
        DType::String => {
            let read = |v: &Scalar| match v {
                Scalar::Str(s) => Some(s.clone().into_bytes()),
                _ => None,
            };
            Tensor::from_strings(all(values, dtype, read)?, dims)
        }
        other => return Err(format!("values of type {other} cannot be written as text")),
    };
    made.map_err(|e| e.to_string())
}

fn all<T>(
    values: &[Scalar],
    dtype: DType,
    read: impl Fn(&Scalar) -> Option<T>,
) -> Result<Vec<T>, String> {
    values
        .iter()
        .map(|v| read(v).ok_or_else(|| format!("{v:?} is no value of type {dtype}")))
        .collect()
}

fn float(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Int(i) => Some(*i as f64),
        Scalar::Float(f) => Some(*f),
        _ => None,
    }
}

fn integers<T: stead_tensor::Element + TryFrom<i128>>(
    literal: &Literal,
    dtype: DType,
) -> Result<Result<Tensor, TensorError>, String> {
    let read = |v: &Scalar| match v {
        Scalar::Int(i) => T::try_from(*i).ok(),
        // `16000.0` is an integer as well.
        Scalar::Float(f) if f.fract() == 0.0 && f.abs() < 1e15 => T::try_from(*f as i128).ok(),
        _ => None,
    };
    Ok(Tensor::from_slice(&all(&literal.values, dtype, read)?, &literal.dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_models_type_or_are_refused() {
        let scalar = |v: Scalar| Literal { dims: vec![], values: vec![v] };
        let cases = [
            (Scalar::Int(16000), DType::I64, true),
            (Scalar::Int(16000), DType::F32, true),
            (Scalar::Int(300), DType::U8, false),
            (Scalar::Float(2.0), DType::I32, true),
            (Scalar::Float(2.5), DType::I32, false),
            (Scalar::Bool(true), DType::Bool, true),
            (Scalar::Bool(true), DType::F32, false),
            (Scalar::Str("x".into()), DType::String, true),
            (Scalar::Int(1), DType::U4, false),
        ];
        for (value, dtype, ok) in cases {
            let got = tensor_of(&scalar(value.clone()), dtype);
            assert_eq!(got.is_ok(), ok, "{value:?} as {dtype}");
            if let Ok(t) = got {
                assert_eq!(t.dtype(), dtype);
            }
        }
        let f = tensor_of(&scalar(Scalar::Float(0.5)), DType::F16).unwrap();
        assert_eq!(f.as_slice::<f16>().unwrap(), [f16::from_f32(0.5)]);
    }
}
