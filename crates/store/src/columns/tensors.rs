//! Columns of tensors.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use stead_expr::{
    Attribute, CellType, Cells, Label, Labels, Numbers, TensorType, Value, each_cell,
};
use stead_tensor::{AlignedBuf, Bits};

use super::bytes::{copy, list};
use super::placed::Placed;
use super::stamps::Stamps;
use super::vectors::{ColumnVectors, VectorCell};
use crate::body;

/// A tensor for each document, their cells behind each other.
#[derive(Debug, Clone)]
pub struct TensorColumn {
    kind: TensorType,
    rows: usize,
    cells: Placed,
    /// Of types with mapped dimensions.
    mapped: Option<Mapped>,
    /// The rows without a tensor, of dense types: their cells are zeros, which are values too.
    absent: Bits,
    /// Of dense types.
    stamps: Stamps,
}

/// What tensors with labels have beside their cells.
#[derive(Debug, Clone)]
struct Mapped {
    /// The block with which each document begins, and the number of all blocks.
    offsets: Vec<u32>,
    labels: Vec<Label>,
    /// Holds the texts of the labels of each document. Whole numbers need nobody who does; a copy of the column shares
    /// the rest, since to hold a label anew takes a lock.
    held: Vec<Option<Arc<Labels>>>,
}

impl TensorColumn {
    pub(super) fn new(kind: TensorType) -> TensorColumn {
        let none = || Mapped { offsets: vec![0], labels: Vec::new(), held: Vec::new() };
        let mapped = (!kind.is_dense()).then(none);
        let (cells, absent) = (Placed::Growing(Cells::zeros(kind.cell(), 0)), Bits::default());
        TensorColumn { cells, kind, rows: 0, mapped, absent, stamps: Stamps::default() }
    }

    /// So many tensors of a dense type from their `len` [bytes](TensorColumn::write), which `fill` writes. `None` if they are none.
    pub(super) fn dense<E>(
        kind: &TensorType,
        rows: usize,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Option<TensorColumn>, E> {
        let size = kind.cell().size();
        // Words are of whole cells: these have at most 8 bytes.
        let (count, more) = (rows * kind.block_size(), rows.div_ceil(64) * 8 / size);
        if (count + more).checked_mul(size) != Some(len) {
            return Ok(None);
        }
        let (mut cells, mut words) = (filled(kind, count + more, fill)?, Vec::new());
        each_cell!(&mut cells, cells => {
            words.extend(list::<u64>(bytemuck::cast_slice(&cells[count..])));
            cells.to_mut().truncate(count);
        });
        let Some(absent) = Bits::from_words(words, rows) else { return Ok(None) };
        let (kind, stamps, cells) = (kind.clone(), Stamps::new(rows), Placed::Growing(cells));
        Ok(Some(TensorColumn { kind, rows, cells, mapped: None, absent, stamps }))
    }

    /// Tensors of a type with mapped dimensions: the block with which each begins, and the number of all; the labels of all blocks; the
    /// bytes of their cells. Nothing if these do not fit each other.
    pub(super) fn mixed(
        kind: &TensorType,
        offsets: Vec<u32>,
        labels: Labels,
        cells: &[u8],
    ) -> Option<TensorColumn> {
        let (blocks, width) = (*offsets.last()? as usize, kind.mapped_count());
        let count = blocks.checked_mul(kind.block_size())?;
        let fits = count.checked_mul(kind.cell().size())? == cells.len()
            && labels.as_slice().len() == blocks.checked_mul(width)?
            && offsets.first() == Some(&0)
            && offsets.is_sorted();
        if !fits {
            return None;
        }
        let cells = filled(kind, count, |bytes| copy(bytes, cells)).ok()?;
        let rows = offsets.len() - 1;
        let all = labels.as_slice();
        let of = |row: usize| {
            let [begin, end] = [offsets[row], offsets[row + 1]].map(|at| at as usize * width);
            hold(&all[begin..end])
        };
        let held = (0..rows).map(of).collect();
        let mapped = Some(Mapped { labels: all.to_vec(), held, offsets });
        let cells = Placed::Growing(cells);
        let (absent, stamps) = (Bits::default(), Stamps::default());
        Some(TensorColumn { kind: kind.clone(), rows, cells, mapped, absent, stamps })
    }

    /// Adds the bytes of the [column](super::bytes).
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(mapped) = &self.mapped {
            out.extend_from_slice(bytemuck::cast_slice(&mapped.offsets));
            mapped.labels.iter().for_each(|label| body::text(&label.text(), out));
        }
        each_cell!(&self.cells.cells(), cells => out.extend_from_slice(bytemuck::cast_slice(cells)));
        if self.mapped.is_none() {
            let mut words = self.absent.words().to_vec();
            words.resize(self.rows.div_ceil(64), 0);
            out.extend_from_slice(bytemuck::cast_slice(&words));
        }
    }

    /// Their type.
    #[must_use]
    pub fn kind(&self) -> &TensorType {
        &self.kind
    }

    /// Whether the blocks of one more tensor can be told apart.
    pub(super) fn has_room(&self, value: &Value) -> bool {
        let known = self.mapped.as_ref().map_or(0, |m| m.offsets.last().map_or(0, |n| *n as usize));
        u32::try_from(known.saturating_add(value.blocks())).is_ok()
    }

    /// Puts a tensor of its type in the place of another, or behind the last; nothing is zeros, or no blocks.
    pub(super) fn set(&mut self, row: usize, value: Option<&Value>) {
        let size = self.kind.block_size();
        let value = value.filter(|value| *value.kind() == self.kind);
        let is_new = row >= self.rows;
        self.rows = self.rows.max(row + 1);
        if self.mapped.is_none() {
            let _ = match value {
                Some(_) => self.absent.remove(row),
                None => self.absent.insert(row),
            };
            self.stamps.renew(row);
        }
        let (blocks, count) = match &mut self.mapped {
            None if is_new => (row..row, 1),
            None => (row..row + 1, 1),
            Some(mapped) => {
                let labels = value.map_or(&[][..], Value::labels);
                mapped.set(row, labels, self.kind.mapped_count())
            }
        };
        let zeros;
        let cells = match value {
            Some(value) => value.cells(),
            None => {
                zeros = Cells::zeros(self.kind.cell(), count * size);
                &zeros
            }
        };
        let is_same = self.cells.splice(blocks.start * size..blocks.end * size, cells);
        debug_assert!(is_same, "cells of the type of the column");
    }

    /// Puts the tensor of a row of another column of the same type in a row, with its number.
    pub(super) fn take(&mut self, row: usize, from: &TensorColumn, at: usize) {
        let value = if from.absent.contains(at) { None } else { from.value(at) };
        self.set(row, value.as_ref());
        if let Some(stamp) = from.stamp(at) {
            self.stamps.put(row, stamp);
        }
    }

    /// The same column in memory for at least `room` tensors.
    pub(super) fn copied(&self, room: usize) -> TensorColumn {
        let room = if self.mapped.is_none() { room } else { 0 };
        let cells = self.cells.copied(room * self.kind.block_size());
        let (kind, rows, stamps) = (self.kind.clone(), self.rows, self.stamps.copied(room));
        let (mapped, absent) = (self.mapped.clone(), self.absent.clone());
        TensorColumn { kind, rows, cells, mapped, absent, stamps }
    }

    /// The same tensors with the numbers that they had before they were read again, of dense types.
    pub(super) fn stamped(self, first: u64) -> TensorColumn {
        match self.mapped {
            None => TensorColumn { stamps: Stamps::from(first, self.rows), ..self },
            Some(_) => self,
        }
    }

    /// Gives back memory that nothing lies in: there will be no more rows.
    pub(super) fn shrink(&mut self) {
        self.stamps.shrink();
        if self.mapped.is_none() {
            self.cells.settle();
        }
        if let Some(mapped) = &mut self.mapped {
            // Cells of such tensors become more and fewer as long as they are written.
            self.cells.shrink();
            mapped.offsets.shrink_to_fit();
            mapped.labels.shrink_to_fit();
            mapped.held.shrink_to_fit();
        }
    }

    pub(super) fn memory(&self) -> usize {
        let mapped = self.mapped.as_ref().map_or(0, |mapped| {
            let held = mapped.held.iter().flatten().map(|h| 40 + 4 * h.as_slice().len());
            4 * (mapped.offsets.capacity() + mapped.labels.capacity())
                + size_of::<usize>() * mapped.held.capacity()
                + held.sum::<usize>()
        });
        let beside = mapped + size_of_val(self.absent.words()) + self.stamps.memory();
        self.cells.len() * self.kind.cell().size() + beside
    }

    /// The vectors of its documents, of types with one indexed dimension whose cells have this type.
    pub(crate) fn vectors<T: VectorCell>(&self) -> Option<ColumnVectors<'_, T>> {
        let absent = Some(&self.absent).filter(|absent| absent.count() > 0);
        let offsets = self.offsets();
        Some(ColumnVectors { cells: T::numbers(self.cells.cells())?, offsets, absent })
    }

    /// The bytes of the cells of all documents, as they are [written](TensorColumn::write).
    pub(crate) fn bytes<R>(&self, then: impl FnOnce(&[u8]) -> R) -> R {
        each_cell!(&self.cells.cells(), cells => then(bytemuck::cast_slice(cells)))
    }

    /// How many of these are of a block of cells: a vector, of types with one indexed dimension.
    pub(crate) fn vector_bytes(&self) -> usize {
        self.kind.block_size() * self.kind.cell().size()
    }

    /// The block with which each document begins, and the number of all, of types with mapped dimensions.
    pub(crate) fn offsets(&self) -> Option<&[u32]> {
        self.mapped.as_ref().map(|mapped| &*mapped.offsets)
    }

    /// The cells of all documents, if they have this type, lie in a place of their own, and are one vector for each.
    pub(crate) fn whole(&self, cell: CellType) -> Option<&Arc<AlignedBuf>> {
        let is_each = self.mapped.is_none() && self.absent.count() == 0;
        self.cells.whole(cell).filter(|_| is_each)
    }

    /// The documents without a tensor, of dense types; tensors of others have no labels then.
    #[must_use]
    pub fn absent(&self) -> &Bits {
        &self.absent
    }

    /// A number that the tensor of a document has of all tensors that were ever put, and keeps until another is put in its place;
    /// so what was computed of one is known to be that of this one. Nothing for types with mapped dimensions.
    #[must_use]
    pub fn stamp(&self, row: usize) -> Option<u64> {
        self.stamps.get(row)
    }

    /// The tensor of a document; zeros where a dense one is absent.
    #[must_use]
    pub fn value(&self, row: usize) -> Option<Value> {
        let size = self.kind.block_size();
        let (labels, blocks) = match &self.mapped {
            None => (Labels::default(), row..row + 1),
            Some(mapped) => {
                let (blocks, width) = (mapped.blocks(row)?, self.kind.mapped_count());
                let labels = mapped.labels.get(blocks.start * width..blocks.end * width)?;
                (Labels::hold(labels.to_vec()), blocks)
            }
        };
        let cells = self.cells.cells();
        let cells = cells.part(blocks.start * size..blocks.end * size)?.into_owned();
        Value::new(self.kind.clone(), labels, cells).ok()
    }

    /// All tensors for expressions, where they lie.
    pub(super) fn attribute(&self) -> Attribute<'_> {
        let cells = self.cells.cells();
        if let (true, Cells::Double(Cow::Borrowed(numbers))) = (self.kind.is_double(), &cells) {
            return Attribute::Numbers(Numbers::F64(numbers));
        }
        match &self.mapped {
            None => Attribute::Dense { cells, stride: self.kind.block_size() },
            Some(mapped) => Attribute::Mixed {
                offsets: mapped.offsets[..].into(),
                labels: mapped.labels[..].into(),
                cells,
            },
        }
    }

    /// The bytes of a tensor of a type; nothing if tensors differ.
    pub(crate) fn width(kind: &TensorType) -> Option<usize> {
        kind.is_dense().then(|| kind.block_size() * kind.cell().size())
    }
}

impl Mapped {
    fn blocks(&self, row: usize) -> Option<Range<usize>> {
        match self.offsets.get(row..row + 2) {
            Some([begin, end]) => Some(*begin as usize..*end as usize),
            _ => None,
        }
    }

    /// The blocks that give way, and how many come.
    fn set(&mut self, row: usize, labels: &[Label], width: usize) -> (Range<usize>, usize) {
        if row >= self.held.len() {
            self.offsets.extend(self.offsets.last().copied());
            self.held.push(None);
        }
        let (at, count) = (self.blocks(row).unwrap_or(0..0), labels.len() / width);
        self.labels.splice(at.start * width..at.end * width, labels.iter().copied());
        let moved = |place: u32| place as usize + count - at.len();
        self.offsets.iter_mut().skip(row + 1).for_each(|place| *place = moved(*place) as u32);
        self.held[row] = hold(labels);
        (at, count)
    }
}

/// Holds labels if any is a text.
fn hold(labels: &[Label]) -> Option<Arc<Labels>> {
    let has_texts = labels.iter().any(|label| label.as_number().is_none());
    has_texts.then(|| Arc::new(Labels::hold(labels.to_vec())))
}

fn filled<E>(
    kind: &TensorType,
    count: usize,
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Cells<'static>, E> {
    let mut cells = Cells::zeros(kind.cell(), count);
    fill(each_cell!(&mut cells, cells => bytemuck::cast_slice_mut(cells.to_mut())))?;
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use stead_expr::{Value, compile};

    use super::TensorColumn;

    fn literal(text: &str) -> Value {
        compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
    }

    #[test]
    fn tensors_are_put_in_the_place_of_others() {
        let kind = literal("tensor<float>(k{},x[2]):{}").kind().clone();
        let texts = ["{a:[1,2],b:[3,4]}", "{}", "{7:[5,6]}", "{c:[7,8]}"];
        let values = texts.map(|text| literal(&format!("tensor<float>(k{{}},x[2]):{text}")));
        let mut column = TensorColumn::new(kind);
        for (row, value) in values.iter().enumerate() {
            column.set(row, Some(value));
        }
        for (row, value) in [(1, 0), (0, 2), (3, 1), (2, 3)] {
            column.set(row, Some(&values[value]));
        }
        let copy = column.copied(9);
        column.set(0, None);
        for (column, expected) in [(&copy, [2, 0, 3, 1]), (&column, [1, 0, 3, 1])] {
            let found = [0, 1, 2, 3].map(|row| column.value(row).unwrap());
            assert_eq!(found, expected.map(|at| values[at].clone()));
        }

        let values = ["[1,2]", "[3,4]", "[0,0]"];
        let values = values.map(|text| literal(&format!("tensor<int8>(x[2]):{text}")));
        let mut column = TensorColumn::new(values[0].kind().clone());
        column.set(0, None);
        column.set(1, Some(&values[1]));
        column.set(0, Some(&values[0]));
        assert_eq!([0, 1].map(|row| column.value(row)), [0, 1].map(|at| Some(values[at].clone())));
        column.set(1, None);
        assert_eq!(column.value(1), Some(values[2].clone()));
        assert_eq!(column.value(2), None);
        // Zeros that were put are a value.
        let stamp = column.stamp(0);
        column.set(0, Some(&values[2]));
        assert!(column.stamp(0).is_some() && column.stamp(0) != stamp);
        assert_eq!((column.copied(9).stamp(0), column.stamp(2)), (column.stamp(0), None));
        assert_eq!(column.absent().iter().collect::<Vec<_>>(), [1]);
        assert_eq!(column.copied(9).absent(), column.absent());
    }
}
