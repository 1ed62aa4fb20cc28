//! Arrays of cells, borrowed or owned.

use std::borrow::Cow;

use half::bf16;

use crate::types::CellType;

/// Cells of one type.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells<'a> {
    /// double
    Double(Cow<'a, [f64]>),
    /// float
    Float(Cow<'a, [f32]>),
    /// bfloat16
    BFloat16(Cow<'a, [bf16]>),
    /// int8
    Int8(Cow<'a, [i8]>),
}

/// Runs the same expression on the array of whichever type.
macro_rules! each {
    ($cells:expr, $array:ident => $body:expr) => {
        match $cells {
            $crate::value::Cells::Double($array) => $body,
            $crate::value::Cells::Float($array) => $body,
            $crate::value::Cells::BFloat16($array) => $body,
            $crate::value::Cells::Int8($array) => $body,
        }
    };
}
pub(crate) use each;

/// Makes cells of the same type from the array of whichever type.
macro_rules! map_each {
    ($cells:expr, $array:ident => $body:expr) => {
        match $cells {
            $crate::value::Cells::Double($array) => $crate::value::Cells::Double($body.into()),
            $crate::value::Cells::Float($array) => $crate::value::Cells::Float($body.into()),
            $crate::value::Cells::BFloat16($array) => $crate::value::Cells::BFloat16($body.into()),
            $crate::value::Cells::Int8($array) => $crate::value::Cells::Int8($body.into()),
        }
    };
}
pub(crate) use map_each;

impl<'a> Cells<'a> {
    /// Cells of a type from numbers, each rounded to the nearest that the type has.
    #[must_use]
    pub fn from_numbers(cell: CellType, numbers: &[f64]) -> Cells<'static> {
        match cell {
            CellType::Double => Cells::Double(numbers.to_vec().into()),
            CellType::Float => Cells::Float(numbers.iter().map(|n| *n as f32).collect()),
            CellType::BFloat16 => Cells::BFloat16(numbers.iter().map(|n| to_bf16(*n)).collect()),
            CellType::Int8 => Cells::Int8(numbers.iter().map(|n| to_i8(*n)).collect()),
        }
    }

    /// `count` zeros.
    #[must_use]
    pub fn zeros(cell: CellType, count: usize) -> Cells<'static> {
        match cell {
            CellType::Double => Cells::Double(vec![0.0; count].into()),
            CellType::Float => Cells::Float(vec![0.0; count].into()),
            CellType::BFloat16 => Cells::BFloat16(vec![bf16::ZERO; count].into()),
            CellType::Int8 => Cells::Int8(vec![0; count].into()),
        }
    }

    /// Their type.
    #[must_use]
    pub fn cell_type(&self) -> CellType {
        match self {
            Cells::Double(_) => CellType::Double,
            Cells::Float(_) => CellType::Float,
            Cells::BFloat16(_) => CellType::BFloat16,
            Cells::Int8(_) => CellType::Int8,
        }
    }

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, a => a.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell at a place, if it is there.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<f64> {
        match self {
            Cells::Double(a) => a.get(at).copied(),
            Cells::Float(a) => a.get(at).map(|c| f64::from(*c)),
            Cells::BFloat16(a) => a.get(at).map(|c| c.to_f64()),
            Cells::Int8(a) => a.get(at).map(|c| f64::from(*c)),
        }
    }

    /// All as doubles; borrowed where they are.
    #[must_use]
    pub fn doubles(&self) -> Cow<'_, [f64]> {
        match self {
            Cells::Double(a) => Cow::Borrowed(a),
            Cells::Float(a) => a.iter().map(|c| f64::from(*c)).collect(),
            Cells::BFloat16(a) => a.iter().map(|c| c.to_f64()).collect(),
            Cells::Int8(a) => a.iter().map(|c| f64::from(*c)).collect(),
        }
    }

    /// All as floats; borrowed where they are. Doubles are rounded.
    #[must_use]
    pub fn floats(&self) -> Cow<'_, [f32]> {
        match self {
            Cells::Double(a) => a.iter().map(|c| *c as f32).collect(),
            Cells::Float(a) => Cow::Borrowed(a),
            Cells::BFloat16(a) => a.iter().map(|c| c.to_f32()).collect(),
            Cells::Int8(a) => a.iter().map(|c| f32::from(*c)).collect(),
        }
    }

    /// The same cells as another type.
    #[must_use]
    pub fn cast(self, cell: CellType) -> Cells<'a> {
        if self.cell_type() == cell {
            return self;
        }
        match cell {
            CellType::Double => Cells::Double(self.doubles().into_owned().into()),
            CellType::Float => Cells::Float(self.floats().into_owned().into()),
            _ => Cells::from_numbers(cell, &self.doubles()),
        }
    }

    /// The same cells without a copy.
    #[must_use]
    pub fn borrowed(&self) -> Cells<'_> {
        map_each!(self, a => &a[..])
    }

    /// The same cells, copied where they were borrowed.
    #[must_use]
    pub fn into_owned(self) -> Cells<'static> {
        map_each!(self, a => a.into_owned())
    }
}

/// The nearest bfloat16, by way of float as Vespa rounds.
fn to_bf16(number: f64) -> bf16 {
    bf16::from_f32(number as f32)
}

/// The whole part, within the limits of the type; NaN is 0.
fn to_i8(number: f64) -> i8 {
    number as i8
}
