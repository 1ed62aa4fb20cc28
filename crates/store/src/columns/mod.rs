//! Columns: the values of an attribute for all documents, one after the other.

mod many;
mod numbers;
mod texts;

pub use many::{Elements, ManyColumn};
pub use numbers::{NumberColumn, NumberList};
pub use texts::{RawColumn, TextList};

use stead_expr::{Attribute, Numbers, Stored, TensorType, Value};

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
    Tensors(Stored),
    /// Bytes for each document.
    Raw(RawColumn),
    /// Several numbers or texts for each document.
    Many(ManyColumn),
}

impl Column {
    /// An empty column for values of a type; nothing for those that no attribute can have.
    pub(crate) fn new(kind: &DataType) -> Option<Column> {
        Some(match kind {
            DataType::Text => Column::Texts(TextList::default()),
            DataType::Raw => Column::Raw(RawColumn::default()),
            DataType::Tensor(kind) => Column::Tensors(Stored::new(kind.clone())),
            DataType::Array(of) => Column::Many(ManyColumn::new(Elements::new(of)?, false)),
            DataType::WeightedSet(of) => Column::Many(ManyColumn::new(Elements::new(of)?, true)),
            DataType::Position => Column::Numbers(NumberColumn::new(NumberList::I64(Vec::new()))),
            DataType::Map(..) | DataType::Struct(_) => return None,
            number => Column::Numbers(NumberColumn::new(NumberList::new(number)?)),
        })
    }

    /// Adds the value of the next document; nothing is what it has without a value: NaN for numbers, false, an empty
    /// text, zeros for dense tensors, no labels and no elements. Returns false if there are too many values for one column.
    #[must_use]
    pub(crate) fn push(&mut self, value: Option<&FieldValue>) -> bool {
        match self {
            Column::Numbers(numbers) => {
                numbers.push(value);
                true
            }
            Column::Texts(texts) => {
                texts.push(match value {
                    Some(FieldValue::Text(text)) => text,
                    _ => "",
                });
                true
            }
            Column::Tensors(tensors) => match value {
                Some(FieldValue::Tensor(value)) => tensors.push(value),
                _ => {
                    let nothing = nothing(tensors.kind());
                    nothing.is_some_and(|value| tensors.push(&value))
                }
            },
            Column::Raw(raw) => {
                raw.push(match value {
                    Some(FieldValue::Bytes(bytes)) => bytes,
                    _ => &[],
                });
                true
            }
            Column::Many(many) => many.push(value),
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

/// The tensor of a document that has none: zeros, or no blocks.
fn nothing(kind: &TensorType) -> Option<Value> {
    let cells = if kind.is_dense() { kind.block_size() } else { 0 };
    let cells = stead_expr::Cells::zeros(kind.cell(), cells);
    Value::new(kind.clone(), stead_expr::Labels::default(), cells).ok()
}
