//! Values written on the command line as JSON.

use half::{bf16, f16};
use serde_json::Value;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// A JSON number, string, boolean or nested array of them as a tensor of `dtype`.
///
/// # Errors
/// A text that names the first value that does not fit.
pub fn tensor(value: &Value, dtype: DType) -> Result<Tensor, String> {
    let dims = dims_of(value);
    let mut leaves = Vec::new();
    flatten(value, &dims, &mut leaves)?;
    if dtype == DType::String {
        let strings: Result<Vec<Vec<u8>>, String> = leaves.iter().map(|v| string(v)).collect();
        return Tensor::from_strings(strings?, &dims).map_err(|e| e.to_string());
    }
    let mut bytes = Vec::new();
    for leaf in leaves {
        push(&mut bytes, leaf, dtype)
            .ok_or_else(|| format!("{leaf} is not a value of type {dtype}"))?;
    }
    let shape = Shape::new(&dims).map_err(|e| e.to_string())?;
    let buf = AlignedBuf::copy_of(&bytes).map_err(|e| e.to_string())?;
    Tensor::from_buffer(dtype, shape, buf).map_err(|e| e.to_string())
}

/// The shape that the first element of each level suggests.
fn dims_of(value: &Value) -> Vec<usize> {
    let mut dims = Vec::new();
    let mut at = value;
    while let Value::Array(items) = at {
        dims.push(items.len());
        match items.first() {
            Some(first) => at = first,
            None => break,
        }
    }
    dims
}

/// All leaves in order; serde_json has bounded the depth already.
fn flatten<'a>(value: &'a Value, dims: &[usize], out: &mut Vec<&'a Value>) -> Result<(), String> {
    match (value, dims.split_first()) {
        (Value::Array(items), Some((&n, rest))) if items.len() == n => {
            items.iter().try_for_each(|item| flatten(item, rest, out))
        }
        (Value::Array(_), _) | (_, Some(_)) => Err("the nested arrays differ in length".to_owned()),
        (leaf, None) => {
            out.push(leaf);
            Ok(())
        }
    }
}

fn string(value: &Value) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        other => Err(format!("{other} is not a value of type string")),
    }
}

/// Appends the little-endian bytes of one value; `None` if the type cannot hold it.
fn push(out: &mut Vec<u8>, value: &Value, dtype: DType) -> Option<()> {
    macro_rules! int {
        ($type:ty) => {{
            let wide = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from))?;
            out.extend(<$type>::try_from(wide).ok()?.to_le_bytes())
        }};
    }
    match dtype {
        DType::F32 => out.extend((float(value)? as f32).to_le_bytes()),
        DType::F64 => out.extend(float(value)?.to_le_bytes()),
        DType::F16 => out.extend(f16::from_f64(float(value)?).to_le_bytes()),
        DType::BF16 => out.extend(bf16::from_f64(float(value)?).to_le_bytes()),
        DType::I8 => int!(i8),
        DType::I16 => int!(i16),
        DType::I32 => int!(i32),
        DType::I64 => int!(i64),
        DType::U8 => int!(u8),
        DType::U16 => int!(u16),
        DType::U32 => int!(u32),
        DType::U64 => int!(u64),
        DType::Bool => out.push(match value {
            Value::Bool(b) => u8::from(*b),
            other => u8::try_from(other.as_u64()?).ok().filter(|&b| b < 2)?,
        }),
        _ => return None,
    }
    Some(())
}

/// JSON has no words for these three; strings stand in.
fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_take_the_type_of_the_model() {
        let cases = [
            (json!(7), Tensor::scalar(7.0f32).unwrap()),
            (json!(7), Tensor::scalar(7i64).unwrap()),
            (
                json!([true, 0]),
                Tensor::from_slice(&[true, false].map(stead_tensor::Bool::from), &[2]).unwrap(),
            ),
            (json!([[1, 2], [3, 4]]), Tensor::from_slice(&[1i8, 2, 3, 4], &[2, 2]).unwrap()),
            (json!([]), Tensor::from_slice::<f32>(&[], &[0]).unwrap()),
            (
                json!(["a", "b"]),
                Tensor::from_strings(vec![b"a".to_vec(), b"b".to_vec()], &[2]).unwrap(),
            ),
            (json!("-Infinity"), Tensor::scalar(f32::NEG_INFINITY).unwrap()),
            (json!(18446744073709551615u64), Tensor::scalar(u64::MAX).unwrap()),
        ];
        for (value, expected) in cases {
            assert_eq!(tensor(&value, expected.dtype()), Ok(expected), "{value}");
        }
    }

    #[test]
    fn values_that_do_not_fit_are_named() {
        let cases = [
            (json!(300), DType::U8, "300 is not a value of type u8"),
            (json!(1.5), DType::I64, "1.5 is not a value of type i64"),
            (json!("x"), DType::F32, "\"x\" is not a value of type f32"),
            (json!([[1], [1, 2]]), DType::F32, "the nested arrays differ in length"),
            (json!([1, [2]]), DType::F32, "the nested arrays differ in length"),
        ];
        for (value, dtype, expected) in cases {
            assert_eq!(tensor(&value, dtype), Err(expected.to_owned()), "{value}");
        }
    }
}
