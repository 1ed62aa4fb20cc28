//! Whether a result is the expected one.

use stead_engine::Value;
use stead_onnx::pb;
use stead_tensor::{DType, Tensor};

use crate::values::numbers;

/// How far numbers may lie apart: `|actual - expected| <= atol + rtol * |expected|`, as in
/// `numpy.testing.assert_allclose`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Relative part.
    pub rtol: f64,
    /// Absolute part.
    pub atol: f64,
}

impl Default for Tolerance {
    /// What the ONNX backend suite uses.
    fn default() -> Self {
        Tolerance { rtol: 1e-3, atol: 1e-7 }
    }
}

/// The suite allows `bf16` two units in the last place of its 8 significant bits.
const BF16_RTOL: f64 = 1.0 / 64.0;

impl Tolerance {
    /// The tolerance for elements of a type.
    pub fn for_type(self, dtype: DType) -> Tolerance {
        match dtype {
            DType::BF16 => Tolerance { rtol: self.rtol.max(BF16_RTOL), ..self },
            _ => self,
        }
    }

    /// Whether a number is the expected one.
    pub fn accepts(self, actual: f64, expected: f64) -> bool {
        (actual.is_nan() && expected.is_nan())
            || actual == expected
            || (expected.is_finite()
                && (actual - expected).abs() <= self.atol + self.rtol * expected.abs())
    }
}

/// Compares what the engine gave with the value of a test.
///
/// # Errors
/// A text that says what differs and where.
pub fn compare(
    actual: &Value<Tensor>,
    expected: &pb::Value,
    tolerance: Tolerance,
) -> Result<(), String> {
    match (expected, actual) {
        (pb::Value::Optional(Some(inner)), _) => compare(actual, inner, tolerance),
        (pb::Value::Optional(None), Value::Nothing) => Ok(()),
        (pb::Value::Tensor(expected), Value::Tensor(actual)) => {
            compare_tensors(actual, expected, tolerance)
        }
        (pb::Value::Sequence(expected), Value::Sequence(actual)) => {
            if expected.len() != actual.len() {
                let (want, got) = (expected.len(), actual.len());
                return Err(format!("a sequence of {want} expected, got one of {got}"));
            }
            for (at, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                let actual = Value::Tensor(actual.clone());
                compare(&actual, expected, tolerance).map_err(|e| format!("element {at}: {e}"))?;
            }
            Ok(())
        }
        (expected, actual) => {
            let want = match expected {
                pb::Value::Tensor(_) => "a tensor",
                pb::Value::Sequence(_) => "a sequence",
                pb::Value::Map { .. } => "a map",
                pb::Value::Optional(_) => "nothing",
            };
            Err(format!("{want} expected, got {}", actual.noun()))
        }
    }
}

fn compare_tensors(actual: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Result<(), String> {
    if actual.dtype() != expected.dtype() {
        return Err(format!("type {} expected, got {}", expected.dtype(), actual.dtype()));
    }
    if actual.shape() != expected.shape() {
        let (want, got) = (expected.shape(), actual.shape());
        return Err(format!("shape {:?} expected, got {:?}", want.dims(), got.dims()));
    }
    let (Some(got), Some(want)) = (numbers(actual.view()), numbers(expected.view())) else {
        // Strings and packed types have no tolerance.
        return if actual == expected { Ok(()) } else { Err("elements differ".to_owned()) };
    };
    let tolerance = tolerance.for_type(actual.dtype());
    let wrong =
        || got.iter().zip(&want).enumerate().filter(|(_, (a, e))| !tolerance.accepts(**a, **e));
    match wrong().next() {
        None => Ok(()),
        Some((at, (a, e))) => {
            let count = wrong().count();
            Err(format!(
                "{count} of {} elements differ, first [{at}]: {e} expected, got {a}",
                got.len()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    fn check<T: stead_tensor::Element>(actual: &[T], expected: &[T]) -> bool {
        let tensor = |v: &[T]| Tensor::from_slice(v, &[v.len()]).unwrap();
        compare_tensors(&tensor(actual), &tensor(expected), Tolerance::default()).is_ok()
    }

    #[test]
    fn tolerances_are_those_of_the_suite() {
        let inf = f32::INFINITY;
        let cases: [(&str, f32, f32, bool); 9] = [
            ("equal", 1.0, 1.0, true),
            ("within rtol", 1.0009, 1.0, true),
            ("beyond rtol", 1.0011, 1.0, false),
            ("within atol", 9e-8, 0.0, true),
            ("beyond atol", 2e-7, 0.0, false),
            ("both nan", f32::NAN, f32::NAN, true),
            ("one nan", f32::NAN, 1.0, false),
            ("both infinite", inf, inf, true),
            ("other sign", -inf, inf, false),
        ];
        for (name, actual, expected, passes) in cases {
            assert_eq!(check(&[actual], &[expected]), passes, "{name}");
        }
        assert!(check(&[bf16::from_f32(1.0078)], &[bf16::from_f32(1.0)]));
        assert!(!check(&[bf16::from_f32(1.05)], &[bf16::from_f32(1.0)]));
        assert!(!check(&[1i64], &[2]));
    }

    #[test]
    fn type_and_shape_must_agree() {
        let two = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        let column = Tensor::from_slice(&[1.0f32, 2.0], &[2, 1]).unwrap();
        let ints = Tensor::from_slice(&[1i32, 2], &[2]).unwrap();
        let check = |expected: Tensor| compare_tensors(&two, &expected, Tolerance::default());
        assert_eq!(check(column), Err("shape [2, 1] expected, got [2]".to_owned()));
        assert_eq!(check(ints), Err("type i32 expected, got f32".to_owned()));
        let other = Tensor::from_slice(&[1.0f32, 3.0], &[2]).unwrap();
        let text = "1 of 2 elements differ, first [1]: 3 expected, got 2";
        assert_eq!(check(other), Err(text.to_owned()));
    }

    #[test]
    fn sequences_and_optionals_are_compared_by_what_they_hold() {
        let tensor = |n: usize| Tensor::from_slice(&vec![1.0f32; n], &[n]).unwrap();
        let file = |n: usize| pb::Value::Tensor(tensor(n));
        let some = |value| pb::Value::Optional(Some(Box::new(value)));
        let list = |lens: &[usize]| Value::Sequence(lens.iter().map(|&n| tensor(n)).collect());
        let listed = |lens: &[usize]| pb::Value::Sequence(lens.iter().map(|&n| file(n)).collect());
        let cases = [
            (Value::Tensor(tensor(2)), some(file(2)), ""),
            (Value::Nothing, pb::Value::Optional(None), ""),
            (Value::Nothing, some(file(2)), "a tensor expected, got nothing"),
            (Value::Tensor(tensor(2)), pb::Value::Optional(None), "nothing expected, got a tensor"),
            (list(&[1, 0, 2]), some(listed(&[1, 0, 2])), ""),
            (list(&[]), listed(&[]), ""),
            (list(&[1]), listed(&[1, 2]), "a sequence of 2 expected, got one of 1"),
            (list(&[1, 3]), listed(&[1, 2]), "element 1: shape [2] expected, got [3]"),
            (list(&[1]), file(1), "a tensor expected, got a sequence"),
        ];
        for (actual, expected, text) in cases {
            let result = compare(&actual, &expected, Tolerance::default());
            assert_eq!(result.err().unwrap_or_default(), text, "{actual:?} {expected:?}");
        }
    }
}
