//! Columns of some documents: pieces of what a store has, and what was computed.

use std::borrow::Cow;
use std::ops::Range;

use stead_expr::{Attribute, Cells, Labels, Numbers, Stored, TensorType, Value, map_cells};
use stead_store::{AttributeView, StoreError};

/// Some documents of a view by their numbers.
#[derive(Debug, Clone)]
pub enum Rows<'r> {
    /// One behind the other in one block: their columns are read in place.
    Range(Range<u32>),
    /// In any order, of any blocks.
    List(&'r [u32]),
}

impl Rows<'_> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Rows::Range(range) => range.len(),
            Rows::List(list) => list.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their numbers.
    pub fn iter(&self) -> impl Iterator<Item = u32> + Clone {
        let (range, list) = match self {
            Rows::Range(range) => (range.clone(), &[][..]),
            Rows::List(list) => (0..0, *list),
        };
        range.chain(list.iter().copied())
    }
}

/// Values that were computed, one for each document.
#[derive(Debug)]
pub enum Computed {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Tensors.
    Tensors(Stored),
}

impl Computed {
    /// No values of a type.
    #[must_use]
    pub fn new(kind: &TensorType) -> Computed {
        match kind.is_double() {
            true => Computed::Numbers(Vec::new()),
            false => Computed::Tensors(Stored::new(kind.clone())),
        }
    }

    /// The type of the values, with all sizes.
    #[must_use]
    pub fn kind(&self) -> TensorType {
        match self {
            Computed::Numbers(_) => TensorType::double(),
            Computed::Tensors(tensors) => tensors.kind().clone(),
        }
    }

    /// Adds a value; false if it is of another type, or one too many.
    #[must_use]
    pub fn push(&mut self, value: &Value) -> bool {
        match (self, value.as_double()) {
            (Computed::Numbers(numbers), Some(number)) => {
                numbers.push(number);
                true
            }
            (Computed::Numbers(_), None) => false,
            (Computed::Tensors(tensors), _) => tensors.push(value),
        }
    }

    /// The values as a column.
    #[must_use]
    pub fn attribute(&self) -> Attribute<'_> {
        match self {
            Computed::Numbers(numbers) => Attribute::Numbers(Numbers::F64(numbers)),
            Computed::Tensors(tensors) => tensors.attribute(),
        }
    }
}

/// Documents that stand one behind the other, without a copy.
#[must_use]
pub fn slice<'a>(attribute: Attribute<'a>, rows: &Range<usize>) -> Attribute<'a> {
    match attribute {
        Attribute::Numbers(numbers) => {
            let range = rows.start.min(numbers.len())..rows.end.min(numbers.len());
            Attribute::Numbers(numbers.part(range).unwrap_or(numbers))
        }
        Attribute::Dense { cells, stride } => {
            let range = rows.start * stride..rows.end * stride;
            Attribute::Dense { cells: map_cells!(cells, all => part(all, range)), stride }
        }
        // Offsets are places among all blocks, which therefore stay.
        Attribute::Mixed { offsets, labels, cells } => {
            Attribute::Mixed { offsets: part(offsets, rows.start..rows.end + 1), labels, cells }
        }
    }
}

fn part<T: Copy>(all: Cow<'_, [T]>, range: Range<usize>) -> Cow<'_, [T]> {
    let range = range.start.min(all.len())..range.end.min(all.len());
    match all {
        Cow::Borrowed(all) => Cow::Borrowed(&all[range]),
        Cow::Owned(all) => Cow::Owned(all[range].to_vec()),
    }
}

/// Values that lie in rows of any columns of a type, copied; nothing if one of them is not there.
#[must_use]
pub fn gather<'a>(
    kind: &TensorType,
    mut rows: impl Iterator<Item = Option<(Attribute<'a>, usize)>>,
) -> Option<Computed> {
    let mut gathered = Gathered::new(kind, rows.size_hint().0);
    let is_whole = rows.all(|place| place.is_some_and(|(of, row)| gathered.push(&of, row)));
    if is_whole { gathered.finish() } else { None }
}

/// Copies of values of a type.
enum Gathered<'k> {
    Numbers(Vec<f64>),
    Dense(&'k TensorType, Cells<'static>),
    Mixed(&'k TensorType, Computed),
}

impl Gathered<'_> {
    fn new(kind: &TensorType, room: usize) -> Gathered<'_> {
        match (kind.is_double(), kind.is_dense()) {
            (true, _) => Gathered::Numbers(Vec::with_capacity(room)),
            (_, true) => {
                Gathered::Dense(kind, Cells::with_room(kind.cell(), room * kind.block_size()))
            }
            _ => Gathered::Mixed(kind, Computed::new(kind)),
        }
    }

    /// Adds the value of a row of a column; false if it is not there.
    fn push(&mut self, from: &Attribute<'_>, row: usize) -> bool {
        match (self, from) {
            (Gathered::Numbers(all), Attribute::Numbers(numbers)) => {
                let number = numbers.get(row);
                all.extend(number);
                number.is_some()
            }
            (Gathered::Dense(kind, all), Attribute::Dense { cells, stride }) => {
                let (size, behind) = (kind.block_size(), all.len());
                let part = cells.part(row * stride..row * stride + size);
                part.is_some_and(|part| all.splice(behind..behind, &part))
            }
            (Gathered::Mixed(kind, all), from) => {
                value(from, kind, row).is_some_and(|value| all.push(&value))
            }
            _ => false,
        }
    }

    fn finish(self) -> Option<Computed> {
        match self {
            Gathered::Numbers(numbers) => Some(Computed::Numbers(numbers)),
            Gathered::Dense(kind, all) => Stored::dense(kind.clone(), all).map(Computed::Tensors),
            Gathered::Mixed(_, computed) => Some(computed),
        }
    }
}

/// The values of an attribute for documents of any blocks, copied; nothing if one of them is not there. A column that lies on disk is in
/// memory while its documents are copied.
///
/// # Errors
/// When it cannot be read.
pub fn gather_documents(
    attribute: AttributeView<'_>,
    kind: &TensorType,
    documents: impl Iterator<Item = u32> + Clone,
) -> Result<Option<Computed>, StoreError> {
    let mut gathered = Gathered::new(kind, documents.size_hint().0);
    let mut values = attribute.cursor_over(documents.clone());
    for lid in documents {
        let place = values.at(lid)?.and_then(|(column, row)| Some((column.attribute()?, row)));
        if !place.is_some_and(|(of, row)| gathered.push(&of, row)) {
            return Ok(None);
        }
    }
    Ok(gathered.finish())
}

/// The value of a document.
#[must_use]
pub fn value(attribute: &Attribute<'_>, kind: &TensorType, row: usize) -> Option<Value> {
    let owned = |cells: &Cells<'_>, range| Some(cells.part(range)?.into_owned());
    let size = kind.block_size();
    match attribute {
        Attribute::Numbers(numbers) => numbers.get(row).map(Value::double),
        Attribute::Dense { cells, stride } => {
            let cells = owned(cells, row * stride..row * stride + size)?;
            Value::new(kind.clone(), Labels::default(), cells).ok()
        }
        Attribute::Mixed { offsets, labels, cells } => {
            let (first, behind) = (*offsets.get(row)? as usize, *offsets.get(row + 1)? as usize);
            let width = kind.mapped_count();
            let labels = labels.get(first * width..behind * width)?.to_vec();
            let cells = owned(cells, first * size..behind * size)?;
            Value::new(kind.clone(), Labels::hold(labels), cells).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use stead_expr::{Attribute, Stored, Value, compile};

    use super::{Computed, gather, slice, value};

    fn literal(text: &str) -> Value {
        compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
    }

    #[test]
    fn pieces_and_selections_have_the_values_of_their_documents() {
        for texts in [
            ["1", "2", "3", "4"],
            [
                "tensor<float>(x[2]):[1,2]",
                "tensor<float>(x[2]):[3,4]",
                "tensor<float>(x[2]):[5,6]",
                "tensor<float>(x[2]):[7,8]",
            ],
            [
                "tensor<int8>(k{},x[2]):{a:[1,2],b:[3,4]}",
                "tensor<int8>(k{},x[2]):{}",
                "tensor<int8>(k{},x[2]):{c:[5,6]}",
                "tensor<int8>(k{},x[2]):{a:[7,8]}",
            ],
        ] {
            let values = texts.map(literal);
            let kind = values[0].kind();
            let mut stored = Stored::new(kind.clone());
            assert!(values.iter().all(|v| stored.push(v)));
            let piece = slice(stored.attribute(), &(1..3));
            assert_eq!(value(&piece, kind, 0).as_ref(), Some(&values[1]), "{kind}");
            assert_eq!(value(&piece, kind, 1).as_ref(), Some(&values[2]), "{kind}");
            let gather = |rows: &[usize]| {
                let places = rows.iter().map(|row| Some((stored.attribute(), *row)));
                gather(kind, places)
            };
            let found = gather(&[3, 0]).unwrap();
            assert_eq!(value(&found.attribute(), kind, 0).as_ref(), Some(&values[3]), "{kind}");
            assert_eq!(value(&found.attribute(), kind, 1).as_ref(), Some(&values[0]), "{kind}");
            assert!(gather(&[4]).is_none(), "{kind}");
        }
        let mut numbers = Computed::Numbers(Vec::new());
        assert!(!numbers.push(&literal("tensor(x[1]):[1]")));
        assert!(matches!(numbers.attribute(), Attribute::Numbers(_)));
    }
}
