//! Columns of numbers.

use std::ops::Range;
use std::sync::OnceLock;

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
    fn copied(&self, room: usize) -> NumberList {
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

/// A number for each document.
#[derive(Debug)]
pub struct NumberColumn {
    list: NumberList,
    /// How many documents have none, of whole numbers.
    missing: usize,
    /// The numbers as doubles with NaN where there is none: whole numbers have no NaN.
    widened: OnceLock<Vec<f64>>,
}

impl NumberColumn {
    pub(super) fn new(list: NumberList) -> NumberColumn {
        NumberColumn { list, missing: 0, widened: OnceLock::new() }
    }

    pub(super) fn set(&mut self, row: usize, value: Option<&FieldValue>) {
        self.missing -= usize::from(self.is_missing(row));
        self.missing += usize::from(self.list.set(row, value));
        self.widened = OnceLock::new();
    }

    /// The same column in memory for at least `room` numbers.
    pub(super) fn copied(&self, room: usize) -> NumberColumn {
        let (list, missing) = (self.list.copied(room), self.missing);
        NumberColumn { list, missing, widened: OnceLock::new() }
    }

    pub(super) fn shrink(&mut self) {
        self.list.shrink();
    }

    pub(super) fn memory(&self) -> usize {
        let widened = self.widened.get().map_or(0, |list| list.capacity() * size_of::<f64>());
        self.list.memory() + widened
    }

    /// The number of a document: NaN if it has none.
    #[must_use]
    pub fn get(&self, document: usize) -> Option<f64> {
        if self.missing > 0 && self.is_missing(document) {
            return Some(f64::NAN);
        }
        self.list.get(document)
    }

    /// The whole number of a document, if it has one.
    #[must_use]
    pub fn integer(&self, document: usize) -> Option<i64> {
        self.list.integer(document).filter(|_| !self.is_missing(document))
    }

    /// The numbers as they are stored.
    #[must_use]
    pub fn list(&self) -> &NumberList {
        &self.list
    }

    fn is_missing(&self, document: usize) -> bool {
        match &self.list {
            NumberList::I8(list) => list.get(document) == Some(&i8::MIN),
            NumberList::I32(list) => list.get(document) == Some(&i32::MIN),
            NumberList::I64(list) => list.get(document) == Some(&i64::MIN),
            _ => false,
        }
    }

    /// The numbers for expressions: in place, or where whole numbers are missing as doubles with NaN for them.
    pub(super) fn numbers(&self) -> Numbers<'_> {
        if self.missing == 0 {
            return self.list.numbers();
        }
        let widen = || (0..self.list.len()).map(|at| self.get(at).unwrap_or(f64::NAN)).collect();
        Numbers::F64(self.widened.get_or_init(widen))
    }
}

#[cfg(test)]
mod tests {
    use stead_expr::Numbers;

    use super::{NumberColumn, NumberList};
    use crate::kind::DataType;
    use crate::value::FieldValue;

    fn column(kind: &DataType, values: &[Option<FieldValue>]) -> NumberColumn {
        let mut column = NumberColumn::new(NumberList::new(kind).unwrap());
        values.iter().enumerate().for_each(|(row, value)| column.set(row, value.as_ref()));
        column
    }

    #[test]
    fn numbers_stay_in_their_type_and_what_is_missing_is_nan() {
        let [one, two] = [1, 2].map(|n| Some(FieldValue::Integer(n)));
        let whole = column(&DataType::Int, &[one.clone(), two.clone()]);
        assert!(matches!(whole.numbers(), Numbers::I32([1, 2])));
        for kind in [DataType::Byte, DataType::Int, DataType::Long] {
            let holed = column(&kind, &[one.clone(), None, two.clone()]);
            let Numbers::F64([a, b, c]) = holed.numbers() else { panic!("{kind}") };
            assert_eq!((*a, b.is_nan(), *c), (1.0, true, 2.0), "{kind}");
            assert_eq!(holed.integer(1), None, "{kind}");
        }
        let float = column(&DataType::Float, &[Some(FieldValue::Number(0.5)), None]);
        let Numbers::F32([half, nothing]) = float.numbers() else { panic!() };
        assert_eq!((*half, nothing.is_nan()), (0.5, true));
        let bools = column(&DataType::Bool, &[Some(FieldValue::Bool(true)), None]);
        assert!(matches!(bools.numbers(), Numbers::U8([1, 0])));
    }

    #[test]
    fn numbers_are_put_in_the_place_of_others() {
        let [one, two] = [1, 2].map(|n| Some(FieldValue::Integer(n)));
        let mut numbers = column(&DataType::Int, &[one.clone(), None]);
        numbers.set(1, two.as_ref());
        assert!(matches!(numbers.numbers(), Numbers::I32([1, 2])));
        numbers.set(0, None);
        assert_eq!((numbers.integer(0), numbers.integer(1)), (None, Some(2)));
        let copy = numbers.copied(8);
        assert_eq!((copy.integer(0), copy.integer(1)), (None, Some(2)));
    }
}
