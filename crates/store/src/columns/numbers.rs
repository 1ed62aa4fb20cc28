//! Columns of numbers.

use std::sync::OnceLock;

use stead_expr::Numbers;

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
    pub(super) fn new(kind: &DataType) -> Option<NumberList> {
        Some(match kind {
            DataType::Bool => NumberList::Bool(Vec::new()),
            DataType::Byte => NumberList::I8(Vec::new()),
            DataType::Int => NumberList::I32(Vec::new()),
            DataType::Long => NumberList::I64(Vec::new()),
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

    /// Adds a number; what is no number is the one that stands for nothing: the least of a type of whole numbers, as in
    /// Vespa, false, or NaN. Returns whether it is that.
    pub(super) fn push(&mut self, value: Option<&FieldValue>) -> bool {
        let (integer, number) = match value {
            Some(FieldValue::Integer(number)) => (Some(*number), Some(*number as f64)),
            Some(FieldValue::Bool(value)) => (Some(i64::from(*value)), None),
            Some(FieldValue::Number(number)) => (None, Some(*number)),
            Some(FieldValue::Position(position)) => (Some(position.curve()), None),
            _ => (None, None),
        };
        match self {
            NumberList::Bool(list) => {
                list.push(u8::from(integer == Some(1)));
                false
            }
            NumberList::I8(list) => push(list, integer.map(|n| n as i8), i8::MIN),
            NumberList::I32(list) => push(list, integer.map(|n| n as i32), i32::MIN),
            NumberList::I64(list) => push(list, integer, i64::MIN),
            NumberList::F32(list) => {
                list.push(number.map_or(f32::NAN, |n| n as f32));
                false
            }
            NumberList::F64(list) => {
                list.push(number.unwrap_or(f64::NAN));
                false
            }
        }
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

    /// The numbers at some places, in the same type.
    #[must_use]
    pub fn select(&self, places: &[usize]) -> NumberList {
        fn of<T: Copy>(list: &[T], places: &[usize]) -> Vec<T> {
            places.iter().filter_map(|at| list.get(*at).copied()).collect()
        }
        match self {
            NumberList::Bool(list) => NumberList::Bool(of(list, places)),
            NumberList::I8(list) => NumberList::I8(of(list, places)),
            NumberList::I32(list) => NumberList::I32(of(list, places)),
            NumberList::I64(list) => NumberList::I64(of(list, places)),
            NumberList::F32(list) => NumberList::F32(of(list, places)),
            NumberList::F64(list) => NumberList::F64(of(list, places)),
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

fn push<T: PartialEq + Copy>(list: &mut Vec<T>, value: Option<T>, nothing: T) -> bool {
    let value = value.unwrap_or(nothing);
    list.push(value);
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

    pub(super) fn push(&mut self, value: Option<&FieldValue>) {
        self.missing += usize::from(self.list.push(value));
        self.widened = OnceLock::new();
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
        values.iter().for_each(|value| column.push(value.as_ref()));
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
}
