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
    /// 16-bit IEEE 754. This and what follows Vespa does not have.
    Float16,
    /// 16-bit two's complement.
    Int16,
    /// 32-bit two's complement.
    Int32,
    /// 64-bit two's complement.
    Int64,
    /// 8 bits without a sign.
    UInt8,
    /// 0 or 1, a byte each.
    Bool,
}

/// Every cell type with its name.
pub const CELL_TYPES: [(CellType, &str); 10] = [
    (CellType::Double, "double"),
    (CellType::Float, "float"),
    (CellType::BFloat16, "bfloat16"),
    (CellType::Int8, "int8"),
    (CellType::Float16, "float16"),
    (CellType::Int16, "int16"),
    (CellType::Int32, "int32"),
    (CellType::Int64, "int64"),
    (CellType::UInt8, "uint8"),
    (CellType::Bool, "bool"),
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
            CellType::Double | CellType::Int64 => 8,
            CellType::Float | CellType::Int32 => 4,
            CellType::BFloat16 | CellType::Float16 | CellType::Int16 => 2,
            CellType::Int8 | CellType::UInt8 | CellType::Bool => 1,
        }
    }

    /// Whether Vespa does not have it. Numbers become cells of such a type, and these other cells, exactly or not at all.
    #[must_use]
    pub fn is_extension(self) -> bool {
        use CellType::{Bool, Float16, Int16, Int32, Int64, UInt8};
        matches!(self, Float16 | Int16 | Int32 | Int64 | UInt8 | Bool)
    }

    /// Whether its numbers are whole.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.reach().is_some()
    }

    /// The bits of the least and of the largest whole number; nothing for floats.
    fn reach(self) -> Option<(u32, u32)> {
        Some(match self {
            CellType::Bool => (0, 1),
            CellType::UInt8 => (0, 8),
            CellType::Int8 => (7, 7),
            CellType::Int16 => (15, 15),
            CellType::Int32 => (31, 31),
            CellType::Int64 => (63, 63),
            CellType::Double | CellType::Float | CellType::BFloat16 | CellType::Float16 => {
                return None;
            }
        })
    }

    /// The type that arithmetic on such cells gives: `float` where it holds every cell exactly, else `double`.
    #[must_use]
    pub fn decay(self) -> CellType {
        match self {
            CellType::Double | CellType::Int32 | CellType::Int64 => CellType::Double,
            CellType::Float
            | CellType::BFloat16
            | CellType::Int8
            | CellType::Float16
            | CellType::Int16
            | CellType::UInt8
            | CellType::Bool => CellType::Float,
        }
    }

    /// The type that holds cells of both: of two types of whole numbers the smallest that does, else the wider of those
    /// that arithmetic gives.
    #[must_use]
    pub fn unify(self, other: CellType) -> CellType {
        if self == other {
            return self;
        }
        if let (Some(a), Some(b)) = (self.reach(), other.reach()) {
            use CellType::{Int8, Int16, Int32, Int64, UInt8};
            let needed = (a.0.max(b.0), a.1.max(b.1));
            let holds = |t: &CellType| {
                t.reach().is_some_and(|(low, high)| low >= needed.0 && high >= needed.1)
            };
            return [UInt8, Int8, Int16, Int32].into_iter().find(holds).unwrap_or(Int64);
        }
        match (self.decay(), other.decay()) {
            (CellType::Float, CellType::Float) => CellType::Float,
            _ => CellType::Double,
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
    use super::CellType::{
        BFloat16, Bool, Double, Float, Float16, Int8, Int16, Int32, Int64, UInt8,
    };
    use super::{CELL_TYPES, CellType};

    #[test]
    fn what_two_types_give() {
        for (a, b, unified, decayed) in [
            (Double, Double, Double, Double),
            (Double, Int8, Double, Double),
            (Float, Double, Double, Double),
            (Float, BFloat16, Float, Float),
            (BFloat16, BFloat16, BFloat16, Float),
            (Int8, Int8, Int8, Float),
            (Int8, BFloat16, Float, Float),
            (Float16, Float16, Float16, Float),
            (Float16, BFloat16, Float, Float),
            (Float16, Int16, Float, Float),
            (Bool, Bool, Bool, Float),
            (Bool, UInt8, UInt8, Float),
            (Bool, Int8, Int8, Float),
            (UInt8, Int8, Int16, Float),
            (UInt8, Int16, Int16, Float),
            (Int16, Int32, Int32, Double),
            (Int32, Int64, Int64, Double),
            (Int32, Float, Double, Double),
            (Int64, Float16, Double, Double),
            (Int64, Double, Double, Double),
        ] {
            assert_eq!(a.unify(b), unified, "{a} and {b}");
            assert_eq!(b.unify(a), unified, "{b} and {a}");
            assert_eq!(a.unify(b).decay(), decayed, "{a} and {b}");
        }
    }

    /// Combining does not depend on the order, and what Vespa has stays among what Vespa has.
    #[test]
    fn any_two_types() {
        for (a, name) in CELL_TYPES {
            assert_eq!((CellType::from_name(name), a.name()), (Some(a), name));
            for (b, _) in CELL_TYPES {
                assert_eq!(a.unify(b), b.unify(a), "{a} and {b}");
                let wider = |x: CellType, y| if x == Double { x } else { y };
                let arithmetic = wider(a.decay(), b.decay());
                assert_eq!(a.unify(b).decay(), arithmetic, "{a} and {b}");
                let is_new = a.is_extension() || b.is_extension();
                assert!(is_new || !a.unify(b).is_extension(), "{a} and {b}");
            }
        }
    }
}
