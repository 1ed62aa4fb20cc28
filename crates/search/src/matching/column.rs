//! Which rows of a column pass a test.

use stead_store::{Column, NumberList};

use super::rows::RowSet;
use super::value::{limits, passes};
use crate::query::Test;

/// What a test costs: those of a lower cost go first, and the others see the rows that they leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cost {
    /// Nothing is looked at.
    Nothing,
    /// An index tells the rows.
    Index,
    /// A loop over numbers.
    Numbers,
    /// A step for each row.
    Rows,
    /// Many steps for each row.
    Heavy,
    /// What takes the best of all rows.
    Vectors,
}

impl Cost {
    pub(super) fn name(self) -> &'static str {
        match self {
            Cost::Nothing => "nothing",
            Cost::Index => "an index",
            Cost::Numbers => "a loop over numbers",
            Cost::Rows => "a step for each row",
            Cost::Heavy => "many steps for each row",
            Cost::Vectors => "vectors",
        }
    }
}

/// What a test of an attribute costs, by whether that has one number for each document.
pub(super) fn cost(test: &Test, is_number: bool) -> Cost {
    use crate::query::TextTest;
    match (test, is_number) {
        (Test::Range(_) | Test::Numbers(_), true) => Cost::Numbers,
        (Test::Text { test: TextTest::Regex(_) | TextTest::Fuzzy(_), .. }, _)
        | (Test::Predicate(_), _) => Cost::Heavy,
        _ => Cost::Rows,
    }
}

/// A loop over numbers looks at so many rows in the time of a step for a row.
const LOOP: usize = 16;

/// The rows that pass, at least those of `among`: others may be in the result too where that costs nothing.
pub(super) fn rows(test: &Test, column: &Column, among: &RowSet) -> RowSet {
    let Column::Numbers(numbers) = column else {
        return among.filter(|row| passes(test, column, row).is_some());
    };
    let (list, count) = (numbers.list(), among.rows());
    if among.count() < count / LOOP {
        return among.filter(|row| passes(test, column, row).is_some());
    }
    match test {
        Test::Range(range) => match list {
            NumberList::F32(list) => between(list, count, range.floats()),
            NumberList::F64(list) => between(list, count, range.doubles()),
            whole => {
                let (least, greatest) = limits(whole);
                match range.whole(least, greatest) {
                    // The ends are numbers of the type.
                    Some((low, high)) => match whole {
                        NumberList::Bool(list) => between(list, count, (low as u8, high as u8)),
                        NumberList::I8(list) => between(list, count, (low as i8, high as i8)),
                        NumberList::I32(list) => between(list, count, (low as i32, high as i32)),
                        NumberList::I64(list) => between(list, count, (low, high)),
                        NumberList::F32(_) | NumberList::F64(_) => RowSet::none(count),
                    },
                    None => RowSet::none(count),
                }
            }
        },
        Test::Numbers(numbers) => match list {
            NumberList::I8(list) => one_of(list, count, numbers),
            NumberList::I32(list) => one_of(list, count, numbers),
            NumberList::I64(list) => one_of(list, count, numbers),
            _ => RowSet::none(count),
        },
        _ => among.filter(|row| passes(test, column, row).is_some()),
    }
}

fn between<T: Copy + PartialOrd>(list: &[T], rows: usize, (low, high): (T, T)) -> RowSet {
    RowSet::of(list, rows, |value| (value >= low) & (value <= high))
}

/// Few numbers are compared one after the other in vector instructions; of more each value is searched among them.
const FEW: usize = 8;

fn one_of<T: Copy + PartialEq + Into<i64> + TryFrom<i64>>(
    list: &[T],
    rows: usize,
    numbers: &[i64],
) -> RowSet {
    if numbers.len() > FEW {
        return RowSet::of(list, rows, |value| numbers.binary_search(&value.into()).is_ok());
    }
    let mut found = RowSet::none(rows);
    for number in numbers.iter().filter_map(|n| T::try_from(*n).ok()) {
        found.or(&RowSet::of(list, rows, |value| value == number));
    }
    found
}
