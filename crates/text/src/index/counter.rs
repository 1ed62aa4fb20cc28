//! What documents have of what is looked for, one document after the other.

use super::elements::Element;
use super::pattern::{Order, Pattern, is_phrase};
use super::postings::Postings;
use super::view::{FieldIndex, Part};
use super::write::Occurrence;

/// Counts what documents have of some patterns. Documents in the order of their lids are found soonest.
#[derive(Debug)]
pub struct Counter<'i> {
    index: &'i FieldIndex,
    patterns: Vec<&'i Pattern>,
    parts: Vec<PartCounter<'i>>,
    /// The part that has the current document, and its number there.
    current: Option<(usize, u32)>,
    last: u32,
    places: Vec<Vec<Occurrence>>,
}

#[derive(Debug)]
struct PartCounter<'i> {
    part: &'i Part,
    /// The first document whose lid is not before the last that was asked for.
    at: usize,
    /// Of each pattern.
    lists: Vec<Vec<Postings<'i>>>,
}

impl FieldIndex {
    /// Counts patterns in documents.
    #[must_use]
    pub fn counter<'i>(&'i self, patterns: Vec<&'i Pattern>) -> Counter<'i> {
        let mut counter = Counter {
            index: self,
            patterns,
            parts: Vec::new(),
            current: None,
            last: 0,
            places: Vec::new(),
        };
        counter.rewind();
        counter
    }
}

impl Counter<'_> {
    /// Goes to a document; whether it has any words.
    pub fn go(&mut self, lid: u32) -> bool {
        if lid < self.last {
            self.rewind();
        }
        self.last = lid;
        self.current = None;
        for (number, of) in self.parts.iter_mut().enumerate() {
            of.at = ahead(&of.part.segment.lids, of.at, lid);
            if of.part.segment.lids.get(of.at) == Some(&lid) && !of.part.gone.contains(of.at) {
                self.current = Some((number, of.at as u32));
                break;
            }
        }
        self.current.is_some()
    }

    /// How many words the document has.
    #[must_use]
    pub fn length(&self) -> u32 {
        let of = |(part, doc): (usize, u32)| Some(self.parts.get(part)?.part.segment.length(doc));
        self.current.and_then(of).unwrap_or(0)
    }

    /// The elements of the document that have words, in their order.
    pub fn elements(&self) -> impl Iterator<Item = Element> {
        let of = |(part, doc): (usize, u32)| {
            let segment = &self.parts.get(part)?.part.segment;
            Some(segment.elements.of(doc, segment.length(doc)))
        };
        self.current.and_then(of).into_iter().flatten()
    }

    /// How often the document has a pattern by its number: of several terms near each other how often they are a phrase, else
    /// whether they are near.
    pub fn count(&mut self, pattern: usize) -> u32 {
        let Some((part, doc)) = self.current else { return 0 };
        let lists = self.parts.get_mut(part).and_then(|part| part.lists.get_mut(pattern));
        let (Some(lists), Some(pattern)) = (lists, self.patterns.get(pattern)) else { return 0 };
        let here = |list: &mut Postings<'_>| list.seek(doc) == doc;
        match pattern {
            Pattern::Term(_) | Pattern::Part(..) => {
                let counts = lists.iter_mut().filter_map(|list| here(list).then(|| list.count()));
                counts.sum()
            }
            Pattern::Near(near) => {
                self.places.resize_with(lists.len().max(self.places.len()), Vec::new);
                let places = &mut self.places[..lists.len()];
                if near.read(lists, doc, places) { near.count(places) } else { 0 }
            }
        }
    }

    /// Where the document has a pattern by its number, behind what is in a list already: of terms near each other where a phrase begins, else
    /// where the first of them stands.
    pub fn occurrences(&mut self, pattern: usize, into: &mut Vec<Occurrence>) {
        let Some((part, doc)) = self.current else { return };
        let lists = self.parts.get_mut(part).and_then(|part| part.lists.get_mut(pattern));
        let (Some(lists), Some(pattern)) = (lists, self.patterns.get(pattern)) else { return };
        let here = |list: &mut Postings<'_>| list.seek(doc) == doc;
        match pattern {
            Pattern::Term(_) | Pattern::Part(..) => {
                let before = into.len();
                for list in lists.iter_mut() {
                    if here(list) {
                        list.occurrences(into);
                    }
                }
                if let Some(new) = into.get_mut(before..).filter(|_| lists.len() > 1) {
                    new.sort_unstable();
                }
            }
            Pattern::Near(near) => {
                self.places.resize_with(lists.len().max(self.places.len()), Vec::new);
                let places = &mut self.places[..lists.len()];
                if !near.read(lists, doc, places) {
                    return;
                }
                let Some((first, rest)) = places.split_first() else { return };
                match near.order {
                    Order::Phrase => {
                        into.extend(first.iter().filter(|begin| is_phrase(begin, rest)));
                    }
                    _ if near.count(places) > 0 => into.extend(first),
                    _ => {}
                }
            }
        }
    }

    /// The elements of the document that have a pattern by its number, in their order, in place of what is in a list.
    pub fn elements_with(&mut self, pattern: usize, into: &mut Vec<u32>) {
        into.clear();
        let mut found = Vec::new();
        self.occurrences(pattern, &mut found);
        into.extend(found.iter().map(|place| place.element));
        into.dedup();
        let Some(Pattern::Near(near)) = self.patterns.get(pattern) else { return };
        if near.order == Order::Phrase || into.is_empty() {
            return;
        }
        // Whether there is one such place is told for all elements together.
        let lists = self.current.and_then(|(part, _)| self.parts.get(part)?.lists.get(pattern));
        let places = &self.places[..lists.map_or(0, Vec::len)];
        into.retain(|element| {
            let own = |all: &Vec<Occurrence>| {
                all.iter().filter(|place| place.element == *element).copied().collect()
            };
            near.count(&places.iter().map(own).collect::<Vec<Vec<Occurrence>>>()) > 0
        });
    }

    fn rewind(&mut self) {
        let parts = self.index.parts.iter().map(|part| {
            let lists = self.patterns.iter().map(|pattern| part.lists(pattern)).collect();
            PartCounter { part, at: 0, lists }
        });
        self.parts = parts.collect();
    }
}

impl Part {
    /// The lists of the terms of a pattern; none where one is missing that must be there.
    fn lists(&self, pattern: &Pattern) -> Vec<Postings<'_>> {
        match pattern {
            Pattern::Term(term) => self.segment.find(term).into_iter().collect(),
            Pattern::Part(affix, text) => {
                let terms = self.segment.dictionary().with(*affix, text);
                terms.filter_map(|term| self.segment.list(term)).collect()
            }
            Pattern::Near(near) => near.lists(self).unwrap_or_default(),
        }
    }
}

/// The first place from one on whose lid is not before another: in steps that grow, for it is mostly near.
fn ahead(lids: &[u32], from: usize, lid: u32) -> usize {
    let (mut low, mut step) = (from, 1);
    while lids.get(low + step - 1).is_some_and(|at| *at < lid) {
        low += step;
        step *= 2;
    }
    let rest = lids.get(low..(low + step).min(lids.len())).unwrap_or_default();
    low + rest.partition_point(|at| *at < lid)
}
