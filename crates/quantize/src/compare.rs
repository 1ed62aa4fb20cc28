//! How far the results of two models are apart.

use half::{bf16, f16};
use stead_engine::{RunContext, RunError, Session};
use stead_tensor::{DType, TensorView};

use crate::calibrate::views;
use crate::{QuantizeError, Run};

/// How far an output is off, over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The output.
    pub name: String,
    /// The largest difference of an element.
    pub max_abs: f64,
    /// The mean of the differences.
    pub mean_abs: f64,
    /// The largest magnitude in the output of the first model: what differences are to be seen beside.
    pub magnitude: f64,
    /// The cosine of the angle between both outputs as vectors; 1 for two that are zero.
    pub cosine: f64,
    /// Elements that were compared. Text and complex numbers are not.
    pub elements: usize,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    max: f64,
    total: f64,
    magnitude: f64,
    dot: f64,
    squares: [f64; 2],
    elements: usize,
}

/// Compares the outputs of `second` with those of `first` over the same runs; `done` is called after each.
///
/// # Errors
/// [`QuantizeError::Run`], [`QuantizeError::Outputs`].
pub fn compare(
    first: &Session,
    second: &Session,
    runs: &[Run],
    context: &RunContext<'_>,
    mut done: impl FnMut(),
) -> Result<Vec<Difference>, QuantizeError> {
    let names: Vec<&str> = first.model().outputs().iter().map(|o| o.name.as_str()).collect();
    if !names.iter().copied().eq(second.model().outputs().iter().map(|o| o.name.as_str())) {
        return Err(QuantizeError::Outputs);
    }
    let mut sums = vec![Sums::default(); names.len()];
    for run in runs {
        let inputs = views(run);
        let outputs = |session: &Session| {
            session.run_with(&inputs, context, |outputs| {
                (0..names.len())
                    .map(|at| Ok(numbers(&outputs.get(at)?)))
                    .collect::<Result<Vec<Vec<f64>>, RunError>>()
            })?
        };
        let (ones, others) = (outputs(first)?, outputs(second)?);
        for ((sum, one), other) in sums.iter_mut().zip(&ones).zip(&others) {
            if one.len() != other.len() {
                return Err(QuantizeError::Outputs);
            }
            for (&a, &b) in one.iter().zip(other) {
                sum.note(a, b);
            }
        }
        done();
    }
    Ok(names.iter().zip(sums).map(|(name, sum)| sum.difference(name)).collect())
}

impl Sums {
    fn note(&mut self, a: f64, b: f64) {
        // The same infinity or NaN twice is no difference; one alone is an infinite one.
        let difference = if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else { (a - b).abs() };
        self.max = self.max.max(if difference.is_nan() { f64::INFINITY } else { difference });
        self.total += difference;
        self.elements += 1;
        if a.is_finite() && b.is_finite() {
            self.magnitude = self.magnitude.max(a.abs());
            self.dot += a * b;
            self.squares[0] += a * a;
            self.squares[1] += b * b;
        }
    }

    fn difference(self, name: &str) -> Difference {
        let [a, b] = self.squares;
        let cosine = match (a == 0.0, b == 0.0) {
            (true, true) => 1.0,
            (false, false) => self.dot / (a * b).sqrt(),
            _ => 0.0,
        };
        Difference {
            name: name.to_owned(),
            max_abs: self.max,
            mean_abs: self.total / self.elements.max(1) as f64,
            magnitude: self.magnitude,
            cosine,
            elements: self.elements,
        }
    }
}

/// The elements of a tensor; nothing for text and complex numbers.
fn numbers(view: &TensorView<'_>) -> Vec<f64> {
    macro_rules! as_f64 {
        ($t:ty, $to:expr) => {
            view.as_slice::<$t>().unwrap_or_default().iter().map($to).collect()
        };
    }
    match view.dtype() {
        DType::F32 => as_f64!(f32, |&v| f64::from(v)),
        DType::F64 => as_f64!(f64, |&v| v),
        DType::F16 => as_f64!(f16, |v| v.to_f64()),
        DType::BF16 => as_f64!(bf16, |v| v.to_f64()),
        DType::I8 => as_f64!(i8, |&v| f64::from(v)),
        DType::I16 => as_f64!(i16, |&v| f64::from(v)),
        DType::I32 => as_f64!(i32, |&v| f64::from(v)),
        DType::I64 => as_f64!(i64, |&v| v as f64),
        DType::U8 => as_f64!(u8, |&v| f64::from(v)),
        DType::U16 => as_f64!(u16, |&v| f64::from(v)),
        DType::U32 => as_f64!(u32, |&v| f64::from(v)),
        DType::U64 => as_f64!(u64, |&v| v as f64),
        DType::Bool => as_f64!(stead_tensor::Bool, |v| f64::from(u8::from(v.get()))),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_numbers() {
        let cases: [(&str, &[(f64, f64)], f64, f64); 5] = [
            ("equal", &[(1.0, 1.0), (2.0, 2.0)], 0.0, 1.0),
            ("opposite", &[(1.0, -1.0)], 2.0, -1.0),
            ("zeros", &[(0.0, 0.0)], 0.0, 1.0),
            ("the same infinity", &[(f64::INFINITY, f64::INFINITY), (1.0, 1.0)], 0.0, 1.0),
            ("a NaN", &[(1.0, f64::NAN)], f64::INFINITY, 1.0),
        ];
        for (label, pairs, max_abs, cosine) in cases {
            let mut sums = Sums::default();
            pairs.iter().for_each(|&(a, b)| sums.note(a, b));
            let got = sums.difference("y");
            assert_eq!((got.max_abs, got.cosine), (max_abs, cosine), "{label}");
        }
    }
}
