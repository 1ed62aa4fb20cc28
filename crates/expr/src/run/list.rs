//! Numbers as they are stored, in a list of whichever type.

use std::borrow::Cow;
use std::ops::Range;

use half::{bf16, f16};
use stead_kernels::vector::{Widen, widen};

use super::attribute::Rows;
use super::column::Column;
use super::numbers::isa;
use super::pool::Pool;
use crate::value::Cells;

/// Numbers as they are stored; expressions see doubles.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // The names tell the types.
pub enum Numbers<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    BF16(&'a [bf16]),
    F16(&'a [f16]),
    I64(&'a [i64]),
    I32(&'a [i32]),
    I16(&'a [i16]),
    I8(&'a [i8]),
    /// Booleans: 0 and 1.
    U8(&'a [u8]),
}

/// Runs the same expression on the list of [`Numbers`] of whichever type, as in
/// `each_number!(numbers, list => list.len())`.
#[macro_export]
macro_rules! each_number {
    ($numbers:expr, $list:ident => $body:expr) => {
        match $numbers {
            $crate::Numbers::F64($list) => $body,
            $crate::Numbers::F32($list) => $body,
            $crate::Numbers::BF16($list) => $body,
            $crate::Numbers::F16($list) => $body,
            $crate::Numbers::I64($list) => $body,
            $crate::Numbers::I32($list) => $body,
            $crate::Numbers::I16($list) => $body,
            $crate::Numbers::I8($list) => $body,
            $crate::Numbers::U8($list) => $body,
        }
    };
}

impl<'a> Numbers<'a> {
    /// The cells of tensors.
    #[must_use]
    pub fn of_cells(cells: &'a Cells<'_>) -> Numbers<'a> {
        match cells {
            Cells::Double(list) => Numbers::F64(list),
            Cells::Float(list) => Numbers::F32(list),
            Cells::BFloat16(list) => Numbers::BF16(list),
            Cells::Int8(list) => Numbers::I8(list),
            Cells::Float16(list) => Numbers::F16(list),
            Cells::Int16(list) => Numbers::I16(list),
            Cells::Int32(list) => Numbers::I32(list),
            Cells::Int64(list) => Numbers::I64(list),
            Cells::UInt8(list) | Cells::Bool(list) => Numbers::U8(list),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        each_number!(self, list => list.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at a place, as expressions see it, if it is there.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<f64> {
        each_number!(self, list => list.get(place).map(|x| Widen::<f64>::wide(*x)))
    }

    /// Some of them, if they are there.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Option<Numbers<'a>> {
        Some(match self {
            Numbers::F64(list) => Numbers::F64(list.get(range)?),
            Numbers::F32(list) => Numbers::F32(list.get(range)?),
            Numbers::BF16(list) => Numbers::BF16(list.get(range)?),
            Numbers::F16(list) => Numbers::F16(list.get(range)?),
            Numbers::I64(list) => Numbers::I64(list.get(range)?),
            Numbers::I32(list) => Numbers::I32(list.get(range)?),
            Numbers::I16(list) => Numbers::I16(list.get(range)?),
            Numbers::I8(list) => Numbers::I8(list.get(range)?),
            Numbers::U8(list) => Numbers::U8(list.get(range)?),
        })
    }

    /// Those of some documents; doubles that lie together are borrowed.
    pub(super) fn column(&self, rows: Rows<'_>, pool: &mut Pool) -> Column<'a> {
        let range = rows.begin..rows.begin + rows.count;
        if let (Numbers::F64(list), None) = (self, rows.index) {
            return Column::dense(rows.count, Cells::Double(Cow::Borrowed(&list[range])));
        }
        let mut numbers = pool.doubles();
        match rows.index {
            None => {
                numbers.resize(rows.count, 0.0);
                each_number!(self, list => widen(isa(), &list[range], &mut numbers));
            }
            Some(index) => each_number!(self, list => {
                numbers.extend(index.iter().map(|at| Widen::<f64>::wide(list[*at as usize])));
            }),
        }
        Column::numbers(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_are_doubles() {
        let half = [bf16::from_f32(-1.5), bf16::from_f32(3.0)];
        let short = [f16::from_f32(-1.5), f16::from_f32(65_504.0)];
        let cases: [(Numbers<'_>, [f64; 2]); 9] = [
            (Numbers::F64(&[0.1, 2.0]), [0.1, 2.0]),
            (Numbers::F32(&[0.5, 2.0]), [0.5, 2.0]),
            (Numbers::BF16(&half), [-1.5, 3.0]),
            (Numbers::F16(&short), [-1.5, 65_504.0]),
            (Numbers::I64(&[-(1 << 53), 2]), [-9_007_199_254_740_992.0, 2.0]),
            (Numbers::I32(&[i32::MIN, 2]), [-2_147_483_648.0, 2.0]),
            (Numbers::I16(&[-3, 2]), [-3.0, 2.0]),
            (Numbers::I8(&[-128, 2]), [-128.0, 2.0]),
            (Numbers::U8(&[255, 2]), [255.0, 2.0]),
        ];
        for (numbers, [first, second]) in cases {
            let found = (numbers.get(0), numbers.get(1), numbers.get(2), numbers.len());
            assert_eq!(found, (Some(first), Some(second), None, 2), "{numbers:?}");
            assert_eq!(numbers.part(1..2).and_then(|n| n.get(0)), Some(second), "{numbers:?}");
            assert!(numbers.part(1..3).is_none());
        }
    }
}
