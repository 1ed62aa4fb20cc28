//! Types of tensor cells and the rules by which they combine.

use std::fmt;

/// The type of a tensor's cells, as written between `<` and `>`. `double` is left out in a type's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CellType {
    /// 64-bit IEEE 754.
    Double,
    /// 32-bit IEEE 754.
    Float,
    /// The upper half of a 32-bit float.
    BFloat16,
    /// 8-bit two's complement.
    Int8,
}

/// Every cell type with its name.
pub const CELL_TYPES: [(CellType, &str); 4] = [
    (CellType::Double, "double"),
    (CellType::Float, "float"),
    (CellType::BFloat16, "bfloat16"),
    (CellType::Int8, "int8"),
];

impl CellType {
    /// The type of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CellType> {
        CELL_TYPES.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        CELL_TYPES.iter().find(|(t, _)| *t == self).map_or("double", |(_, n)| n)
    }

    /// Bytes of a cell.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            CellType::Double => 8,
            CellType::Float => 4,
            CellType::BFloat16 => 2,
            CellType::Int8 => 1,
        }
    }

    /// The type that arithmetic on such cells gives: the small types become `float`.
    #[must_use]
    pub fn decay(self) -> CellType {
        match self {
            CellType::Double => CellType::Double,
            CellType::Float | CellType::BFloat16 | CellType::Int8 => CellType::Float,
        }
    }

    /// The type that holds cells of both.
    #[must_use]
    pub fn unify(self, other: CellType) -> CellType {
        match (self, other) {
            (a, b) if a == b => a,
            (CellType::Double, _) | (_, CellType::Double) => CellType::Double,
            _ => CellType::Float,
        }
    }
}

impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::CellType::{BFloat16, Double, Float, Int8};

    #[test]
    fn small_types_become_float_when_they_meet() {
        for (a, b, unified, decayed) in [
            (Double, Double, Double, Double),
            (Double, Int8, Double, Double),
            (Float, Double, Double, Double),
            (Float, BFloat16, Float, Float),
            (BFloat16, BFloat16, BFloat16, Float),
            (Int8, Int8, Int8, Float),
            (Int8, BFloat16, Float, Float),
        ] {
            assert_eq!(a.unify(b), unified, "{a} and {b}");
            assert_eq!(b.unify(a), unified, "{b} and {a}");
            assert_eq!(a.unify(b).decay(), decayed, "{a} and {b}");
        }
    }
}
