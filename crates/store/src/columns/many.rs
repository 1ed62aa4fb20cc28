//! Columns with several values for each document: arrays and weighted sets.

use std::ops::Range;

use super::numbers::NumberList;
use super::texts::TextList;
use crate::kind::DataType;
use crate::value::FieldValue;

/// Elements of all documents behind each other.
#[derive(Debug, Clone)]
pub enum Elements {
    /// Numbers.
    Numbers(NumberList),
    /// Texts.
    Texts(TextList),
}

impl Elements {
    pub(super) fn new(kind: &DataType) -> Option<Elements> {
        Some(match kind {
            DataType::Text => Elements::Texts(TextList::default()),
            number => Elements::Numbers(NumberList::new(number)?),
        })
    }

    /// The element at a place as a number: of a text its hash.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<f64> {
        match self {
            Elements::Numbers(list) => list.get(at),
            Elements::Texts(texts) => texts.hashes().get(at).copied(),
        }
    }

    /// The element at a place as a label of a tensor: a text or a whole number.
    #[must_use]
    pub fn label(&self, at: usize) -> Option<String> {
        match self {
            Elements::Numbers(list) => list.integer(at).map(|n| n.to_string()),
            Elements::Texts(texts) => texts.get(at).map(str::to_owned),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Elements::Numbers(list) => list.len(),
            Elements::Texts(texts) => texts.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn has_room(&self, value: &FieldValue) -> bool {
        match (self, value) {
            (Elements::Texts(texts), FieldValue::Array(list)) => {
                texts.has_room(list.iter().map(bytes).sum())
            }
            (Elements::Texts(texts), FieldValue::Weighted(list)) => {
                texts.has_room(list.iter().map(|(value, _)| bytes(value)).sum())
            }
            _ => true,
        }
    }

    /// Values as elements of the same type.
    fn of<'v>(&self, values: impl Iterator<Item = &'v FieldValue>) -> Elements {
        match self {
            Elements::Numbers(list) => {
                let mut found = list.empty(0);
                values.enumerate().for_each(|(at, value)| {
                    found.set(at, Some(value));
                });
                Elements::Numbers(found)
            }
            Elements::Texts(_) => {
                let mut found = TextList::default();
                values.for_each(|value| match value {
                    FieldValue::Text(text) => found.push(text),
                    _ => found.push(""),
                });
                Elements::Texts(found)
            }
        }
    }

    fn splice(&mut self, at: Range<usize>, by: &Elements) {
        match (self, by) {
            (Elements::Numbers(list), Elements::Numbers(by)) => list.splice(at, by),
            (Elements::Texts(texts), Elements::Texts(by)) => texts.splice(at, by),
            _ => debug_assert!(false, "elements of another type"),
        }
    }
}

/// The bytes of a text.
fn bytes(value: &FieldValue) -> usize {
    match value {
        FieldValue::Text(text) => text.len(),
        _ => 0,
    }
}

/// Several values for each document.
#[derive(Debug, Clone)]
pub struct ManyColumn {
    /// Where the elements of each document begin, and the number of all.
    offsets: Vec<u32>,
    elements: Elements,
    weights: Option<Vec<i32>>,
}

impl ManyColumn {
    pub(super) fn new(elements: Elements, is_weighted: bool) -> ManyColumn {
        ManyColumn { offsets: vec![0], elements, weights: is_weighted.then(Vec::new) }
    }

    /// Elements with the places where those of each document begin, and where all end; nothing if these are none.
    pub(super) fn of(
        offsets: Vec<u32>,
        elements: Elements,
        weights: Option<Vec<i32>>,
    ) -> Option<ManyColumn> {
        let ends = offsets.last().map(|end| *end as usize) == Some(elements.len());
        let is_good = offsets.first() == Some(&0) && offsets.is_sorted() && ends;
        let are_weights = weights.as_ref().is_none_or(|weights| weights.len() == elements.len());
        (is_good && are_weights).then_some(ManyColumn { offsets, elements, weights })
    }

    pub(super) fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    pub(super) fn weights(&self) -> Option<&[i32]> {
        self.weights.as_deref()
    }

    /// Whether the elements of one more document can be told apart.
    pub(super) fn has_room(&self, value: &FieldValue) -> bool {
        let count = match value {
            FieldValue::Array(list) => list.len(),
            FieldValue::Weighted(list) => list.len(),
            _ => 0,
        };
        let all = self.elements.len().checked_add(count);
        all.is_some_and(|all| u32::try_from(all).is_ok()) && self.elements.has_room(value)
    }

    /// Puts the elements of a document in the place of those that it has, or behind those of the last.
    pub(super) fn set(&mut self, row: usize, value: Option<&FieldValue>) {
        let (elements, weights) = match value {
            Some(FieldValue::Array(list)) => (self.elements.of(list.iter()), vec![1; list.len()]),
            Some(FieldValue::Weighted(list)) => {
                let weights = list.iter().map(|(_, weight)| *weight).collect();
                (self.elements.of(list.iter().map(|(value, _)| value)), weights)
            }
            _ => (self.elements.of([].into_iter()), Vec::new()),
        };
        if row + 1 >= self.offsets.len() {
            self.offsets.extend(self.offsets.last().copied());
        }
        let at = self.places(row);
        let moved = |place: u32| place as usize + elements.len() - at.len();
        self.offsets.iter_mut().skip(row + 1).for_each(|place| *place = moved(*place) as u32);
        self.elements.splice(at.clone(), &elements);
        if let Some(all) = &mut self.weights {
            all.splice(at, weights);
        }
    }

    pub(super) fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
        self.weights.iter_mut().for_each(Vec::shrink_to_fit);
        match &mut self.elements {
            Elements::Numbers(list) => list.shrink(),
            Elements::Texts(texts) => texts.shrink(),
        }
    }

    pub(super) fn memory(&self) -> usize {
        let elements = match &self.elements {
            Elements::Numbers(list) => list.memory(),
            Elements::Texts(texts) => texts.memory(),
        };
        let weights = self.weights.as_ref().map_or(0, Vec::capacity);
        elements + (self.offsets.capacity() + weights) * size_of::<u32>()
    }

    /// The elements of a document as a value of a type.
    pub(super) fn value(&self, row: usize, kind: &DataType) -> Option<FieldValue> {
        let of = match kind {
            DataType::Array(of) | DataType::WeightedSet(of) => of,
            _ => return None,
        };
        let element = |at: usize| match &self.elements {
            Elements::Numbers(list) => list.value(at, of),
            Elements::Texts(texts) => texts.get(at).map(|text| FieldValue::Text(text.to_owned())),
        };
        match &self.weights {
            None => self.places(row).map(element).collect::<Option<_>>().map(FieldValue::Array),
            Some(weights) => {
                let weighted = |at: usize| Some((element(at)?, *weights.get(at)?));
                self.places(row).map(weighted).collect::<Option<_>>().map(FieldValue::Weighted)
            }
        }
    }

    /// The places of a document's elements.
    #[must_use]
    pub fn places(&self, document: usize) -> Range<usize> {
        match self.offsets.get(document..document + 2) {
            Some([begin, end]) => *begin as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// The elements of all documents.
    #[must_use]
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Whether it is a weighted set.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// The weight of the element at a place: 1 in an array.
    #[must_use]
    pub fn weight(&self, at: usize) -> i32 {
        self.weights.as_ref().and_then(|w| w.get(at).copied()).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Elements, ManyColumn};
    use crate::kind::DataType;
    use crate::value::FieldValue;

    #[test]
    fn elements_of_documents_are_found() {
        let text = |t: &str| FieldValue::Text(t.to_owned());
        let mut set = ManyColumn::new(Elements::new(&DataType::Text).unwrap(), true);
        set.set(0, Some(&FieldValue::Weighted(vec![(text("a"), 3), (text("b"), -1)])));
        set.set(1, None);
        set.set(2, Some(&FieldValue::Weighted(vec![(text("c"), 7)])));
        assert_eq!([0, 1, 2, 3].map(|d| set.places(d)), [0..2, 2..2, 2..3, 0..0]);
        assert_eq!((set.elements().label(2).as_deref(), set.weight(2)), (Some("c"), 7));
        set.set(0, None);
        set.set(1, Some(&FieldValue::Array(vec![text("d"), text("e")])));
        assert_eq!([0, 1, 2].map(|d| set.places(d)), [0..0, 0..2, 2..3]);
        let found = [0, 1, 2].map(|at| (set.elements().label(at).unwrap(), set.weight(at)));
        assert_eq!(found, [("d".into(), 1), ("e".into(), 1), ("c".into(), 7)]);

        let mut array = ManyColumn::new(Elements::new(&DataType::Int).unwrap(), false);
        let numbers = FieldValue::Array(vec![FieldValue::Integer(4), FieldValue::Integer(5)]);
        array.set(0, Some(&numbers));
        assert_eq!(array.elements().number(1), Some(5.0));
        assert_eq!((array.weight(1), array.elements().label(1).as_deref()), (1, Some("5")));
    }
}
