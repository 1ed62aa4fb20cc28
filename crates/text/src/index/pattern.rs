//! What is looked for in texts: terms alone, and terms that stand near each other.

use stead_tensor::Bits;

use super::postings::{END, Postings};
use super::view::{FieldIndex, Part};
use super::write::Occurrence;

/// What a text must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A term.
    Term(String),
    /// A term that has a text in it.
    Part(Affix, String),
    /// Terms that stand near each other.
    Near(Near),
}

/// Where a text stands in a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affix {
    /// The term begins with it.
    Prefix,
    /// Anywhere.
    Infix,
    /// The term ends with it.
    Suffix,
}

/// Terms that stand near each other in one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The terms.
    pub terms: Vec<String>,
    /// How they stand.
    pub order: Order,
    /// What must not stand with them; nothing for phrases.
    pub excluded: Excluded,
}

/// Terms that must not stand near others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excluded {
    /// The terms.
    pub terms: Vec<String>,
    /// None of them stands so many words before the first of the others, behind the last, or less.
    pub distance: u32,
}

/// How terms stand that are near each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One right behind the other.
    Phrase,
    /// In their order, the last at most so many words behind the first.
    Within(u32),
    /// In any order, the last at most so many words behind the first.
    Around(u32),
}

impl Near {
    /// How often terms stand so, which stand where `places` has for each of them in order, and those that are excluded where it has behind
    /// them: phrases are counted, of others whether there is one is told.
    pub(super) fn count(&self, places: &[Vec<Occurrence>]) -> u32 {
        let (places, excluded) = places.split_at(self.terms.len().min(places.len()));
        let Some((first, rest)) = places.split_first() else { return 0 };
        let is_free = |first: &Occurrence, last: &Occurrence| {
            excluded.iter().all(|places| is_free(first, last, places, self.excluded.distance))
        };
        match self.order {
            Order::Phrase => first.iter().filter(|begin| is_phrase(begin, rest)).count() as u32,
            Order::Within(distance) => {
                let stands = |begin: &Occurrence| {
                    // The nearest of each behind the one before is the best.
                    let last = rest.iter().try_fold(*begin, |before, places| {
                        let next = places.partition_point(|at| *at <= before);
                        places.get(next).filter(|at| at.element == begin.element).copied()
                    });
                    last.is_some_and(|last| {
                        last.position - begin.position <= distance && is_free(begin, &last)
                    })
                };
                u32::from(first.iter().any(stands))
            }
            Order::Around(distance) => u32::from(around(places, distance, is_free)),
        }
    }

    /// The lists of the terms in a segment, and behind them those of excluded terms that it has; nothing where it has not all terms.
    pub(super) fn lists<'p>(&self, part: &'p Part) -> Option<Vec<Postings<'p>>> {
        let lists = self.terms.iter().map(|term| part.segment.find(term));
        let mut lists = lists.collect::<Option<Vec<_>>>()?;
        lists.extend(self.excluded.terms.iter().filter_map(|term| part.segment.find(term)));
        Some(lists)
    }

    /// Where a document has what each of some [lists](Near::lists) is of; whether it has all terms.
    pub(super) fn read(
        &self,
        lists: &mut [Postings<'_>],
        doc: u32,
        places: &mut [Vec<Occurrence>],
    ) -> bool {
        let terms = lists.get_mut(..self.terms.len()).unwrap_or_default();
        if terms.is_empty() || !terms.iter_mut().all(|list| list.seek(doc) == doc) {
            return false;
        }
        for (list, places) in lists.iter_mut().zip(places) {
            places.clear();
            if list.seek(doc) == doc {
                list.occurrences(places);
            }
        }
        true
    }
}

/// Whether none of some places of a term is within so many words of those from a place to another of the same element.
fn is_free(first: &Occurrence, last: &Occurrence, places: &[Occurrence], distance: u32) -> bool {
    let from = Occurrence { position: first.position.saturating_sub(distance), ..*first };
    let next = places.get(places.partition_point(|at| *at < from));
    next.is_none_or(|at| {
        at.element != last.element || at.position > last.position.saturating_add(distance)
    })
}

/// Whether terms that stand where `rest` has for each follow one that begins at a place.
pub(super) fn is_phrase(begin: &Occurrence, rest: &[Vec<Occurrence>]) -> bool {
    rest.iter().zip(1..).all(|(places, behind)| {
        let position = begin.position.saturating_add(behind);
        places.binary_search(&Occurrence { position, ..*begin }).is_ok()
    })
}

/// Whether there is a place of each term such that all are in one element, near enough, and the first and the last of them pass a test.
fn around(
    places: &[Vec<Occurrence>],
    distance: u32,
    is_free: impl Fn(&Occurrence, &Occurrence) -> bool,
) -> bool {
    let mut at = vec![0; places.len()];
    loop {
        let mut least: Option<(usize, Occurrence)> = None;
        let mut greatest: Option<Occurrence> = None;
        for (term, places) in places.iter().enumerate() {
            let Some(place) = places.get(at[term]) else { return false };
            if least.is_none_or(|(_, least)| *place < least) {
                least = Some((term, *place));
            }
            greatest = greatest.max(Some(*place));
        }
        let Some(((term, least), greatest)) = least.zip(greatest) else { return false };
        if least.element == greatest.element
            && greatest.position - least.position <= distance
            && is_free(&least, &greatest)
        {
            return true;
        }
        at[term] += 1;
    }
}

impl FieldIndex {
    /// The documents that have what is looked for, by their lids.
    #[must_use]
    pub fn matches(&self, pattern: &Pattern) -> Bits {
        let mut found = Bits::default();
        let all = 0..u32::MAX;
        match pattern {
            Pattern::Term(term) => self.rows(term, all, &mut found),
            Pattern::Part(affix, text) => self.rows_with((*affix, text), all, &mut found),
            Pattern::Near(near) => self.parts.iter().for_each(|part| part.near(near, &mut found)),
        }
        found
    }
}

impl Part {
    fn near(&self, near: &Near, into: &mut Bits) {
        let Some(mut lists) = near.lists(self) else { return };
        let mut places = vec![Vec::new(); lists.len()];
        let mut doc = 0;
        while let Some(found) = meet(&mut lists[..near.terms.len()], doc) {
            if !self.gone.contains(found as usize)
                && near.read(&mut lists, found, &mut places)
                && near.count(&places) > 0
            {
                into.insert(self.segment.lid(found) as usize);
            }
            doc = found + 1;
        }
    }
}

/// The first document from one on that all lists have, at which they stand then.
fn meet(lists: &mut [Postings<'_>], from: u32) -> Option<u32> {
    let mut doc = from;
    loop {
        let before = doc;
        for list in &mut *lists {
            doc = list.seek(doc);
            if doc == END {
                return None;
            }
        }
        if lists.is_empty() {
            return None;
        }
        if doc == before && lists.iter().all(|list| list.doc() == doc) {
            return Some(doc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Affix, Excluded, Near, Order, Pattern};
    use crate::index::{FieldWriter, Occurrence};

    #[test]
    fn terms_are_near_each_other_in_one_element() {
        let texts = ["a b c a b", "b a", "a x b", "a | b", "a x x b c", "c x b x a", "x | a b"];
        let mut writer = FieldWriter::default();
        for (lid, text) in texts.iter().enumerate() {
            let elements = text.split('|').enumerate();
            let terms = elements.flat_map(|(element, text)| {
                let words = text.split_whitespace().enumerate();
                let element = element as u32;
                words.map(move |(at, word)| (word, Occurrence { element, position: at as u32 }))
            });
            writer.put(lid as u32 * 2, terms);
        }
        let index = writer.publish();
        let around = [
            // What is excluded, how far from the others, and what is left.
            ("a b", Order::Around(2), "x", 0, &[0, 1, 6][..]),
            ("a b", Order::Around(2), "x", 1, &[0, 1, 6]),
            ("a b", Order::Around(2), "c", 1, &[1, 2, 5, 6]),
            ("a b", Order::Around(2), "c", 0, &[0, 1, 2, 5, 6]),
            ("a b", Order::Within(1), "c", 1, &[6]),
            ("a b", Order::Within(2), "x z", 0, &[0, 6]),
            ("a", Order::Around(0), "b", 1, &[2, 3, 4, 5]),
            ("c", Order::Within(0), "b", 2, &[]),
            ("c", Order::Within(0), "x", 9, &[0]),
            ("b c", Order::Around(9), "z", 9, &[0, 4, 5]),
        ];
        let near = [
            ("a b", Order::Phrase, &[0, 6][..]),
            ("a b c", Order::Phrase, &[0]),
            ("b a", Order::Phrase, &[1]),
            ("a", Order::Phrase, &[0, 1, 2, 3, 4, 5, 6]),
            ("a z", Order::Phrase, &[]),
            ("a b", Order::Within(1), &[0, 6]),
            ("a b", Order::Within(2), &[0, 2, 6]),
            ("a b c", Order::Within(4), &[0, 4]),
            ("a b", Order::Around(1), &[0, 1, 6]),
            ("a b", Order::Around(2), &[0, 1, 2, 5, 6]),
            ("a b c", Order::Around(4), &[0, 4, 5]),
            ("", Order::Phrase, &[]),
        ];
        let near = near.map(|(terms, order, expected)| (terms, order, "", 0, expected));
        for (terms, order, excluded, distance, expected) in near.into_iter().chain(around) {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            let excluded = Excluded { terms: words(excluded), distance };
            let near = Near { terms: words(terms), order, excluded };
            let found = index.matches(&Pattern::Near(near.clone()));
            let found: Vec<usize> = found.iter().map(|lid| lid / 2).collect();
            assert_eq!(found, expected, "{near:?}");
        }
        let lids = |pattern| index.matches(&pattern).iter().collect::<Vec<_>>();
        assert_eq!(lids(Pattern::Term("c".to_owned())), [0, 8, 10]);
        assert_eq!(lids(Pattern::Part(Affix::Prefix, String::new())).len(), texts.len());
    }
}
