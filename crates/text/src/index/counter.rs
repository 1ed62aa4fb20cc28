//! What documents have of what is looked for, one document after the other.

use super::elements::Element;
use super::near::NearLists;
use super::pattern::Pattern;
use super::phrases::PhraseLists;
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
    places: Vec<Occurrence>,
}

#[derive(Debug)]
struct PartCounter<'i> {
    part: &'i Part,
    /// The first document whose lid is not before the last that was asked for.
    at: usize,
    /// Of each pattern; nothing where the part has not what must be there.
    lists: Vec<Option<Lists<'i>>>,
}

/// The lists of a pattern.
#[derive(Debug)]
enum Lists<'i> {
    /// Of terms, any of which counts.
    Terms(Vec<Postings<'i>>),
    Phrases(PhraseLists<'i>),
    Near(NearLists<'i>),
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

    /// How often the document has a pattern by its number; of what stands near each other whether it has it.
    pub fn count(&mut self, pattern: usize) -> u32 {
        let Some((part, doc)) = self.current else { return 0 };
        let Some(of) = self.parts.get_mut(part) else { return 0 };
        let Some(lists) = of.lists.get_mut(pattern).and_then(Option::as_mut) else { return 0 };
        match (lists, self.patterns.get(pattern)) {
            (Lists::Terms(lists), _) => {
                let here =
                    lists.iter_mut().filter_map(|list| (list.seek(doc) == doc).then_some(list));
                here.map(Postings::count).sum()
            }
            (Lists::Near(lists), Some(Pattern::Near(near))) => {
                let is_here = lists.seek(doc) == doc && near.is_in(lists.read(near, of.part, doc));
                u32::from(is_here)
            }
            (Lists::Phrases(_) | Lists::Near(_), _) => {
                let mut places = std::mem::take(&mut self.places);
                places.clear();
                self.occurrences(pattern, &mut places);
                let count = places.len() as u32;
                self.places = places;
                count
            }
        }
    }

    /// Where the document has a pattern by its number, in order and behind what is in a list already: of phrases where they begin, of what
    /// stands near each other where that begins.
    pub fn occurrences(&mut self, pattern: usize, into: &mut Vec<Occurrence>) {
        let Some((part, doc)) = self.current else { return };
        let Some(of) = self.parts.get_mut(part) else { return };
        let Some(lists) = of.lists.get_mut(pattern).and_then(Option::as_mut) else { return };
        match lists {
            Lists::Terms(lists) => {
                let before = into.len();
                for list in lists.iter_mut() {
                    if list.seek(doc) == doc {
                        list.occurrences(into);
                    }
                }
                if let Some(new) = into.get_mut(before..).filter(|_| lists.len() > 1) {
                    new.sort_unstable();
                }
            }
            Lists::Phrases(lists) => {
                if lists.seek(doc) == doc {
                    lists.read(doc, into);
                }
            }
            Lists::Near(lists) => {
                if lists.seek(doc) != doc {
                    return;
                }
                match self.patterns.get(pattern) {
                    Some(Pattern::Near(near)) => near.begins(lists.read(near, of.part, doc), into),
                    Some(Pattern::NearPart(near, number)) => {
                        near.places_of(*number, lists.read(near, of.part, doc), into);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The elements of the document that have a pattern by its number, in their order, in place of what is in a list: of what stands near
    /// each other those in which it begins.
    pub fn elements_with(&mut self, pattern: usize, into: &mut Vec<u32>) {
        into.clear();
        let mut found = std::mem::take(&mut self.places);
        found.clear();
        self.occurrences(pattern, &mut found);
        into.extend(found.iter().map(|place| place.element));
        into.dedup();
        self.places = found;
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
    /// The lists of a pattern; nothing where one is missing that must be there.
    fn lists(&self, pattern: &Pattern) -> Option<Lists<'_>> {
        match pattern {
            Pattern::Term(term) => Some(Lists::Terms(vec![self.segment.find(term)?])),
            Pattern::Part(affix, text) => {
                let terms = self.segment.dictionary().with(*affix, text);
                Some(Lists::Terms(terms.filter_map(|term| self.segment.list(term)).collect()))
            }
            Pattern::Phrases(of) => PhraseLists::find(of, self).map(Lists::Phrases),
            Pattern::Near(near) | Pattern::NearPart(near, _) => {
                NearLists::find(near, self).map(Lists::Near)
            }
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
