//! The names of precisions that models are computed in.

use std::fmt;
use std::str::FromStr;

/// The precision of a model: how products by constant weights are computed. Everything else has the element types of
/// the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// As the file says: nothing is rounded to less than its type.
    #[default]
    F32,
    /// Weights of `f32` products and recurrent layers are rounded to bf16 and stored so; rows that meet them are rounded
    /// too where there are more than four. Sums, biases, activations and all other operators stay as they are.
    Bf16,
    /// As the file says, which must have `f64`.
    F64,
    /// As the file says, which must have weights of 8 bits.
    Int8,
}

/// All of them with their names.
const NAMES: [(&str, Precision); 4] = [
    ("f32", Precision::F32),
    ("bf16", Precision::Bf16),
    ("f64", Precision::F64),
    ("int8", Precision::Int8),
];

/// A name that is none of a precision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "precision \"{0}\" is not known; supported: f32, bf16, and f64 or int8 for a model that has them"
)]
pub struct UnknownPrecision(pub String);

impl Precision {
    /// The name that [`FromStr`] reads: `f32`, `bf16`, `f64` or `int8`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, p)| *p == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(name: &str) -> Result<Precision, UnknownPrecision> {
        let found = NAMES.iter().find(|(n, _)| *n == name);
        found.map(|(_, precision)| *precision).ok_or_else(|| UnknownPrecision(name.to_owned()))
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, precision) in NAMES {
            assert_eq!(name.parse(), Ok(precision));
            assert_eq!(precision.to_string(), name);
        }
        for wrong in ["", "FP16", "BF16", "f16", "int4"] {
            assert_eq!(wrong.parse::<Precision>(), Err(UnknownPrecision(wrong.into())), "{wrong}");
        }
    }
}
