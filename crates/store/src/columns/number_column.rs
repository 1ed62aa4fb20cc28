//! Columns of numbers.

use std::sync::OnceLock;

use stead_expr::Numbers;

use super::numbers::NumberList;
use crate::value::FieldValue;

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
        let mut column = NumberColumn { list, missing: 0, widened: OnceLock::new() };
        column.missing = (0..column.list.len()).filter(|row| column.is_missing(*row)).count();
        column
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

    use super::super::NumberList;
    use super::NumberColumn;
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
