//! Numbers behind each other.

use std::ops::Range;

use stead_expr::Numbers;

use super::texts::put;
use crate::kind::DataType;
use crate::value::FieldValue;

/// Numbers behind each other, in the type of their field.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names tell the types.
pub enum NumberList {
    /// 0 and 1.
    Bool(Vec<u8>),
    I8(Vec<i8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Runs the same expression on the list of whichever type.
macro_rules! each {
    ($numbers:expr, $list:ident => $body:expr) => {
        match $numbers {
            NumberList::Bool($list) => $body,
            NumberList::I8($list) => $body,
            NumberList::I32($list) => $body,
            NumberList::I64($list) => $body,
            NumberList::F32($list) => $body,
            NumberList::F64($list) => $body,
        }
    };
}

impl NumberList {
    /// No numbers, in the type in which those of a field are stored: positions as places on a curve.
    #[must_use]
    pub fn new(kind: &DataType) -> Option<NumberList> {
        Some(match kind {
            DataType::Bool => NumberList::Bool(Vec::new()),
            DataType::Byte => NumberList::I8(Vec::new()),
            DataType::Int => NumberList::I32(Vec::new()),
            DataType::Long | DataType::Position => NumberList::I64(Vec::new()),
            // What float16 holds, float holds.
            DataType::Float16 | DataType::Float => NumberList::F32(Vec::new()),
            DataType::Double => NumberList::F64(Vec::new()),
            _ => return None,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, list => list.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are whole numbers.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !matches!(self, NumberList::F32(_) | NumberList::F64(_))
    }

    /// Puts a number in the place of another, or behind the last; what is no number is the one that stands for nothing: the least
    /// of a type of whole numbers, as in Vespa, false, or NaN. Returns whether it is the least of its type.
    pub(super) fn set(&mut self, at: usize, value: Option<&FieldValue>) -> bool {
        let (integer, number) = match value {
            Some(FieldValue::Integer(number)) => (Some(*number), Some(*number as f64)),
            Some(FieldValue::Bool(value)) => (Some(i64::from(*value)), None),
            Some(FieldValue::Number(number)) => (None, Some(*number)),
            Some(FieldValue::Position(position)) => (Some(position.curve()), None),
            _ => (None, None),
        };
        match self {
            NumberList::Bool(list) => {
                put(list, at, u8::from(integer == Some(1)));
                false
            }
            NumberList::I8(list) => whole(list, at, integer.map(|n| n as i8), i8::MIN),
            NumberList::I32(list) => whole(list, at, integer.map(|n| n as i32), i32::MIN),
            NumberList::I64(list) => whole(list, at, integer, i64::MIN),
            NumberList::F32(list) => {
                put(list, at, number.map_or(f32::NAN, |n| n as f32));
                false
            }
            NumberList::F64(list) => {
                put(list, at, number.unwrap_or(f64::NAN));
                false
            }
        }
    }

    /// Puts numbers of the same type in the place of others.
    pub(super) fn splice(&mut self, at: Range<usize>, by: &NumberList) {
        fn of<T: Copy>(list: &mut Vec<T>, at: Range<usize>, by: &[T]) {
            list.splice(at, by.iter().copied());
        }
        match (self, by) {
            (NumberList::Bool(list), NumberList::Bool(by)) => of(list, at, by),
            (NumberList::I8(list), NumberList::I8(by)) => of(list, at, by),
            (NumberList::I32(list), NumberList::I32(by)) => of(list, at, by),
            (NumberList::I64(list), NumberList::I64(by)) => of(list, at, by),
            (NumberList::F32(list), NumberList::F32(by)) => of(list, at, by),
            (NumberList::F64(list), NumberList::F64(by)) => of(list, at, by),
            _ => debug_assert!(false, "numbers of another type"),
        }
    }

    /// No numbers of the same type, with room for some.
    #[must_use]
    pub fn empty(&self, room: usize) -> NumberList {
        match self {
            NumberList::Bool(_) => NumberList::Bool(Vec::with_capacity(room)),
            NumberList::I8(_) => NumberList::I8(Vec::with_capacity(room)),
            NumberList::I32(_) => NumberList::I32(Vec::with_capacity(room)),
            NumberList::I64(_) => NumberList::I64(Vec::with_capacity(room)),
            NumberList::F32(_) => NumberList::F32(Vec::with_capacity(room)),
            NumberList::F64(_) => NumberList::F64(Vec::with_capacity(room)),
        }
    }

    /// The same numbers in memory for at least `room` of them.
    pub(super) fn copied(&self, room: usize) -> NumberList {
        let mut copy = self.empty(room.max(self.len()));
        copy.splice(0..0, self);
        copy
    }

    pub(super) fn shrink(&mut self) {
        each!(self, list => list.shrink_to_fit());
    }

    pub(super) fn memory(&self) -> usize {
        fn of<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        each!(self, list => of(list))
    }

    /// The number at a place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<f64> {
        match self {
            NumberList::Bool(list) => list.get(at).map(|n| f64::from(*n)),
            NumberList::I8(list) => list.get(at).map(|n| f64::from(*n)),
            NumberList::I32(list) => list.get(at).map(|n| f64::from(*n)),
            NumberList::I64(list) => list.get(at).map(|n| *n as f64),
            NumberList::F32(list) => list.get(at).map(|n| f64::from(*n)),
            NumberList::F64(list) => list.get(at).copied(),
        }
    }

    /// The number at a place as a value of a type.
    pub(super) fn value(&self, at: usize, kind: &DataType) -> Option<FieldValue> {
        match (kind, self.integer(at)) {
            (DataType::Bool, Some(bit)) => Some(FieldValue::Bool(bit == 1)),
            (_, Some(number)) => Some(FieldValue::Integer(number)),
            (_, None) => self.get(at).map(FieldValue::Number),
        }
    }

    /// The whole number at a place.
    #[must_use]
    pub fn integer(&self, at: usize) -> Option<i64> {
        match self {
            NumberList::Bool(list) => list.get(at).map(|n| i64::from(*n)),
            NumberList::I8(list) => list.get(at).map(|n| i64::from(*n)),
            NumberList::I32(list) => list.get(at).map(|n| i64::from(*n)),
            NumberList::I64(list) => list.get(at).copied(),
            NumberList::F32(_) | NumberList::F64(_) => None,
        }
    }

    /// Adds the numbers at some places of a list of the same type; those of another are left out.
    pub fn append(&mut self, from: &NumberList, places: Range<usize>) {
        fn of<T: Copy>(list: &mut Vec<T>, from: &[T], places: Range<usize>) {
            list.extend_from_slice(from.get(places).unwrap_or_default());
        }
        match (self, from) {
            (NumberList::Bool(list), NumberList::Bool(from)) => of(list, from, places),
            (NumberList::I8(list), NumberList::I8(from)) => of(list, from, places),
            (NumberList::I32(list), NumberList::I32(from)) => of(list, from, places),
            (NumberList::I64(list), NumberList::I64(from)) => of(list, from, places),
            (NumberList::F32(list), NumberList::F32(from)) => of(list, from, places),
            (NumberList::F64(list), NumberList::F64(from)) => of(list, from, places),
            _ => debug_assert!(false, "numbers of another type"),
        }
    }

    /// Their bytes, little-endian.
    pub(super) fn bytes(&self) -> &[u8] {
        each!(self, list => bytemuck::cast_slice(list))
    }

    /// So many numbers of the same type from their bytes, which `fill` writes.
    pub(super) fn filled<E>(
        &self,
        count: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<NumberList, E> {
        let mut filled = match self {
            NumberList::Bool(_) => NumberList::Bool(vec![0; count]),
            NumberList::I8(_) => NumberList::I8(vec![0; count]),
            NumberList::I32(_) => NumberList::I32(vec![0; count]),
            NumberList::I64(_) => NumberList::I64(vec![0; count]),
            NumberList::F32(_) => NumberList::F32(vec![0.0; count]),
            NumberList::F64(_) => NumberList::F64(vec![0.0; count]),
        };
        fill(each!(&mut filled, list => bytemuck::cast_slice_mut(list)))?;
        Ok(filled)
    }

    /// The numbers in the type in which they are stored.
    #[must_use]
    pub fn numbers(&self) -> Numbers<'_> {
        match self {
            NumberList::Bool(list) => Numbers::U8(list),
            NumberList::I8(list) => Numbers::I8(list),
            NumberList::I32(list) => Numbers::I32(list),
            NumberList::I64(list) => Numbers::I64(list),
            NumberList::F32(list) => Numbers::F32(list),
            NumberList::F64(list) => Numbers::F64(list),
        }
    }
}

fn whole<T: PartialEq + Copy>(list: &mut Vec<T>, at: usize, value: Option<T>, nothing: T) -> bool {
    let value = value.unwrap_or(nothing);
    put(list, at, value);
    value == nothing
}
