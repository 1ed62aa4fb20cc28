//! Where the elements of a field have the terms of a query, element by element.

use stead_text::Element;

use super::terms::FieldTerms;

/// The places of the terms of a document; memory that documents share.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The elements of the document.
    elements: Vec<Element>,
    /// An element, the number of a term among those that ask the field, and a position.
    all: Vec<(u32, usize, u32)>,
    of_terms: Vec<Vec<u32>>,
}

impl Places {
    /// Those of a document.
    pub(super) fn read(&mut self, asked: &mut FieldTerms<'_>, lid: u32) {
        self.all.clear();
        self.elements.clear();
        self.of_terms.resize_with(asked.terms.len(), Vec::new);
        if !asked.go(lid) {
            return;
        }
        for term in 0..asked.terms.len() {
            let places = asked.places(term).iter();
            self.all.extend(places.map(|place| (place.element, term, place.position)));
        }
        if !self.all.is_empty() {
            self.all.sort_unstable();
            self.elements.extend(asked.elements());
        }
    }

    /// Tells of each element that has a term the positions of each term in it, in order.
    pub(super) fn each(&mut self, mut tell: impl FnMut(Element, &[Vec<u32>])) {
        for of_element in self.all.chunk_by(|a, b| a.0 == b.0) {
            self.of_terms.iter_mut().for_each(Vec::clear);
            for (_, term, position) in of_element {
                self.of_terms[*term].push(*position);
            }
            let number = of_element.first().map_or(0, |(number, ..)| *number);
            let known = self.elements.binary_search_by_key(&number, |element| element.number);
            if let Some(element) = known.ok().and_then(|at| self.elements.get(at)) {
                tell(*element, &self.of_terms);
            }
        }
    }
}
