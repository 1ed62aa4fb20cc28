//! The terms of a query as features of texts know them.

use std::ops::Range;

use stead_text::{Counter, Element, Occurrence, Pattern};

use super::{DocumentContext, QueryContext};
use crate::matching::{Matcher, element_passes};
use crate::query::{TermStyle, Test, significance};

/// A term of a query: what one item of it asks of one or more fields.
#[derive(Debug)]
pub(super) struct QueryTerm {
    /// `weight`, 100 if nothing is said.
    pub(super) weight: f64,
    /// How rare it is, from 0.5 to 1, unless the query says something else.
    pub(super) significance: f64,
    /// The numbers of the terms of the tree that it stands for.
    pub(super) numbers: Vec<usize>,
    /// `id`
    id: Option<i64>,
    /// `connectivity`
    connectivity: Option<(i64, f64)>,
}

/// How much a term has to do with the one before it where nothing is said.
pub(super) const CONNECTEDNESS: f64 = 0.1;

impl QueryTerm {
    /// How much it has to do with another, from 0 to 1 (Vespa, `searchlib/src/vespa/searchlib/features/utils.cpp`).
    pub(super) fn connectedness(&self, before: Option<&QueryTerm>) -> f64 {
        match (self.connectivity, before.and_then(|before| before.id)) {
            (Some((to, strength)), Some(id)) if to == id => strength,
            _ => CONNECTEDNESS,
        }
    }

    /// How many words it has: those of a phrase, else one.
    pub(super) fn words(&self, cx: &DocumentContext<'_>) -> u32 {
        let tree = cx.query.matcher.map(Matcher::tree);
        let words = |number: &usize| match &tree?.terms.get(*number)?.test {
            Test::Indexed(indexed) => Some(indexed.pattern.phrase_length()),
            _ => None,
        };
        self.numbers.first().and_then(words).unwrap_or(1) as u32
    }
}

/// The terms of a query that are ranked, in their order.
pub(super) fn query_terms(cx: &DocumentContext<'_>) -> Vec<QueryTerm> {
    terms_of(&cx.query)
}

/// The same for who knows no documents.
pub(super) fn terms_of(query: &QueryContext<'_>) -> Vec<QueryTerm> {
    let Some(matcher) = query.matcher else { return Vec::new() };
    let tree = matcher.tree();
    let mut items: Vec<(usize, Vec<usize>)> = Vec::new();
    for (number, term) in tree.terms.iter().enumerate().filter(|(_, t)| t.style.is_ranked) {
        match items.iter_mut().find(|(item, _)| *item == term.item) {
            Some((_, numbers)) => numbers.push(number),
            None => items.push((term.item, vec![number])),
        }
    }
    let documents = query.documents.len().max(1) as f64;
    let term = |(_, numbers): (usize, Vec<usize>)| {
        let style = numbers.first().map(|number| &tree.terms[*number].style);
        let rarity = || {
            let part = |number: &usize| matcher.frequency(*number) as f64;
            significance(numbers.iter().map(part).fold(0.0, f64::max) / documents)
        };
        QueryTerm {
            weight: style.map_or(100.0, |style| style.weight as f64),
            significance: style.and_then(TermStyle::rarity).unwrap_or_else(rarity),
            id: style.and_then(|style| style.id),
            connectivity: style.and_then(|style| style.connectivity),
            numbers,
        }
    };
    items.into_iter().map(term).collect()
}

/// What documents have of the terms of a query in one field with an index.
pub(super) struct FieldTerms<'c> {
    counter: Counter<'c>,
    /// The numbers of the terms that ask this field, and their patterns.
    pub(super) terms: Vec<usize>,
    patterns: Vec<Range<usize>>,
    places: Vec<Occurrence>,
}

impl<'c> FieldTerms<'c> {
    /// Of an index by its number; nothing if no term asks it.
    pub(super) fn new(
        cx: &DocumentContext<'c>,
        index: usize,
        terms: &[QueryTerm],
    ) -> Option<FieldTerms<'c>> {
        let (of, tree) = (cx.query.documents.text(index)?, cx.query.matcher?.tree());
        let (mut all, mut asked, mut ranges): (Vec<&Pattern>, _, _) =
            (Vec::new(), Vec::new(), Vec::new());
        for (number, term) in terms.iter().enumerate() {
            let begin = all.len();
            all.extend(term.numbers.iter().filter_map(|number| match &tree.terms[*number].test {
                Test::Indexed(indexed) if indexed.index == index => Some(&indexed.pattern),
                _ => None,
            }));
            if begin < all.len() {
                asked.push(number);
                ranges.push(begin..all.len());
            }
        }
        let is_asked = !asked.is_empty();
        is_asked.then(|| FieldTerms {
            counter: of.counter(all),
            terms: asked,
            patterns: ranges,
            places: Vec::new(),
        })
    }

    /// Goes to a document; whether it has words in the field.
    pub(super) fn go(&mut self, lid: u32) -> bool {
        self.counter.go(lid)
    }

    /// How many words a document has in the field, if it has any of the terms.
    pub(super) fn matched_length(&mut self, lid: u32) -> Option<u32> {
        let has_any = self.go(lid) && (0..self.terms.len()).any(|at| !self.places(at).is_empty());
        has_any.then(|| self.length())
    }

    /// How many words the document has in the field.
    pub(super) fn length(&self) -> u32 {
        self.counter.length()
    }

    /// The elements of the document that have words, in their order.
    pub(super) fn elements(&self) -> impl Iterator<Item = Element> {
        self.counter.elements()
    }

    /// Where the document has the term at a place among [those](FieldTerms::terms) that ask the field.
    pub(super) fn places(&mut self, at: usize) -> &[Occurrence] {
        self.places.clear();
        let patterns = self.patterns.get(at).cloned().unwrap_or_default();
        let is_one = patterns.len() == 1;
        for pattern in patterns {
            self.counter.occurrences(pattern, &mut self.places);
        }
        if !is_one {
            self.places.sort_unstable();
            self.places.dedup();
        }
        &self.places
    }
}

/// The weight of the last element of a weighted set that passes a test.
pub(super) fn matched_weight(
    cx: &DocumentContext<'_>,
    name: &str,
    test: &Test,
    lid: u32,
) -> Result<i64, String> {
    let mut elements = cx.elements(name)?;
    let Some((many, places)) = elements.at(lid)? else { return Ok(0) };
    let mut passing = places.filter(|at| element_passes(test, many.elements(), *at));
    Ok(passing.next_back().map_or(0, |at| i64::from(many.weight(at))))
}

#[cfg(test)]
mod tests {
    use super::significance;

    #[test]
    fn the_rarer_a_term_the_more_significant() {
        for (part, expected) in
            [(1.0, 0.5), (0.001, 0.75), (0.000_001, 1.0), (0.0, 1.0), (2.0, 0.5)]
        {
            assert!((significance(part) - expected).abs() < 1e-12, "{part}");
        }
    }
}
