//! Arrays of cells, borrowed or owned.

use std::borrow::Cow;
use std::ops::Range;

use half::{bf16, f16};

use super::exact::Number;
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
    /// float16
    Float16(Cow<'a, [f16]>),
    /// int16
    Int16(Cow<'a, [i16]>),
    /// int32
    Int32(Cow<'a, [i32]>),
    /// int64
    Int64(Cow<'a, [i64]>),
    /// uint8
    UInt8(Cow<'a, [u8]>),
    /// bool: 0 and 1
    Bool(Cow<'a, [u8]>),
}

/// Runs the same expression on the array of whichever type, as in `each_cell!(cells, array => array.len())`.
#[macro_export]
macro_rules! each_cell {
    ($cells:expr, $array:ident => $body:expr) => {
        match $cells {
            $crate::Cells::Double($array) => $body,
            $crate::Cells::Float($array) => $body,
            $crate::Cells::BFloat16($array) => $body,
            $crate::Cells::Int8($array) => $body,
            $crate::Cells::Float16($array) => $body,
            $crate::Cells::Int16($array) => $body,
            $crate::Cells::Int32($array) => $body,
            $crate::Cells::Int64($array) => $body,
            $crate::Cells::UInt8($array) | $crate::Cells::Bool($array) => $body,
        }
    };
}

/// Makes cells of the same type from the array of whichever type.
#[macro_export]
macro_rules! map_cells {
    ($cells:expr, $array:ident => $body:expr) => {
        match $cells {
            $crate::Cells::Double($array) => $crate::Cells::Double($body.into()),
            $crate::Cells::Float($array) => $crate::Cells::Float($body.into()),
            $crate::Cells::BFloat16($array) => $crate::Cells::BFloat16($body.into()),
            $crate::Cells::Int8($array) => $crate::Cells::Int8($body.into()),
            $crate::Cells::Float16($array) => $crate::Cells::Float16($body.into()),
            $crate::Cells::Int16($array) => $crate::Cells::Int16($body.into()),
            $crate::Cells::Int32($array) => $crate::Cells::Int32($body.into()),
            $crate::Cells::Int64($array) => $crate::Cells::Int64($body.into()),
            $crate::Cells::UInt8($array) => $crate::Cells::UInt8($body.into()),
            $crate::Cells::Bool($array) => $crate::Cells::Bool($body.into()),
        }
    };
}

/// Runs the same expression on two arrays of one type, and another where the types differ.
macro_rules! same_cells {
    ($left:expr, $right:expr, ($a:ident, $b:ident) => $body:expr, else $other:expr) => {
        same_cells!(@ $left, $right, $a, $b, $body, $other,
            Double Float BFloat16 Int8 Float16 Int16 Int32 Int64 UInt8 Bool)
    };
    (@ $left:expr, $right:expr, $a:ident, $b:ident, $body:expr, $other:expr, $($of:ident)*) => {
        match ($left, $right) {
            $(($crate::Cells::$of($a), $crate::Cells::$of($b)) => $body,)*
            _ => $other,
        }
    };
}
pub(crate) use same_cells;

impl<'a> Cells<'a> {
    /// Cells of a type from numbers, each rounded to the nearest that the type has.
    #[must_use]
    pub fn from_numbers(cell: CellType, numbers: &[f64]) -> Cells<'static> {
        match cell {
            CellType::Double => Cells::Double(numbers.to_vec().into()),
            CellType::Float => Cells::Float(numbers.iter().map(|n| *n as f32).collect()),
            CellType::BFloat16 => Cells::BFloat16(numbers.iter().map(|n| to_bf16(*n)).collect()),
            CellType::Int8 => Cells::Int8(numbers.iter().map(|n| to_i8(*n)).collect()),
            other => {
                let mut cells = Cells::zeros(other, 0);
                // Nothing is refused that may be rounded.
                let _ = cells.extend_numbers(numbers.iter().map(|n| Number::Float(*n)), true);
                cells
            }
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
            CellType::Float16 => Cells::Float16(vec![f16::ZERO; count].into()),
            CellType::Int16 => Cells::Int16(vec![0; count].into()),
            CellType::Int32 => Cells::Int32(vec![0; count].into()),
            CellType::Int64 => Cells::Int64(vec![0; count].into()),
            CellType::UInt8 => Cells::UInt8(vec![0; count].into()),
            CellType::Bool => Cells::Bool(vec![0; count].into()),
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
            Cells::Float16(_) => CellType::Float16,
            Cells::Int16(_) => CellType::Int16,
            Cells::Int32(_) => CellType::Int32,
            Cells::Int64(_) => CellType::Int64,
            Cells::UInt8(_) => CellType::UInt8,
            Cells::Bool(_) => CellType::Bool,
        }
    }

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        each_cell!(self, a => a.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell at a place, if it is there; an int64 that is no double is rounded.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<f64> {
        self.number(at).map(Number::to_f64)
    }

    /// The cell at a place with nothing lost, if it is there.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<Number> {
        each_cell!(self, a => a.get(at).map(|c| (*c).into()))
    }

    /// All as doubles; borrowed where they are. Those of int64 that are no doubles are rounded.
    #[must_use]
    pub fn doubles(&self) -> Cow<'_, [f64]> {
        if let Cells::Double(a) = self {
            return Cow::Borrowed(a);
        }
        let mut wide = Vec::new();
        self.widen_doubles(&mut wide);
        wide.into()
    }

    /// Adds all as doubles to a list.
    pub(crate) fn widen_doubles(&self, to: &mut Vec<f64>) {
        match self {
            Cells::Double(a) => to.extend_from_slice(a),
            Cells::Float(a) => to.extend(a.iter().map(|c| f64::from(*c))),
            Cells::BFloat16(a) => to.extend(a.iter().map(|c| c.to_f64())),
            Cells::Int8(a) => to.extend(a.iter().map(|c| f64::from(*c))),
            Cells::Float16(a) => to.extend(a.iter().map(|c| c.to_f64())),
            Cells::Int16(a) => to.extend(a.iter().map(|c| f64::from(*c))),
            Cells::Int32(a) => to.extend(a.iter().map(|c| f64::from(*c))),
            Cells::Int64(a) => to.extend(a.iter().map(|c| *c as f64)),
            Cells::UInt8(a) | Cells::Bool(a) => to.extend(a.iter().map(|c| f64::from(*c))),
        }
    }

    /// All as floats; borrowed where they are. Those of double, int32 and int64 that are no floats are rounded.
    #[must_use]
    pub fn floats(&self) -> Cow<'_, [f32]> {
        if let Cells::Float(a) = self {
            return Cow::Borrowed(a);
        }
        let mut wide = Vec::new();
        self.widen_floats(&mut wide);
        wide.into()
    }

    /// Adds all as floats to a list.
    pub(crate) fn widen_floats(&self, to: &mut Vec<f32>) {
        match self {
            Cells::Double(a) => to.extend(a.iter().map(|c| *c as f32)),
            Cells::Float(a) => to.extend_from_slice(a),
            Cells::BFloat16(a) => to.extend(a.iter().map(|c| c.to_f32())),
            Cells::Int8(a) => to.extend(a.iter().map(|c| f32::from(*c))),
            Cells::Float16(a) => to.extend(a.iter().map(|c| c.to_f32())),
            Cells::Int16(a) => to.extend(a.iter().map(|c| f32::from(*c))),
            Cells::Int32(a) => to.extend(a.iter().map(|c| *c as f32)),
            Cells::Int64(a) => to.extend(a.iter().map(|c| *c as f32)),
            Cells::UInt8(a) | Cells::Bool(a) => to.extend(a.iter().map(|c| f32::from(*c))),
        }
    }

    /// Adds cells of the same type; returns false, and adds nothing, if they are of another.
    #[must_use]
    pub fn extend(&mut self, from: &Cells<'_>) -> bool {
        same_cells!(self, from, (to, from) => {
            to.to_mut().extend_from_slice(from);
            true
        }, else false)
    }

    /// No cells, with room for some.
    #[must_use]
    pub fn with_room(cell: CellType, count: usize) -> Cells<'static> {
        map_cells!(Cells::zeros(cell, 0), list => {
            let mut list = list.into_owned();
            list.reserve_exact(count);
            list
        })
    }

    /// Puts cells of the same type in the place of those of a range, or behind the last; false, and nothing is changed, if they are
    /// of another type.
    #[must_use]
    pub fn splice(&mut self, at: Range<usize>, by: &Cells<'_>) -> bool {
        fn of<T: Copy>(list: &mut Cow<'_, [T]>, at: Range<usize>, by: &[T]) {
            let list = list.to_mut();
            match at.len() == by.len() {
                true => list[at].copy_from_slice(by),
                false if at.start == list.len() => list.extend_from_slice(by),
                false => drop(list.splice(at, by.iter().copied())),
            }
        }
        same_cells!(self, by, (list, by) => of(list, at, by), else return false);
        true
    }

    /// The cells of a range as cells of their own; nothing if they are not there.
    #[must_use]
    pub fn part(&self, at: Range<usize>) -> Option<Cells<'_>> {
        Some(map_cells!(self, a => a.get(at)?))
    }

    /// The same cells in memory for at least `room` of them.
    #[must_use]
    pub fn copied(&self, room: usize) -> Cells<'static> {
        fn of<T: Copy>(list: &[T], room: usize) -> Vec<T> {
            let mut copy = Vec::with_capacity(room.max(list.len()));
            copy.extend_from_slice(list);
            copy
        }
        map_cells!(self, a => of(a, room))
    }

    /// Gives back memory that no cells lie in; borrowed cells become owned.
    pub fn shrink(&mut self) {
        each_cell!(self, a => a.to_mut().shrink_to_fit());
    }

    /// The same cells without a copy.
    #[must_use]
    pub fn borrowed(&self) -> Cells<'_> {
        map_cells!(self, a => &a[..])
    }

    /// The same cells, copied where they were borrowed.
    #[must_use]
    pub fn into_owned(self) -> Cells<'static> {
        map_cells!(self, a => a.into_owned())
    }
}

/// The nearest bfloat16, by way of float as Vespa rounds.
pub(super) fn to_bf16(number: f64) -> bf16 {
    bf16::from_f32(number as f32)
}

/// The whole part, within the limits of the type; NaN is 0.
pub(super) fn to_i8(number: f64) -> i8 {
    number as i8
}
