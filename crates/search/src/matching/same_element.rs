//! Tests that one element must pass together.

use stead_store::{Column, StoreError};
use stead_text::Counter;

use super::evaluate::Matcher;
use super::segment::Work;
use super::value::element_passes;
use crate::query::{SameElement, Tree};

/// A test of the elements of the documents of a block.
pub(super) struct ElementTest<'t, 'm> {
    matcher: &'t Matcher<'m>,
    same: &'t SameElement,
    work: &'t Work<'t>,
    /// The terms that ask an index of text.
    words: Vec<Words<'m>>,
}

/// A term that asks an index of text.
struct Words<'m> {
    term: usize,
    counter: Counter<'m>,
    /// The elements of the present document that have it, in their order.
    elements: Vec<u32>,
}

/// Whether one passes, none behind the first that does being tested.
pub(super) fn any<T>(
    mut list: impl Iterator<Item = T>,
    mut test: impl FnMut(T) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    list.try_fold(false, |found, one| Ok(found || test(one)?))
}

impl<'t, 'm> ElementTest<'t, 'm> {
    /// Of a block.
    pub(super) fn new(
        matcher: &'t Matcher<'m>,
        same: &'t SameElement,
        work: &'t Work<'t>,
    ) -> ElementTest<'t, 'm> {
        let mut terms = Vec::new();
        terms_of(&same.tree, &mut terms);
        let words = terms.into_iter().filter_map(|term| {
            let counter = matcher.texts.counter(term)?;
            Some(Words { term, counter, elements: Vec::new() })
        });
        ElementTest { matcher, same, work, words: words.collect() }
    }

    /// Whether the document of a row has an element that passes.
    pub(super) fn has(&mut self, row: usize) -> Result<bool, StoreError> {
        let mut numbers = self.go(row)?;
        any(&mut numbers, |element| self.passes(&self.same.tree, row, element))
    }

    /// The elements of the document of a row that pass, in their order.
    pub(super) fn passing(&mut self, row: usize) -> Result<Vec<usize>, StoreError> {
        let mut found = Vec::new();
        for element in self.go(row)? {
            if self.passes(&self.same.tree, row, element)? {
                found.push(element);
            }
        }
        Ok(found)
    }

    /// Goes to the document of a row; the elements of it that count.
    fn go(&mut self, row: usize) -> Result<impl Iterator<Item = usize> + use<'t, 'm>, StoreError> {
        let mut count = 0;
        let lid = self.matcher.texts.lid(self.work.number(), row);
        for words in &mut self.words {
            words.elements.clear();
            if words.counter.go(lid) {
                words.counter.elements_with(0, &mut words.elements);
                let last = words.counter.elements().last();
                count = count.max(last.map_or(0, |element| element.number as usize + 1));
            }
        }
        self.count(&self.same.tree, row, &mut count)?;
        let said = self.same.elements.iter().map(|element| *element as usize);
        let all = if self.same.elements.is_empty() { 0..count } else { 0..0 };
        Ok(said.filter(move |element| *element < count).chain(all))
    }

    /// How many elements a document has in attributes.
    fn count(&self, part: &Tree, row: usize, count: &mut usize) -> Result<(), StoreError> {
        match part {
            Tree::And(parts) | Tree::Or(parts) => {
                parts.iter().try_for_each(|part| self.count(part, row, count))
            }
            Tree::Not(inner) | Tree::Rank(inner, _) => self.count(inner, row, count),
            Tree::Term(term) => {
                if let Some((column, row)) = self.work.at(self.matcher.tested(*term), row)?
                    && let Column::Many(many) = &*column
                {
                    *count = (*count).max(many.places(row).len());
                }
                Ok(())
            }
            Tree::All
            | Tree::None
            | Tree::Neighbor(_)
            | Tree::WeakAnd(_)
            | Tree::SameElement(_) => Ok(()),
        }
    }

    fn passes(&self, part: &Tree, row: usize, element: usize) -> Result<bool, StoreError> {
        let passes = |part: &Tree| self.passes(part, row, element);
        match part {
            Tree::All => Ok(true),
            Tree::None | Tree::Neighbor(_) | Tree::WeakAnd(_) | Tree::SameElement(_) => Ok(false),
            Tree::And(parts) => Ok(!any(parts.iter(), |part| Ok(!passes(part)?))?),
            Tree::Or(parts) => any(parts.iter(), passes),
            Tree::Not(inner) => Ok(!passes(inner)?),
            Tree::Rank(first, _) => passes(first),
            Tree::Term(term) => {
                if let Some(words) = self.words.iter().find(|words| words.term == *term) {
                    return Ok(words.elements.binary_search(&(element as u32)).is_ok());
                }
                let place = self.work.at(self.matcher.tested(*term), row)?;
                let Some((column, row)) = place else { return Ok(false) };
                let Column::Many(many) = &*column else { return Ok(false) };
                let test = &self.matcher.tree().terms[*term].test;
                let at = many.places(row).nth(element);
                Ok(at.is_some_and(|at| element_passes(test, many.elements(), at)))
            }
        }
    }
}

impl Matcher<'_> {
    /// The elements of a field of a document that a query asks for, in their order: of each term of the field alone, and those that pass
    /// `sameElement`.
    ///
    /// # Errors
    /// As [`Matcher::matches`].
    pub fn elements(
        &self,
        field: &str,
        block: usize,
        row: usize,
    ) -> Result<Vec<usize>, StoreError> {
        let Some(work) = self.work(block) else { return Ok(Vec::new()) };
        let mut asked = Vec::new();
        self.asked_of(field, &self.tree().root, &mut asked);
        let mut found = Vec::new();
        for same in &asked {
            found.append(&mut ElementTest::new(self, same, &work).passing(row)?);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn asked_of(&self, field: &str, part: &Tree, into: &mut Vec<SameElement>) {
        match part {
            Tree::And(parts) | Tree::Or(parts) => {
                parts.iter().for_each(|part| self.asked_of(field, part, into));
            }
            Tree::Rank(first, others) => {
                let all = [&**first].into_iter().chain(others);
                all.for_each(|part| self.asked_of(field, part, into));
            }
            Tree::WeakAnd(number) => {
                let parts = self.tree().weak_ands.get(*number).map(|weak| &weak.parts);
                let parts = parts.into_iter().flatten();
                parts.for_each(|part| self.asked_of(field, part, into));
            }
            Tree::SameElement(same) if same.field == field => into.push(same.clone()),
            Tree::Term(number) => {
                let name = self.tree().terms.get(*number).map_or("", |term| &term.attribute);
                let is_part = |rest: &str| rest.is_empty() || rest.starts_with('.');
                if name.strip_prefix(field).is_some_and(is_part) {
                    let (field, tree) = (field.to_owned(), Box::new(part.clone()));
                    into.push(SameElement { field, tree, elements: Vec::new() });
                }
            }
            Tree::All | Tree::None | Tree::Not(_) | Tree::Neighbor(_) | Tree::SameElement(_) => {}
        }
    }
}

/// The terms of a tree that decide.
fn terms_of(part: &Tree, into: &mut Vec<usize>) {
    match part {
        Tree::And(parts) | Tree::Or(parts) => parts.iter().for_each(|part| terms_of(part, into)),
        Tree::Not(inner) | Tree::Rank(inner, _) => terms_of(inner, into),
        Tree::Term(term) => into.push(*term),
        Tree::All | Tree::None | Tree::Neighbor(_) | Tree::WeakAnd(_) | Tree::SameElement(_) => {}
    }
}
