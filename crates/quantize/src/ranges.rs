//! The ranges of values of a graph.

use std::collections::HashMap;

/// The smallest and the largest value that each tensor has had.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranges {
    seen: HashMap<String, (f32, f32)>,
}

impl Ranges {
    /// Notes the values of a tensor in one run. NaN and infinities are left out.
    pub fn note(&mut self, name: &str, values: &[f32]) {
        let seen = self.seen.get(name).copied();
        let finite = values.iter().copied().filter(|v| v.is_finite());
        let seen = finite.fold(seen, |seen, v| {
            let (low, high) = seen.unwrap_or((v, v));
            Some((low.min(v), high.max(v)))
        });
        if let Some(seen) = seen {
            self.seen.insert(name.to_owned(), seen);
        }
    }

    /// Scale and zero point for unsigned bytes that cover the range of a tensor and 0; `None` for one that no run had.
    pub(crate) fn bytes(&self, name: &str) -> Option<(f32, u8)> {
        let &(low, high) = self.seen.get(name)?;
        let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(0.0)));
        let scale = (high - low) / 255.0;
        if scale < f64::from(f32::MIN_POSITIVE) {
            return Some((1.0, 0));
        }
        Some((scale as f32, (-low / scale).round_ties_even().clamp(0.0, 255.0) as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_zero() {
        let cases: [(&str, &[f32], (f32, u8)); 5] = [
            ("both sides", &[-1.0, 1.55], (0.01, 100)),
            ("above", &[2.0, 2.55], (0.01, 0)),
            ("below", &[-2.55, -1.0], (0.01, 255)),
            ("nothing but zero", &[0.0], (1.0, 0)),
            ("not finite", &[f32::NAN, 2.55, f32::INFINITY], (0.01, 0)),
        ];
        for (label, values, (scale, zero)) in cases {
            let mut ranges = Ranges::default();
            ranges.note(label, values);
            let (got, at) = ranges.bytes(label).unwrap();
            assert!((got - scale).abs() < 1e-7 && at == zero, "{label}: {got} {at}");
        }
        assert_eq!(Ranges::default().bytes("never"), None);
    }
}
