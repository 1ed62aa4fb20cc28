//! How far the outputs of a model in bf16 are from those in f32.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use stead_engine::{Precision, RunContext, Session};

use super::prepare::{Inputs, load};
use super::run::all_outputs;
use crate::failure::Failure;

/// The error of one output.
struct OutputError {
    name: String,
    /// The largest difference of two elements.
    absolute: f64,
    /// The largest difference, as a part of the largest element in f32.
    relative: f64,
    /// The cosine of the angle between both, as vectors.
    cosine: f64,
}

/// The errors of all outputs of real numbers.
pub struct Errors(Vec<OutputError>);

/// Runs the model in f32 on the same inputs and compares; nothing in any precision but bf16, which gives the bits of f32.
///
/// # Errors
/// When the model cannot be loaded or run.
pub fn errors_of(
    path: &Path,
    precision: Precision,
    session: &Session,
    inputs: &Inputs,
    cx: &RunContext<'_>,
) -> Result<Option<Errors>, Failure> {
    if precision != Precision::Bf16 {
        return Ok(None);
    }
    let actual = all_outputs(session, inputs, cx)?;
    let exact = all_outputs(&load(path, Precision::F32)?, inputs, cx)?;
    let named = session.model().outputs().iter().map(|output| &output.name);
    let compared = named.zip(exact.iter().zip(&actual)).filter_map(|(name, (exact, actual))| {
        let (exact, actual) = (exact.as_slice::<f32>().ok()?, actual.as_slice::<f32>().ok()?);
        Some(compare(name, exact, actual))
    });
    Ok(Some(Errors(compared.collect())))
}

/// A pair of which one only is not a number counts as infinitely far apart.
fn compare(name: &str, exact: &[f32], actual: &[f32]) -> OutputError {
    let (mut absolute, mut largest) = (0f64, 0f64);
    let (mut product, mut squares) = (0f64, [0f64; 2]);
    for (&e, &a) in exact.iter().zip(actual) {
        let (e, a) = (f64::from(e), f64::from(a));
        if e == a || (e.is_nan() && a.is_nan()) {
            if !e.is_finite() {
                continue;
            }
        } else {
            let apart = (e - a).abs();
            absolute = absolute.max(if apart.is_nan() { f64::INFINITY } else { apart });
        }
        largest = largest.max(e.abs());
        product += e * a;
        squares = [squares[0] + e * e, squares[1] + a * a];
    }
    let length = (squares[0] * squares[1]).sqrt();
    let relative = if absolute == 0.0 { 0.0 } else { absolute / largest };
    let cosine = if squares == [0.0; 2] { 1.0 } else { product / length };
    OutputError { name: name.to_owned(), absolute, relative, cosine }
}

impl Errors {
    /// A line for each output.
    pub fn text(&self) -> String {
        let mut text = String::from("error against f32\n");
        for OutputError { name, absolute, relative, cosine } in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  {name}: at most {absolute:.3e}, {relative:.3e} of the largest; cosine {cosine:.7}"
            );
        }
        text
    }

    /// An object for each output; what is infinite or not a number is null.
    pub fn json(&self) -> Value {
        let row = |e: &OutputError| {
            json!({
                "name": e.name,
                "max_abs": e.absolute,
                "relative": e.relative,
                "cosine": e.cosine,
            })
        };
        Value::Array(self.0.iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_outputs() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let cases: [(&str, &[f32], &[f32], f64, f64, f64); 8] = [
            ("the same", &[1.0, -2.0], &[1.0, -2.0], 0.0, 0.0, 1.0),
            ("nothing", &[], &[], 0.0, 0.0, 1.0),
            ("zeros", &[0.0], &[0.0], 0.0, 0.0, 1.0),
            ("apart", &[4.0, 0.0], &[3.0, 0.0], 1.0, 0.25, 1.0),
            ("at right angles", &[1.0, 0.0], &[0.0, 1.0], 1.0, 1.0, 0.0),
            ("opposite", &[2.0], &[-2.0], 4.0, 2.0, -1.0),
            ("the same NaN and infinity", &[nan, inf, 1.0], &[nan, inf, 1.0], 0.0, 0.0, 1.0),
            ("a NaN on one side", &[1.0, 1.0], &[1.0, nan], f64::INFINITY, f64::INFINITY, f64::NAN),
        ];
        for (label, exact, actual, absolute, relative, cosine) in cases {
            let e = compare(label, exact, actual);
            assert_eq!((e.absolute, e.relative), (absolute, relative), "{label}");
            let same = (e.cosine - cosine).abs() < 1e-12 || (e.cosine.is_nan() && cosine.is_nan());
            assert!(same, "{label}: cosine {}", e.cosine);
        }
    }
}
