//! How far two tensors lie apart.

use serde_json::{Value, json};
use stead_tensor::{Shape, Tensor};

use crate::conformance::Tolerance;
use crate::values::{double, numbers};

/// What lies between a tensor and the expected one.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Numbers of one type and shape.
    Numbers(Numbers),
    /// Equal, and not numbers.
    Same,
    /// Type, shape or elements that are not numbers differ, in words.
    Other(String),
}

/// Differences of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// The largest absolute difference, infinite where one of two is not a number.
    pub max_abs: f64,
    /// The largest of the differences over the expected number, where that is not 0.
    pub max_rel: f64,
    /// The cosine of the angle between both; nothing where one has no length.
    pub cosine: Option<f64>,
    /// Where the largest absolute difference is: the index in each dimension, and both numbers there.
    pub place: Option<(Vec<usize>, f64, f64)>,
    /// Elements beyond the tolerance.
    pub beyond: usize,
}

impl Difference {
    /// What lies between `actual` and `expected`.
    pub fn between(actual: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Difference {
        if actual.dtype() != expected.dtype() {
            let (own, other) = (actual.dtype(), expected.dtype());
            return Difference::Other(format!("type {own}, and {other} there"));
        }
        if actual.shape() != expected.shape() {
            let (own, other) = (actual.shape(), expected.shape());
            return Difference::Other(format!(
                "shape {:?}, and {:?} there",
                own.dims(),
                other.dims()
            ));
        }
        let (Some(own), Some(other)) = (numbers(actual.view()), numbers(expected.view())) else {
            return match actual == expected {
                true => Difference::Same,
                false => Difference::Other("elements differ".to_owned()),
            };
        };
        let tolerance = tolerance.for_type(actual.dtype());
        Difference::Numbers(Numbers::between(&own, &other, actual.shape(), tolerance))
    }

    /// Whether everything is within the tolerance.
    pub fn agrees(&self) -> bool {
        match self {
            Difference::Numbers(numbers) => numbers.beyond == 0,
            Difference::Same => true,
            Difference::Other(_) => false,
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        match self {
            Difference::Numbers(n) => json!({
                "agrees": n.beyond == 0,
                "max_abs": double(n.max_abs),
                "max_rel": double(n.max_rel),
                "cosine": n.cosine.map(double),
                "at": n.place.as_ref().map(|(at, ..)| at),
                "stead": n.place.as_ref().map(|(_, own, _)| double(*own)),
                "other": n.place.as_ref().map(|(.., other)| double(*other)),
                "beyond": n.beyond,
            }),
            Difference::Same => json!({"agrees": true}),
            Difference::Other(text) => json!({"agrees": false, "text": text}),
        }
    }

    /// The columns of a table: the largest differences and the cosine.
    pub fn columns(&self) -> String {
        match self {
            Difference::Numbers(n) => {
                let cosine = n.cosine.map_or_else(|| "-".to_owned(), |c| format!("{c:.8}"));
                format!("{:>9.2e} {:>9.2e} {cosine:>11}", n.max_abs, n.max_rel)
            }
            Difference::Same => format!("{:>9} {:>9} {:>11}", "same", "", ""),
            Difference::Other(_) => format!("{:>9} {:>9} {:>11}", "-", "-", "-"),
        }
    }

    /// Where the largest difference is, or what differs; empty where nothing does.
    pub fn place(&self) -> String {
        match self {
            Difference::Numbers(Numbers { place: Some((at, own, other)), .. }) => {
                format!(", most at {at:?}: {own}, and {other} there")
            }
            Difference::Numbers(_) | Difference::Same => String::new(),
            Difference::Other(text) => format!(", {text}"),
        }
    }
}

impl Numbers {
    fn between(own: &[f64], other: &[f64], shape: Shape, tolerance: Tolerance) -> Numbers {
        let mut made = Numbers { max_abs: 0.0, max_rel: 0.0, cosine: None, place: None, beyond: 0 };
        let (mut dot, mut squares) = (0.0, [0.0, 0.0]);
        let mut largest = None;
        for (at, (&a, &e)) in own.iter().zip(other).enumerate() {
            let same = a == e || (a.is_nan() && e.is_nan());
            let apart = if same { 0.0 } else { (a - e).abs() };
            let apart = if apart.is_nan() { f64::INFINITY } else { apart };
            if apart > made.max_abs {
                made.max_abs = apart;
                largest = Some((at, a, e));
            }
            if e != 0.0 && apart > 0.0 {
                let relative = apart / e.abs();
                made.max_rel =
                    made.max_rel.max(if relative.is_nan() { f64::INFINITY } else { relative });
            }
            made.beyond += usize::from(!tolerance.accepts(a, e));
            dot += a * e;
            squares = [squares[0] + a * a, squares[1] + e * e];
        }
        let length = squares[0].sqrt() * squares[1].sqrt();
        made.cosine = (length > 0.0 && length.is_finite()).then(|| dot / length);
        made.place = largest.map(|(at, a, e)| (index(at, shape), a, e));
        made
    }
}

/// The index in each dimension of an element by its place in memory.
fn index(mut at: usize, shape: Shape) -> Vec<usize> {
    let mut index = vec![0; shape.rank()];
    for (place, &size) in index.iter_mut().zip(shape.dims()).rev() {
        *place = at % size.max(1);
        at /= size.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f32], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    fn numbers_of(actual: &[f32], expected: &[f32]) -> Numbers {
        let tolerance = Tolerance { rtol: 0.0, atol: 0.1 };
        let dims = [2, actual.len() / 2];
        match Difference::between(&of(actual, &dims), &of(expected, &dims), tolerance) {
            Difference::Numbers(numbers) => numbers,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_largest_difference_has_a_place() {
        let n = numbers_of(&[1.0, 2.0, 3.0, 4.5], &[1.0, 2.5, 3.0, 4.0]);
        assert_eq!((n.max_abs, n.max_rel, n.beyond), (0.5, 0.2, 2));
        assert_eq!(n.place, Some((vec![0, 1], 2.0, 2.5)), "the first of two");
        assert!(n.cosine.unwrap() > 0.98);
        let n = numbers_of(&[0.0, 1.0, f32::NAN, 1.0], &[0.0, 1.0, 1.0, 1.0]);
        assert_eq!((n.max_abs, n.beyond, n.cosine), (f64::INFINITY, 1, None));
        assert_eq!(n.place.unwrap().0, [1, 0]);
        let n =
            numbers_of(&[f32::NAN, f32::INFINITY, 0.0, 0.0], &[f32::NAN, f32::INFINITY, 0.0, 0.0]);
        assert_eq!((n.max_abs, n.beyond, n.place), (0.0, 0, None));
    }

    #[test]
    fn types_shapes_and_strings_are_not_measured() {
        let text = |a: &Tensor, b: &Tensor| match Difference::between(a, b, Tolerance::default()) {
            Difference::Other(text) => text,
            other => format!("{other:?}"),
        };
        let (row, column) = (of(&[1.0, 2.0], &[1, 2]), of(&[1.0, 2.0], &[2, 1]));
        assert_eq!(text(&row, &column), "shape [1, 2], and [2, 1] there");
        let whole = Tensor::from_slice(&[1i32, 2], &[1, 2]).unwrap();
        assert_eq!(text(&row, &whole), "type f32, and i32 there");
        let strings = |s: &str| Tensor::from_strings(vec![s.into()], &[1]).unwrap();
        assert_eq!(text(&strings("a"), &strings("b")), "elements differ");
        assert_eq!(text(&strings("a"), &strings("a")), "Same");
    }
}
