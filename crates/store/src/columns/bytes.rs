//! Columns as bytes: the pieces of snapshots. All numbers are little-endian.
//!
//! | column | bytes |
//! |---|---|
//! | numbers | of each row: bool `u8`, byte `i8`, int `i32`, long and position `i64`, float16 and float `f32`, double `f64` |
//! | texts, raw | the end of each among the bytes of all, `u32`; the bytes of all |
//! | dense tensors | the cells of all; `u64` words, as many as it takes for a bit for each row: bit `b` of word `i` tells that row `64 * i + b` has no tensor, but zeros |
//! | mixed tensors | the block with which each row begins, and the number of all blocks, `u32`; for each block its labels, each the number of bytes as a LEB128 and the bytes; the cells of all |
//! | arrays | the element with which each row begins, and the number of all elements, `u32`; the elements as numbers or texts |
//! | weighted sets | as arrays, with an `i32` for each element before the elements |
//!
//! A row without a value has what [`Column::set`] puts there.

use bytemuck::{Pod, Zeroable};
use stead_expr::{Labels, MAX_LABEL};

use super::{Column, Elements, ManyColumn, NumberColumn, NumberList, Pieces, RawColumn};
use super::{TensorColumn, TextList};
use crate::body::Bytes;
use crate::kind::DataType;

// Values are written and read as they lie in memory.
const _: () = assert!(cfg!(target_endian = "little"));

/// A list from its bytes, which are those of whole elements.
pub(super) fn list<T: Pod + Zeroable>(bytes: &[u8]) -> Vec<T> {
    let mut list = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    let whole = list.len() * size_of::<T>();
    bytemuck::cast_slice_mut(&mut list).copy_from_slice(&bytes[..whole]);
    list
}

/// Fills bytes with others, of the same number.
pub(super) fn copy(to: &mut [u8], from: &[u8]) -> Result<(), std::convert::Infallible> {
    to.copy_from_slice(from);
    Ok(())
}

impl Column {
    /// Adds the bytes of the column.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Column::Numbers(numbers) => out.extend_from_slice(numbers.list().bytes()),
            Column::Texts(texts) => texts.texts().write(out),
            Column::Raw(raw) => raw.pieces().write(out),
            Column::Tensors(tensors) => tensors.write(out),
            Column::Many(many) => {
                out.extend_from_slice(bytemuck::cast_slice(many.offsets()));
                if let Some(weights) = many.weights() {
                    out.extend_from_slice(bytemuck::cast_slice(weights));
                }
                match many.elements() {
                    Elements::Numbers(list) => out.extend_from_slice(list.bytes()),
                    Elements::Texts(texts) => texts.texts().write(out),
                }
            }
        }
    }

    /// The column of an attribute of a type with so many rows from its `len` bytes, which `fill` writes, where values of
    /// fixed width come to lie. `None` if they are none.
    ///
    /// # Errors
    /// Those of `fill`.
    pub(crate) fn read<E>(
        kind: &DataType,
        rows: usize,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Option<Column>, E> {
        match kind {
            DataType::Tensor(kind) if kind.is_dense() => {
                let tensors = TensorColumn::dense(kind, rows, len, fill)?;
                return Ok(tensors.map(Column::Tensors));
            }
            number if Column::width(number).is_some() => {
                let empty = NumberList::new(number);
                let fits = Column::width(number).and_then(|w| rows.checked_mul(w)) == Some(len);
                let Some(empty) = empty.filter(|_| fits) else { return Ok(None) };
                let list = empty.filled(rows, fill)?;
                return Ok(Some(Column::Numbers(NumberColumn::new(list))));
            }
            _ => {}
        }
        let mut bytes = vec![0; len];
        fill(&mut bytes)?;
        Ok(match kind {
            DataType::Text | DataType::Predicate => {
                Pieces::read(rows, &bytes).and_then(TextList::of).map(Column::Texts)
            }
            DataType::Raw => Pieces::read(rows, &bytes).map(RawColumn::of).map(Column::Raw),
            DataType::Tensor(kind) => mixed(kind, rows, &bytes).map(Column::Tensors),
            DataType::Array(of) => many(of, rows, &bytes, false).map(Column::Many),
            DataType::WeightedSet(of) => many(of, rows, &bytes, true).map(Column::Many),
            _ => None,
        })
    }
}

/// The offsets of so many rows, and what follows.
fn offsets(rows: usize, bytes: &[u8]) -> Option<(Vec<u32>, &[u8])> {
    let (offsets, rest) = bytes.split_at_checked((rows + 1).checked_mul(size_of::<u32>())?)?;
    Some((list(offsets), rest))
}

fn mixed(kind: &stead_expr::TensorType, rows: usize, bytes: &[u8]) -> Option<TensorColumn> {
    let (offsets, rest) = offsets(rows, bytes)?;
    let count = (*offsets.last()? as usize).checked_mul(kind.mapped_count())?;
    // A label has a byte at least.
    if count > rest.len() {
        return None;
    }
    let (mut labels, mut rest) = (Labels::with_capacity(count), Bytes::new(rest));
    for _ in 0..count {
        labels.push(rest.text().ok().filter(|label| label.len() <= MAX_LABEL)?);
    }
    TensorColumn::mixed(kind, offsets, labels, rest.rest())
}

fn many(of: &DataType, rows: usize, bytes: &[u8], is_weighted: bool) -> Option<ManyColumn> {
    let (offsets, rest) = offsets(rows, bytes)?;
    let count = *offsets.last()? as usize;
    let (weights, rest) = match is_weighted {
        true => {
            let (weights, rest) = rest.split_at_checked(count.checked_mul(size_of::<i32>())?)?;
            (Some(list(weights)), rest)
        }
        false => (None, rest),
    };
    let elements = match of {
        DataType::Text => Elements::Texts(TextList::of(Pieces::read(count, rest)?)?),
        number => {
            let empty = NumberList::new(number)?;
            if count.checked_mul(Column::width(number)?)? != rest.len() {
                return None;
            }
            Elements::Numbers(empty.filled(count, |bytes| copy(bytes, rest)).ok()?)
        }
    };
    ManyColumn::of(offsets, elements, weights)
}
