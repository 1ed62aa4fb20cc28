//! Single vectors of a column on disk.
//!
//! A piece has one checksum, which only who reads all of it can compare. Whoever does so takes down one for each vector, so that from then on a
//! vector is read alone and is known to be what was written.

use std::ops::Range;

use stead_tensor::Bits;

use crate::columns::TensorColumn;

/// Where the vectors of a column lie in its piece, and their checksums.
#[derive(Debug)]
pub(crate) struct VectorSums {
    /// Where the first begins in the piece.
    begin: usize,
    /// The bytes of a vector.
    width: usize,
    /// The vector with which each document begins, and the number of all, where documents may have several.
    offsets: Option<Box<[u32]>>,
    /// The documents without a vector, where documents have one.
    absent: Bits,
    /// The crc32c of each.
    sums: Box<[u32]>,
}

impl VectorSums {
    /// Those of a column whose piece has so many bytes.
    pub(super) fn new(column: &TensorColumn, piece: usize) -> VectorSums {
        let width = column.vector_bytes();
        let (sums, cells) = column.bytes(|bytes| {
            let sums = bytes.chunks_exact(width.max(1)).map(crc32c::crc32c).collect();
            (sums, bytes.len())
        });
        let offsets = column.offsets().map(Box::from);
        // Behind the labels, or before everything else.
        let begin = if offsets.is_some() { piece.saturating_sub(cells) } else { 0 };
        VectorSums { begin, width, offsets, absent: column.absent().clone(), sums }
    }

    /// The vectors of a document, by their numbers in the column.
    pub(crate) fn of(&self, row: usize) -> Range<usize> {
        match &self.offsets {
            None if row >= self.sums.len() || self.absent.contains(row) => 0..0,
            None => row..row + 1,
            Some(offsets) => match offsets.get(row..).and_then(|rest| rest.first_chunk()) {
                Some([begin, end]) => *begin as usize..*end as usize,
                None => 0..0,
            },
        }
    }

    /// Whether documents have one vector at most.
    pub(super) fn is_one_each(&self) -> bool {
        self.offsets.is_none()
    }

    /// The documents without a vector, where documents have one.
    pub(super) fn absent(&self) -> &Bits {
        &self.absent
    }

    /// Where some vectors lie in the piece, which has them: where they begin, and their bytes.
    pub(super) fn place(&self, vectors: &Range<usize>) -> Option<(usize, usize)> {
        let is_there = vectors.start <= vectors.end && vectors.end <= self.sums.len();
        is_there.then(|| (self.begin + vectors.start * self.width, vectors.len() * self.width))
    }

    /// Whether bytes are those of some vectors.
    pub(super) fn are(&self, vectors: Range<usize>, bytes: &[u8]) -> bool {
        let Some(sums) = self.sums.get(vectors) else { return false };
        let found = bytes.chunks_exact(self.width.max(1)).map(crc32c::crc32c);
        bytes.len() == sums.len() * self.width && found.eq(sums.iter().copied())
    }

    /// The memory that they take, in bytes.
    pub(super) fn memory(&self) -> usize {
        let offsets = self.offsets.as_deref().map_or(0, size_of_val);
        size_of::<VectorSums>()
            + offsets
            + size_of_val(&*self.sums)
            + size_of_val(self.absent.words())
    }
}

#[cfg(test)]
mod tests {
    use stead_expr::compile;

    use super::VectorSums;
    use crate::columns::Column;
    use crate::kind::DataType;
    use crate::value::FieldValue;

    fn tensor(text: &str) -> FieldValue {
        FieldValue::Tensor(compile(text, &|_: &str| None).unwrap().run(&[]).unwrap())
    }

    #[test]
    fn vectors_are_known_where_they_lie_in_the_piece() {
        let dense = |cells: &str| Some(tensor(&format!("tensor<float>(x[2]):{cells}")));
        let mixed = |cells: &str| Some(tensor(&format!("tensor<int8>(k{{}},x[2]):{cells}")));
        for (label, values, expected) in [
            (
                "one each, and one has none",
                vec![dense("[1,2]"), None, dense("[5,6]")],
                vec![0..1, 0..0, 2..3, 0..0],
            ),
            (
                "several, and one has none",
                vec![mixed("{a:[1,2],bcd:[3,4]}"), None, mixed("{e:[5,6]}")],
                vec![0..2, 2..2, 2..3, 0..0],
            ),
        ] {
            let Some(FieldValue::Tensor(first)) = &values[0] else { panic!() };
            let kind = DataType::Tensor(first.kind().clone());
            let mut column = Column::new(&kind).unwrap();
            values.iter().enumerate().for_each(|(row, value)| column.set(row, value.as_ref()));
            let mut piece = Vec::new();
            column.write(&mut piece);
            let Column::Tensors(tensors) = &column else { panic!() };
            let sums = VectorSums::new(tensors, piece.len());
            let rows = 0..expected.len();
            assert_eq!(rows.map(|row| sums.of(row)).collect::<Vec<_>>(), expected, "{label}");
            let lies = |vectors: std::ops::Range<usize>| {
                let (begin, bytes) = sums.place(&vectors).unwrap();
                piece[begin..begin + bytes].to_vec()
            };
            for (row, vectors) in expected.into_iter().enumerate() {
                let mut bytes = lies(vectors.clone());
                assert!(sums.are(vectors.clone(), &bytes), "{label}: {row}");
                if let Some(last) = bytes.last_mut() {
                    *last ^= 1;
                    assert!(!sums.are(vectors.clone(), &bytes), "{label}: {row} changed");
                    assert!(!sums.are(vectors, &bytes[1..]), "{label}: {row} cut");
                }
            }
            assert!(sums.place(&(2..4)).is_none() && !sums.are(2..4, &[]), "{label}");
        }
    }
}
