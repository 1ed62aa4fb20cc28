//! The answers that are right: those of ONNX Runtime, as it runs a model and as its file says.

use crate::Result;
use crate::rust_peers::Outputs;

/// The answers of ONNX Runtime with all optimisations, and with none, when it runs node after node.
///
/// Of networks of bytes these are not the same: a sum that rounds the other way moves a number by a whole step, and without instructions for
/// products of bytes ONNX Runtime's lose sums that are too large for 16 bits. An answer is right where it differs from one of the two by no more
/// than they do from each other.
pub struct Answers {
    optimised: Outputs,
    plain: Outputs,
    /// The largest number
    pub scale: f32,
    /// How far the two are from each other
    pub apart: f32,
    /// How far what is right is from the nearer of them at most
    pub most: f32,
}

impl Answers {
    /// With a part of the largest number by which right answers may differ in any case.
    pub fn new(optimised: Outputs, plain: Outputs, agree: f32) -> Result<Answers> {
        let scale = scale(&optimised)?;
        let apart = difference(&optimised, &plain)?;
        // An infinite difference would let anything pass.
        if !apart.is_finite() {
            return Err("outputs that are not finite".into());
        }
        let most = apart.max(agree * scale);
        Ok(Answers { optimised, plain, scale, apart, most })
    }

    /// How far outputs are from the nearer of the two.
    pub fn difference(&self, outputs: &Outputs) -> Result<f32> {
        Ok(difference(outputs, &self.optimised)?.min(difference(outputs, &self.plain)?))
    }
}

/// The largest output. Outputs that are not numbers, or are all the same, would compare nothing.
fn scale(outputs: &Outputs) -> Result<f32> {
    if outputs.iter().flatten().any(|v| !v.is_finite()) {
        return Err("outputs that are not finite".into());
    }
    let is_flat = |o: &Vec<f32>| o.len() > 1 && o.iter().all(|v| Some(v) == o.first());
    if outputs.iter().all(is_flat) {
        return Err("outputs that do not vary".into());
    }
    Ok(outputs.iter().flatten().fold(0f32, |most, v| most.max(v.abs())))
}

/// The largest difference over all outputs, infinite where one is not a number.
fn difference(ours: &Outputs, expected: &Outputs) -> Result<f32> {
    let lengths = |o: &Outputs| o.iter().map(Vec::len).collect::<Vec<_>>();
    if lengths(ours) != lengths(expected) {
        return Err(format!("outputs of {:?} elements", lengths(ours)).into());
    }
    let pairs = ours.iter().flatten().zip(expected.iter().flatten());
    Ok(pairs.fold(0f32, |largest, (a, b)| {
        let d = (a - b).abs();
        if d.is_nan() { f32::INFINITY } else { largest.max(d) }
    }))
}

#[cfg(test)]
mod tests {
    use super::Answers;

    #[test]
    fn answers_are_right_that_are_near_one_of_the_two() {
        let of = |numbers: [f32; 3]| vec![numbers.to_vec()];
        for (label, plain, found, expected) in [
            ("the same", [1.0, -10.0, 3.0], [1.0, -10.0, 3.0], true),
            ("within the part that is allowed", [1.0, -10.0, 3.0], [1.05, -10.0, 3.0], true),
            ("beyond it", [1.0, -10.0, 3.0], [1.2, -10.0, 3.0], false),
            ("near the other", [3.0, -10.0, 3.0], [4.9, -10.0, 3.0], true),
            ("as far as they are", [3.0, -10.0, 3.0], [1.0, -12.0, 3.0], true),
            ("farther", [3.0, -10.0, 3.0], [1.0, -12.1, 3.0], false),
            ("no number", [3.0, -10.0, 3.0], [f32::NAN, -10.0, 3.0], false),
        ] {
            let answers = Answers::new(of([1.0, -10.0, 3.0]), of(plain), 0.01).expect(label);
            let difference = answers.difference(&of(found)).expect(label);
            assert_eq!(difference <= answers.most, expected, "{label}: {difference}");
        }
        assert!(Answers::new(of([1.0, 2.0, 3.0]), of([1.0, f32::NAN, 3.0]), 0.01).is_err());
    }
}
