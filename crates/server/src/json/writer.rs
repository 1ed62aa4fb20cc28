//! Writing numbers, strings and nested arrays.

use half::{bf16, f16};
use std::io::Write;
use stead_tensor::Bool;

/// Appends a string with quotes and escapes.
pub fn write_str(out: &mut Vec<u8>, text: &str) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// An element type that can be written as a JSON value.
pub trait JsonWrite: Copy {
    /// Appends the value.
    fn write(self, out: &mut Vec<u8>);
}

macro_rules! by_serde {
    ($($t:ty),*) => {$(
        impl JsonWrite for $t {
            fn write(self, out: &mut Vec<u8>) {
                let _ = serde_json::to_writer(out, &self);
            }
        }
    )*};
}
by_serde!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl JsonWrite for $t {
            /// The shortest text that reads back as the same value. JSON has no words for what is not
            /// finite: `NaN` and `Infinity` are those that Triton, TensorFlow Serving and Python write.
            fn write(self, out: &mut Vec<u8>) {
                if self.is_finite() {
                    let _ = serde_json::to_writer(out, &self);
                } else if self.is_nan() {
                    out.extend_from_slice(b"NaN");
                } else {
                    let text: &[u8] = if self > 0.0 { b"Infinity" } else { b"-Infinity" };
                    out.extend_from_slice(text);
                }
            }
        }
    )*};
}
floats!(f32, f64);

impl JsonWrite for f16 {
    fn write(self, out: &mut Vec<u8>) {
        self.to_f32().write(out);
    }
}

impl JsonWrite for bf16 {
    fn write(self, out: &mut Vec<u8>) {
        self.to_f32().write(out);
    }
}

impl JsonWrite for Bool {
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.get() { b"true" } else { b"false" });
    }
}

/// Appends an unsigned integer.
pub fn write_number(out: &mut Vec<u8>, value: u64) {
    let _ = write!(out, "{value}");
}

/// Appends `[a,b,...]` without nesting.
pub fn write_flat<T: JsonWrite>(out: &mut Vec<u8>, values: &[T]) {
    out.reserve(values.len() * 8 + 2);
    out.push(b'[');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        value.write(out);
    }
    out.push(b']');
}

/// Appends an array nested by `dims`, row-major; `leaf` appends the value of an index. A scalar is written
/// bare.
pub fn write_nested(out: &mut Vec<u8>, dims: &[usize], leaf: &mut impl FnMut(&mut Vec<u8>, usize)) {
    write_level(out, dims, 0, leaf);
}

/// Recursion is bounded by the rank of a tensor.
fn write_level(
    out: &mut Vec<u8>,
    dims: &[usize],
    first: usize,
    leaf: &mut impl FnMut(&mut Vec<u8>, usize),
) {
    let Some((&dim, inner)) = dims.split_first() else {
        leaf(out, first);
        return;
    };
    let step: usize = inner.iter().product();
    out.push(b'[');
    for i in 0..dim {
        if i > 0 {
            out.push(b',');
        }
        write_level(out, inner, first + i * step, leaf);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat<T: JsonWrite>(values: &[T]) -> String {
        let mut out = Vec::new();
        write_flat(&mut out, values);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_as_text() {
        assert_eq!(flat(&[1.0f32, 0.1, -3.5e-20, 16777216.0]), "[1.0,0.1,-3.5e-20,16777216.0]");
        assert_eq!(
            flat(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1]),
            "[NaN,Infinity,-Infinity,0.1]"
        );
        assert_eq!(flat(&[f16::from_f32(0.5)]), "[0.5]");
        assert_eq!(flat(&[Bool(0), Bool(7)]), "[false,true]");
        assert_eq!(flat(&[u64::MAX, 0]), "[18446744073709551615,0]");
        assert_eq!(flat::<i8>(&[]), "[]");
    }

    #[test]
    fn nesting_follows_the_shape() {
        let cases: [(&[usize], &str); 5] = [
            (&[], "0"),
            (&[3], "[0,1,2]"),
            (&[2, 2], "[[0,1],[2,3]]"),
            (&[2, 0], "[[],[]]"),
            (&[1, 2, 1], "[[[0],[1]]]"),
        ];
        for (dims, expected) in cases {
            let mut out = Vec::new();
            write_nested(&mut out, dims, &mut |out, i| write_number(out, i as u64));
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
