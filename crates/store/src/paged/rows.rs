//! Values of some rows of a column.
//!
//! They are a piece only where the column itself can no longer be read: the number of rows, `u32` little-endian; their numbers, `u32`, in
//! ascending order; a [column](crate::columns) of their values.

use crate::columns::Column;
use crate::kind::DataType;
use crate::value::FieldValue;

/// Values of some rows of a column of a type.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The rows in ascending order, each with the place of its value.
    places: Vec<(u32, u32)>,
    values: Column,
}

impl Rows {
    /// None yet, of values like those of a column without rows.
    pub(super) fn new(empty: &Column) -> Rows {
        Rows { places: Vec::new(), values: empty.clone() }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The last row.
    pub(super) fn last(&self) -> Option<usize> {
        self.places.last().map(|(row, _)| *row as usize)
    }

    fn find(&self, row: usize) -> Result<usize, usize> {
        self.places.binary_search_by_key(&row, |(row, _)| *row as usize)
    }

    /// The column that has the value of a row, and its row there; nothing where this has none of it.
    pub(super) fn get(&self, row: usize) -> Option<(&Column, usize)> {
        let (_, place) = self.places.get(self.find(row).ok()?)?;
        Some((&self.values, *place as usize))
    }

    pub(super) fn set(&mut self, row: usize, value: Option<&FieldValue>) {
        let place = self.place(row);
        self.values.set(place, value);
    }

    /// Takes the value of a row from others.
    fn take(&mut self, row: usize, from: &Column, at: usize, kind: &DataType) {
        let place = self.place(row);
        self.values.take(place, from, at, kind);
    }

    /// The place of the value of a row, which is behind the last if there is none yet.
    fn place(&mut self, row: usize) -> usize {
        match self.find(row) {
            Ok(found) => self.places.get(found).map_or(0, |(_, place)| *place as usize),
            Err(before) => {
                let place = self.places.len();
                self.places.insert(before, (row as u32, place as u32));
                place
            }
        }
    }

    /// Puts the values in their rows of a column.
    pub(crate) fn put_into(&self, column: &mut Column, kind: &DataType) {
        for (row, place) in &self.places {
            column.take(*row as usize, &self.values, *place as usize, kind);
        }
    }

    /// The rows whose values are not what they were.
    pub(super) fn since(&self, then: Option<&Rows>, empty: &Column, kind: &DataType) -> Rows {
        let mut found = Rows::new(empty);
        for (row, place) in self.places.iter().map(|(row, place)| (*row as usize, *place as usize))
        {
            let known = then.and_then(|then| then.get(row));
            if !known.is_some_and(|(column, at)| self.values.is_same(place, column, at, kind)) {
                found.take(row, &self.values, place, kind);
            }
        }
        found
    }

    /// Adds the bytes of the piece.
    pub(super) fn write(&self, empty: &Column, kind: &DataType, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.places.len() as u32).to_le_bytes());
        self.places.iter().for_each(|(row, _)| out.extend_from_slice(&row.to_le_bytes()));
        let mut values = empty.clone();
        for (at, (_, place)) in self.places.iter().enumerate() {
            values.take(at, &self.values, *place as usize, kind);
        }
        values.write(out);
    }

    /// What makes a column that has some rows one with as many or more, of a piece; nothing if it does not.
    pub(crate) fn read(
        kind: &DataType,
        (before, now): (usize, usize),
        piece: &[u8],
    ) -> Option<Rows> {
        let (count, rest) = piece.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (rows, values) = rest.split_at_checked(count.checked_mul(size_of::<u32>())?)?;
        let rows = rows.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row));
        let places: Vec<(u32, u32)> = rows.zip(0..).collect();
        let ascend = places.is_sorted_by(|(a, _), (b, _)| a < b);
        let are_rows = places.last().is_none_or(|(last, _)| (*last as usize) < now);
        // Each row that is new has a value.
        let new = places.iter().filter(|(row, _)| *row as usize >= before).count();
        let are_all = before + new == now;
        let fill = |out: &mut [u8]| {
            out.copy_from_slice(values);
            Ok::<(), std::convert::Infallible>(())
        };
        let values = Column::read(kind, count, values.len(), fill).ok().flatten()?;
        (ascend && are_rows && are_all).then_some(Rows { places, values })
    }

    pub(super) fn memory(&self) -> usize {
        self.places.capacity() * size_of::<(u32, u32)>() + self.values.memory()
    }
}

#[cfg(test)]
mod tests {
    use stead_expr::compile;

    use super::Rows;
    use crate::columns::Column;
    use crate::kind::DataType;
    use crate::value::FieldValue;

    fn tensor(text: &str) -> FieldValue {
        FieldValue::Tensor(compile(text, &|_: &str| None).unwrap().run(&[]).unwrap())
    }

    /// A type with three values of it.
    fn kinds() -> Vec<(DataType, [FieldValue; 3])> {
        let text = |text: &str| FieldValue::Text(text.to_owned());
        let dense = |cells: &str| tensor(&format!("tensor<float>(x[2]):{cells}"));
        let blocks = |blocks: &str| tensor(&format!("tensor<int8>(k{{}},x[2]):{blocks}"));
        let of = |value: &FieldValue| match value {
            FieldValue::Tensor(value) => DataType::Tensor(value.kind().clone()),
            _ => panic!(),
        };
        vec![
            (DataType::Int, [3, -4, 0].map(FieldValue::Integer)),
            (DataType::Double, [0.5, -1.0, 0.0].map(FieldValue::Number)),
            (DataType::Bool, [true, false, true].map(FieldValue::Bool)),
            (DataType::Text, ["longer", "", "c"].map(text)),
            (DataType::Raw, [vec![1, 2, 3], vec![], vec![0]].map(FieldValue::Bytes)),
            (
                DataType::Array(Box::new(DataType::Text)),
                [vec![text("a"), text("bc")], vec![], vec![text("d")]].map(FieldValue::Array),
            ),
            (
                DataType::WeightedSet(Box::new(DataType::Int)),
                [vec![(FieldValue::Integer(7), -2)], vec![], vec![(FieldValue::Integer(8), 1)]]
                    .map(FieldValue::Weighted),
            ),
            (of(&dense("[0,0]")), ["[1,2]", "[0,0]", "[7,8]"].map(dense)),
            (of(&blocks("{}")), [blocks("{a:[1,2],b:[3,4]}"), blocks("{}"), blocks("{7:[5,6]}")]),
        ]
    }

    fn bytes(column: &Column) -> Vec<u8> {
        let mut out = Vec::new();
        column.write(&mut out);
        out
    }

    fn stamps(column: &Column) -> Vec<Option<u64>> {
        let Column::Tensors(tensors) = column else { return Vec::new() };
        (0..8).map(|row| tensors.stamp(row)).collect()
    }

    #[test]
    fn rows_that_have_changed_take_their_place_in_the_column() {
        for (kind, [a, b, c]) in kinds() {
            let empty = Column::new(&kind).unwrap();
            let mut column = empty.clone();
            [Some(&a), Some(&b), None, Some(&c), Some(&a)]
                .into_iter()
                .enumerate()
                .for_each(|(row, value)| column.set(row, value));
            // In the place of others, of none, to none, and behind the last.
            let changes =
                [(3, Some(&a)), (0, None), (2, Some(&b)), (5, Some(&c)), (6, None), (3, Some(&b))];
            let (mut rows, mut expected) = (Rows::new(&empty), column.copied(0));
            for (row, value) in changes {
                rows.set(row, value);
                expected.set(row, value);
            }
            assert_eq!((rows.len(), rows.last()), (5, Some(6)), "{kind:?}");
            assert!(rows.get(1).is_none() && rows.get(7).is_none(), "{kind:?}");
            let (values, at) = rows.get(3).unwrap();
            assert_eq!(values.value(at, &kind).as_ref(), Some(&b), "{kind:?}");
            let merge = |rows: &Rows| {
                let mut merged = column.copied(0);
                rows.put_into(&mut merged, &kind);
                merged
            };
            assert_eq!(bytes(&merge(&rows)), bytes(&expected), "{kind:?}");
            assert_eq!(stamps(&merge(&rows)), stamps(&merge(&rows)), "{kind:?}");

            // As a piece.
            let mut piece = Vec::new();
            rows.write(&empty, &kind, &mut piece);
            let read = Rows::read(&kind, (5, 7), &piece).unwrap();
            assert_eq!(bytes(&merge(&read)), bytes(&expected), "{kind:?}");
            for rows in [(5, 6), (5, 8), (4, 7)] {
                assert!(Rows::read(&kind, rows, &piece).is_none(), "{kind:?}: other rows {rows:?}");
            }
            for cut in 0..piece.len() {
                assert!(
                    Rows::read(&kind, (5, 7), &piece[..cut]).is_none(),
                    "{kind:?}: cut to {cut}"
                );
            }

            // What is as it was, and what is not.
            assert_eq!(rows.since(Some(&rows.clone()), &empty, &kind).len(), 0, "{kind:?}");
            assert_eq!(rows.since(None, &empty, &kind).len(), 5, "{kind:?}");
            let mut now = rows.clone();
            now.set(2, Some(&c));
            now.set(4, None);
            let since = now.since(Some(&rows), &empty, &kind);
            let is_there = |row: usize| since.get(row).is_some();
            assert_eq!([0, 2, 3, 4, 5, 6].map(is_there), [false, true, false, true, false, false]);
        }
    }
}
