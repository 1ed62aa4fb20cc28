//! Arrays of numbers and strings, flat or nested, into typed buffers.

use super::{JsonError, JsonNumber, Kind, Reader};
use stead_tensor::MAX_RANK;

/// The dimensions of a nested array, outermost first.
pub type ArrayShape = Vec<usize>;

/// What a walk over a nested array tells.
trait Sink {
    fn leaf(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), JsonError>;
    fn close(&mut self, depth: usize, count: usize, offset: usize) -> Result<(), JsonError>;
}

/// Walks over a value: a leaf or an array of arrays of leaves. No recursion: the depth is the attacker's.
fn walk(reader: &mut Reader<'_>, sink: &mut impl Sink) -> Result<(), JsonError> {
    let mut counts: Vec<usize> = Vec::with_capacity(MAX_RANK);
    loop {
        reader.skip_space();
        if reader.take(b'[') {
            reader.enter()?;
            reader.skip_space();
            if !reader.take(b']') {
                counts.push(0);
                continue;
            }
            reader.leave();
            sink.close(counts.len() + 1, 0, reader.pos)?;
        } else {
            sink.leaf(reader, counts.len())?;
        }
        loop {
            let Some(count) = counts.last_mut() else { return Ok(()) };
            *count += 1;
            let total = *count;
            reader.skip_space();
            if reader.take(b',') {
                break;
            }
            if !reader.take(b']') {
                return Err(reader.syntax("',' or ']'"));
            }
            reader.leave();
            sink.close(counts.len(), total, reader.pos)?;
            counts.pop();
        }
    }
}

struct Flat<'s, F> {
    expected: usize,
    count: usize,
    store: &'s mut F,
}

impl<F: FnMut(usize, &mut Reader<'_>) -> Result<(), JsonError>> Sink for Flat<'_, F> {
    fn leaf(&mut self, reader: &mut Reader<'_>, _depth: usize) -> Result<(), JsonError> {
        if self.count == self.expected {
            return Err(JsonError::Count { expected: self.expected, actual: self.count + 1 });
        }
        (self.store)(self.count, reader)?;
        self.count += 1;
        Ok(())
    }

    fn close(&mut self, _depth: usize, _count: usize, _offset: usize) -> Result<(), JsonError> {
        Ok(())
    }
}

/// Reads an array of exactly `expected` leaves in row-major order, however nested (Triton takes `[[1],[2]]` for
/// `[1,2]`); `store` reads the leaf of the given index.
///
/// # Errors
/// [`JsonError::Count`] for another number of leaves, [`JsonError::Type`] when it is no array, and what
/// `store` returns.
pub fn read_flat(
    reader: &mut Reader<'_>,
    expected: usize,
    mut store: impl FnMut(usize, &mut Reader<'_>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    if reader.peek()? != Kind::Array {
        return Err(reader.wrong_kind("array"));
    }
    let mut sink = Flat { expected, count: 0, store: &mut store };
    walk(reader, &mut sink)?;
    if sink.count == expected {
        Ok(())
    } else {
        Err(JsonError::Count { expected, actual: sink.count })
    }
}

struct NdArray<'s, F> {
    /// Known once the first array of each level closed.
    dims: Vec<Option<usize>>,
    /// Set by the first leaf or the first empty array.
    rank: Option<usize>,
    store: &'s mut F,
}

impl<F: FnMut(&mut Reader<'_>) -> Result<(), JsonError>> NdArray<'_, F> {
    fn fix_rank(&mut self, rank: usize, offset: usize) -> Result<(), JsonError> {
        if *self.rank.get_or_insert(rank) == rank {
            Ok(())
        } else {
            Err(JsonError::Ragged { offset })
        }
    }
}

impl<F: FnMut(&mut Reader<'_>) -> Result<(), JsonError>> Sink for NdArray<'_, F> {
    fn leaf(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), JsonError> {
        self.fix_rank(depth, reader.pos)?;
        (self.store)(reader)
    }

    fn close(&mut self, depth: usize, count: usize, offset: usize) -> Result<(), JsonError> {
        if count == 0 {
            self.fix_rank(depth, offset)?;
        }
        if self.dims.len() < depth {
            self.dims.resize(depth, None);
        }
        let fits = self.dims.get_mut(depth - 1).is_some_and(|d| *d.get_or_insert(count) == count);
        if fits { Ok(()) } else { Err(JsonError::Ragged { offset }) }
    }
}

/// Reads a value or a rectangular nested array; `store` reads one leaf at a time in row-major order.
///
/// # Errors
/// [`JsonError::Ragged`] when rows differ in length or depth, and what `store` returns.
pub fn read_ndarray(
    reader: &mut Reader<'_>,
    mut store: impl FnMut(&mut Reader<'_>) -> Result<(), JsonError>,
) -> Result<ArrayShape, JsonError> {
    let mut sink = NdArray { dims: Vec::new(), rank: None, store: &mut store };
    walk(reader, &mut sink)?;
    Ok(sink.dims.into_iter().map(|d| d.unwrap_or(0)).collect())
}

/// Reads a rectangular nested array of numbers.
///
/// # Errors
/// As [`read_ndarray`].
pub fn read_numbers<T: JsonNumber>(
    reader: &mut Reader<'_>,
) -> Result<(ArrayShape, Vec<T>), JsonError> {
    let mut values = Vec::new();
    let dims = read_ndarray(reader, |r| {
        values.push(r.number()?);
        Ok(())
    })?;
    Ok((dims, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangular_arrays_have_a_shape_others_are_ragged() {
        let cases: [(&str, Option<(&[usize], &[f32])>); 14] = [
            ("5", Some((&[], &[5.0]))),
            ("[1,2]", Some((&[2], &[1.0, 2.0]))),
            ("[[1],[2],[3]]", Some((&[3, 1], &[1.0, 2.0, 3.0]))),
            ("[ [ [1 , 2] ] ]", Some((&[1, 1, 2], &[1.0, 2.0]))),
            ("[]", Some((&[0], &[]))),
            ("[[],[]]", Some((&[2, 0], &[]))),
            ("[[1],[2,3]]", None),
            ("[1,[2]]", None),
            ("[[1],2]", None),
            ("[[],1]", None),
            ("[[1],[]]", None),
            ("[[],[[]]]", None),
            ("[1,", None),
            ("[1,\"a\"]", None),
        ];
        for (text, expected) in cases {
            let got = read_numbers::<f32>(&mut Reader::new(text.as_bytes())).ok();
            let got = got.as_ref().map(|(d, v)| (d.as_slice(), v.as_slice()));
            assert_eq!(got, expected, "{text}");
        }
    }

    #[test]
    fn flat_reading_counts() {
        let cases = [
            ("[1,2,3]", Ok(vec![1, 2, 3])),
            ("[[1],[2,3]]", Ok(vec![1, 2, 3])),
            ("[1,2]", Err(JsonError::Count { expected: 3, actual: 2 })),
            ("[1,2,3,4]", Err(JsonError::Count { expected: 3, actual: 4 })),
            ("5", Err(JsonError::Type { offset: 0, expected: "array", actual: "number" })),
        ];
        for (text, expected) in cases {
            let mut out = vec![0i32; 3];
            let got = read_flat(&mut Reader::new(text.as_bytes()), 3, |i, r| {
                out[i] = r.number()?;
                Ok(())
            });
            assert_eq!(got.map(|()| out), expected, "{text}");
        }
        let deep = "[".repeat(100_000);
        let got = read_flat(&mut Reader::new(deep.as_bytes()), 1, |_, _| Ok(()));
        assert_eq!(got, Err(JsonError::TooDeep));
    }
}
