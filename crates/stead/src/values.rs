//! Elements of tensors as numbers, for people, JSON and comparisons.

use half::{bf16, f16};
use serde_json::Value;
use stead_tensor::{DType, TensorView};

/// Elements that a preview shows.
const PREVIEW: usize = 8;

/// The elements as doubles, parts of complex numbers one after the other; `None` for strings and types that
/// have no numeric reading here.
pub fn numbers(view: TensorView<'_>) -> Option<Vec<f64>> {
    let bytes = view.bytes();
    macro_rules! read {
        ($type:ty) => {{
            let (chunks, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            chunks.iter().map(|c| <$type>::from_le_bytes(*c) as f64).collect()
        }};
    }
    Some(match view.dtype() {
        DType::F32 | DType::C64 => read!(f32),
        DType::F64 | DType::C128 => read!(f64),
        DType::F16 => halves(bytes, |bits| f16::from_bits(bits).to_f64()),
        DType::BF16 => halves(bytes, |bits| bf16::from_bits(bits).to_f64()),
        DType::I8 => read!(i8),
        DType::I16 => read!(i16),
        DType::I32 => read!(i32),
        DType::I64 => read!(i64),
        DType::U8 => read!(u8),
        DType::U16 => read!(u16),
        DType::U32 => read!(u32),
        DType::U64 => read!(u64),
        DType::Bool => bytes.iter().map(|&b| f64::from(u8::from(b != 0))).collect(),
        _ => return None,
    })
}

fn halves(bytes: &[u8], read: impl Fn(u16) -> f64) -> Vec<f64> {
    let (chunks, _) = bytes.as_chunks::<2>();
    chunks.iter().map(|c| read(u16::from_le_bytes(*c))).collect()
}

/// A flat JSON array of the elements. Integers stay exact; numbers that JSON cannot write become strings.
pub fn json_of(view: TensorView<'_>) -> Value {
    let integers =
        |read: fn(&[u8; 8]) -> Value| view.bytes().as_chunks::<8>().0.iter().map(read).collect();
    match view.dtype() {
        DType::String => {
            let text = |s: &Vec<u8>| Value::from(String::from_utf8_lossy(s).into_owned());
            view.strings().iter().map(text).collect()
        }
        DType::I64 => integers(|c| Value::from(i64::from_le_bytes(*c))),
        DType::U64 => integers(|c| Value::from(u64::from_le_bytes(*c))),
        DType::Bool => view.bytes().iter().map(|&b| Value::from(b != 0)).collect(),
        DType::F32 => {
            view.bytes().as_chunks::<4>().0.iter().map(|c| float(f32::from_le_bytes(*c))).collect()
        }
        dtype => match numbers(view) {
            Some(values) if dtype.is_int() => {
                values.iter().map(|&v| Value::from(v as i64)).collect()
            }
            Some(values) => values.iter().map(|&v| double(v)).collect(),
            None => Value::Null,
        },
    }
}

/// The shortest decimal that reads back as the same `f32`.
fn float(value: f32) -> Value {
    if value.is_finite() {
        value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
    } else {
        double(f64::from(value))
    }
}

/// A JSON number; a string where JSON has none for it.
pub fn double(value: f64) -> Value {
    serde_json::Number::from_f64(value)
        .map_or_else(|| Value::from(value.to_string()), Value::Number)
}

/// The first elements, and of numbers the range and the mean.
pub fn preview(view: TensorView<'_>) -> String {
    let count = view.shape().elements();
    let dots = if count > PREVIEW { ", ..." } else { "" };
    if view.dtype() == DType::String {
        let texts: Vec<String> = view
            .strings()
            .iter()
            .take(PREVIEW)
            .map(|s| format!("{:?}", String::from_utf8_lossy(s)))
            .collect();
        return format!("[{}{dots}]", texts.join(", "));
    }
    let Some(values) = numbers(view) else {
        return format!("({} bytes)", view.bytes().len());
    };
    let shown: Vec<String> = values.iter().take(PREVIEW).map(|v| short(*v)).collect();
    let mut text = format!("[{}{dots}]", shown.join(", "));
    if count > PREVIEW {
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        text += &format!("  min {} max {} mean {}", short(min), short(max), short(mean));
    }
    text
}

fn short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value}")
    } else {
        format!("{value:.6}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use stead_tensor::{Bool, Tensor};

    #[test]
    fn elements_are_exact_in_json() {
        let cases = [
            (Tensor::from_slice(&[0.1f32, f32::NAN], &[2]).unwrap(), json!([0.1, "NaN"])),
            (Tensor::from_slice(&[i64::MAX], &[1]).unwrap(), json!([i64::MAX])),
            (Tensor::from_slice(&[u64::MAX], &[1]).unwrap(), json!([u64::MAX])),
            (Tensor::from_slice(&[Bool(1), Bool(0)], &[2]).unwrap(), json!([true, false])),
            (Tensor::from_slice(&[-3i8], &[1]).unwrap(), json!([-3])),
            (Tensor::from_slice(&[f16::from_f32(0.5)], &[1]).unwrap(), json!([0.5])),
            (Tensor::from_strings(vec![b"a".to_vec()], &[1]).unwrap(), json!(["a"])),
        ];
        for (tensor, expected) in cases {
            assert_eq!(json_of(tensor.view()), expected);
        }
    }

    #[test]
    fn previews_are_short() {
        let few = Tensor::from_slice(&[1.5f32, 2.0], &[2]).unwrap();
        assert_eq!(preview(few.view()), "[1.500000, 2]");
        let many = Tensor::from_slice(&[2i32; 10], &[10]).unwrap();
        assert_eq!(preview(many.view()), "[2, 2, 2, 2, 2, 2, 2, 2, ...]  min 2 max 2 mean 2");
    }
}
