//! Columns with several values for each document: arrays and weighted sets.

use std::ops::Range;

use super::numbers::NumberList;
use super::texts::TextList;
use crate::kind::DataType;
use crate::value::FieldValue;

/// Elements of all documents behind each other.
#[derive(Debug)]
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
            DataType::Position => Elements::Numbers(NumberList::I64(Vec::new())),
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

    fn push(&mut self, value: Option<&FieldValue>) {
        match (self, value) {
            (Elements::Numbers(list), value) => {
                list.push(value);
            }
            (Elements::Texts(texts), Some(FieldValue::Text(text))) => texts.push(text),
            (Elements::Texts(texts), _) => texts.push(""),
        }
    }
}

/// Several values for each document.
#[derive(Debug)]
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

    #[must_use]
    pub(super) fn push(&mut self, value: Option<&FieldValue>) -> bool {
        let count = match value {
            Some(FieldValue::Array(list)) => list.len(),
            Some(FieldValue::Weighted(list)) => list.len(),
            _ => 0,
        };
        let before = self.offsets.last().copied().unwrap_or(0);
        let behind = u32::try_from(count).ok().and_then(|count| before.checked_add(count));
        let Some(behind) = behind else { return false };
        match value {
            Some(FieldValue::Array(list)) => {
                list.iter().for_each(|value| self.elements.push(Some(value)));
                if let Some(weights) = &mut self.weights {
                    weights.resize(behind as usize, 1);
                }
            }
            Some(FieldValue::Weighted(list)) => {
                for (value, weight) in list {
                    self.elements.push(Some(value));
                    self.weights.iter_mut().for_each(|weights| weights.push(*weight));
                }
            }
            _ => {}
        }
        self.offsets.push(behind);
        true
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
        assert!(set.push(Some(&FieldValue::Weighted(vec![(text("a"), 3), (text("b"), -1)]))));
        assert!(set.push(None));
        assert!(set.push(Some(&FieldValue::Weighted(vec![(text("c"), 7)]))));
        assert_eq!([0, 1, 2, 3].map(|d| set.places(d)), [0..2, 2..2, 2..3, 0..0]);
        assert_eq!((set.elements().label(2).as_deref(), set.weight(2)), (Some("c"), 7));

        let mut array = ManyColumn::new(Elements::new(&DataType::Int).unwrap(), false);
        let numbers = FieldValue::Array(vec![FieldValue::Integer(4), FieldValue::Integer(5)]);
        assert!(array.push(Some(&numbers)));
        assert_eq!(array.elements().number(1), Some(5.0));
        assert_eq!((array.weight(1), array.elements().label(1).as_deref()), (1, Some("5")));
    }
}
