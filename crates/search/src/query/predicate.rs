//! What a query knows of the attributes that predicates speak of.

use std::collections::HashMap;

use stead_store::predicate::{Hashed, Known, evaluate};

/// The attributes of up to 64 queries that are asked at once (Vespa, documentation, `schemas/predicate-fields.html`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PredicateQuery {
    /// By attribute and value, the queries that have it.
    values: HashMap<String, HashMap<String, u64>>,
    /// By attribute, numbers with the queries that have them.
    numbers: HashMap<String, Vec<(i64, u64)>>,
    /// The least and the greatest number that counts (`lower-bound`, `upper-bound`).
    bounds: Option<(i64, i64)>,
}

impl PredicateQuery {
    /// One without attributes, of whose numbers only those from the first to the second count.
    #[must_use]
    pub fn within(bounds: (i64, i64)) -> PredicateQuery {
        PredicateQuery { bounds: Some(bounds), ..PredicateQuery::default() }
    }

    /// Gives an attribute a value in some of the queries.
    pub fn add_value(&mut self, name: &str, value: &str, queries: u64) {
        let values = self.values.entry(name.to_owned()).or_default();
        *values.entry(value.to_owned()).or_default() |= queries;
    }

    /// Gives an attribute a number in some of the queries; false if it is out of bounds, and so has no effect.
    pub fn add_number(&mut self, name: &str, number: i64, queries: u64) -> bool {
        let counts = self.bounds.is_none_or(|(least, most)| (least..=most).contains(&number));
        if counts {
            self.numbers.entry(name.to_owned()).or_default().push((number, queries));
        }
        counts
    }

    /// Whether all its numbers are within some bounds.
    pub(crate) fn is_within(&self, (least, most): (i64, i64)) -> bool {
        let (low, high) = self.bounds.unwrap_or((i64::MIN, i64::MAX));
        least <= low && high <= most
    }

    /// The same by hashes, as an index of predicates is asked.
    pub(crate) fn hashed(&self) -> Hashed {
        let values = self.values.iter().flat_map(|(name, values)| {
            values.iter().map(|(value, queries)| (name.as_str(), value.as_str(), *queries))
        });
        let numbers = self.numbers.iter().flat_map(|(name, numbers)| {
            numbers.iter().map(|(number, queries)| (name.as_str(), *number, *queries))
        });
        Hashed::new(values, numbers)
    }

    /// How many attributes there are, each of the two kinds for itself.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len() + self.numbers.len()
    }

    /// The queries for which a predicate is true, each a bit. A document without one has an empty text, which is true for none.
    #[must_use]
    pub fn matching(&self, predicate: &str) -> u64 {
        match predicate.is_empty() {
            true => 0,
            // What is no predicate is not stored.
            false => evaluate(predicate, self).unwrap_or(0),
        }
    }
}

impl Known for PredicateQuery {
    fn has(&self, name: &str, value: &str) -> u64 {
        self.values.get(name).and_then(|values| values.get(value)).copied().unwrap_or(0)
    }

    fn within(&self, name: &str, from: i64, to: i64) -> u64 {
        let numbers = self.numbers.get(name).map_or(&[][..], Vec::as_slice);
        let is_within = |(number, _): &&(i64, u64)| (from..=to).contains(number);
        numbers.iter().filter(is_within).fold(0, |all, (_, queries)| all | queries)
    }
}
