//! Columns: the values of an attribute for the documents of a block, one after the other.

mod bytes;
mod many;
mod number_column;
mod numbers;
mod pieces;
mod placed;
mod postings;
mod stamps;
mod tensors;
mod texts;
mod vectors;

pub use many::{Elements, ManyColumn};
pub use number_column::NumberColumn;
pub use numbers::NumberList;
pub(crate) use pieces::Pieces;
pub use postings::Postings;
pub(crate) use stamps::reserve as reserve_stamps;
pub use tensors::TensorColumn;
pub use texts::{RawColumn, TextList};
pub(crate) use vectors::{ColumnVectors, VectorCell};

use stead_expr::{Attribute, Numbers};

use crate::kind::DataType;
use crate::value::FieldValue;

/// The values of an attribute.
#[derive(Debug)]
pub enum Column {
    /// A number for each document.
    Numbers(NumberColumn),
    /// A text for each document.
    Texts(TextList),
    /// A tensor for each document.
    Tensors(TensorColumn),
    /// Bytes for each document.
    Raw(RawColumn),
    /// Several numbers or texts for each document.
    Many(ManyColumn),
}

impl Column {
    /// An empty column for values of a type; nothing for those that no attribute can have.
    pub(crate) fn new(kind: &DataType) -> Option<Column> {
        Some(match kind {
            DataType::Text | DataType::Predicate => Column::Texts(TextList::default()),
            DataType::Raw => Column::Raw(RawColumn::default()),
            DataType::Tensor(kind) => Column::Tensors(TensorColumn::new(kind.clone())),
            DataType::Array(of) => Column::Many(ManyColumn::new(Elements::new(of)?, false)),
            DataType::WeightedSet(of) => Column::Many(ManyColumn::new(Elements::new(of)?, true)),
            DataType::Map(..) | DataType::Struct(_) => return None,
            number => Column::Numbers(NumberColumn::new(NumberList::new(number)?)),
        })
    }

    /// The bytes that each value takes; nothing if values differ.
    pub(crate) fn width(kind: &DataType) -> Option<usize> {
        match kind {
            DataType::Bool | DataType::Byte => Some(1),
            DataType::Int | DataType::Float16 | DataType::Float => Some(4),
            DataType::Long | DataType::Double | DataType::Position => Some(8),
            DataType::Tensor(kind) => TensorColumn::width(kind),
            _ => None,
        }
    }

    /// Whether there is room for one more value.
    pub(crate) fn has_room(&self, value: &FieldValue) -> bool {
        match (self, value) {
            (Column::Texts(texts), FieldValue::Text(text)) => texts.has_room(text.len()),
            (Column::Raw(raw), FieldValue::Bytes(bytes)) => raw.has_room(bytes.len()),
            (Column::Tensors(tensors), FieldValue::Tensor(value)) => tensors.has_room(value),
            (Column::Many(many), value) => many.has_room(value),
            _ => true,
        }
    }

    /// Puts a value in the place of that of a row, or behind the last; nothing is what a document has without a value: NaN for
    /// numbers, false, an empty text, zeros for dense tensors, no labels and no elements. There is
    /// [room](Column::has_room).
    pub(crate) fn set(&mut self, row: usize, value: Option<&FieldValue>) {
        match self {
            Column::Numbers(numbers) => numbers.set(row, value),
            Column::Texts(texts) => texts.set(
                row,
                match value {
                    Some(FieldValue::Text(text)) => text,
                    _ => "",
                },
            ),
            Column::Tensors(tensors) => tensors.set(
                row,
                match value {
                    Some(FieldValue::Tensor(value)) => Some(value),
                    _ => None,
                },
            ),
            Column::Raw(raw) => raw.set(
                row,
                match value {
                    Some(FieldValue::Bytes(bytes)) => bytes,
                    _ => &[],
                },
            ),
            Column::Many(many) => many.set(row, value),
        }
    }

    /// The same column, with memory for values of fixed width for `rows` documents, so that adding more does not copy it again.
    pub(crate) fn copied(&self, rows: usize) -> Column {
        match self {
            Column::Numbers(numbers) => Column::Numbers(numbers.copied(rows)),
            Column::Texts(texts) => Column::Texts(texts.clone()),
            Column::Tensors(tensors) => Column::Tensors(tensors.copied(rows)),
            Column::Raw(raw) => Column::Raw(raw.clone()),
            Column::Many(many) => Column::Many(many.clone()),
        }
    }

    /// Gives back memory that nothing lies in.
    pub(crate) fn shrink(&mut self) {
        match self {
            Column::Numbers(numbers) => numbers.shrink(),
            Column::Texts(texts) => texts.shrink(),
            Column::Tensors(tensors) => tensors.shrink(),
            Column::Raw(raw) => raw.shrink(),
            Column::Many(many) => many.shrink(),
        }
    }

    /// The value that was put in a row, of a field of this type that [lies in columns](DataType); the column does not tell whether
    /// any was.
    pub(crate) fn value(&self, row: usize, kind: &DataType) -> Option<FieldValue> {
        match self {
            Column::Numbers(numbers) => numbers.list().value(row, kind),
            Column::Texts(texts) => texts.get(row).map(|text| FieldValue::Text(text.to_owned())),
            Column::Tensors(tensors) => tensors.value(row).map(FieldValue::Tensor),
            Column::Raw(raw) => raw.get(row).map(|bytes| FieldValue::Bytes(bytes.to_vec())),
            Column::Many(many) => many.value(row, kind),
        }
    }

    /// Puts the value of a row of another column of the same type in a row, with its [number](TensorColumn::stamp). There is
    /// [room](Column::has_room).
    pub(crate) fn take(&mut self, row: usize, from: &Column, at: usize, kind: &DataType) {
        match (&mut *self, from) {
            (Column::Tensors(tensors), Column::Tensors(from)) => tensors.take(row, from, at),
            _ => self.set(row, from.value(at, kind).as_ref()),
        }
    }

    /// Whether the value of a row is that of a row of another column of the same type: of dense tensors whether it was put there once for both.
    pub(crate) fn is_same(&self, row: usize, other: &Column, at: usize, kind: &DataType) -> bool {
        match (self, other) {
            (Column::Tensors(own), Column::Tensors(other)) if own.stamp(row).is_some() => {
                own.stamp(row) == other.stamp(at)
            }
            _ => match (self.value(row, kind), other.value(at, kind)) {
                // What is no number is one that is not.
                (Some(FieldValue::Number(a)), Some(FieldValue::Number(b))) => {
                    a.to_bits() == b.to_bits()
                }
                (own, other) => own == other,
            },
        }
    }

    /// The same column, whose tensors have the [numbers](TensorColumn::stamp) from one on: those that they had before.
    pub(crate) fn stamped(self, first: u64) -> Column {
        match self {
            Column::Tensors(tensors) => Column::Tensors(tensors.stamped(first)),
            other => other,
        }
    }

    /// The most memory that it takes while nothing is put: whole numbers may be widened for expressions.
    pub(crate) fn most_memory(&self) -> usize {
        match self {
            Column::Numbers(numbers) if numbers.list().is_whole() => {
                numbers.list().memory() + numbers.list().len() * size_of::<f64>()
            }
            other => other.memory(),
        }
    }

    /// The memory that it takes, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        match self {
            Column::Numbers(numbers) => numbers.memory(),
            Column::Texts(texts) => texts.memory(),
            Column::Tensors(tensors) => tensors.memory(),
            Column::Raw(raw) => raw.memory(),
            Column::Many(many) => many.memory(),
        }
    }

    /// The column as expressions see it, in the type in which it is stored: a number or a tensor for each document, of texts
    /// their hashes. Columns of several values have no such form.
    #[must_use]
    pub fn attribute(&self) -> Option<Attribute<'_>> {
        match self {
            Column::Numbers(numbers) => Some(Attribute::Numbers(numbers.numbers())),
            Column::Texts(texts) => Some(Attribute::Numbers(Numbers::F64(texts.hashes()))),
            Column::Tensors(tensors) => Some(tensors.attribute()),
            Column::Raw(_) | Column::Many(_) => None,
        }
    }
}

// Of rows as many as there are; NumberColumn keeps what it has widened for itself.
impl Clone for Column {
    fn clone(&self) -> Column {
        self.copied(0)
    }
}
