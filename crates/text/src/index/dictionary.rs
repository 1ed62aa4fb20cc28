//! The terms of a segment.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::pattern::Affix;

/// Terms in the order of their bytes, each with a number from 0.
///
/// A term is found by its hash in a table of twice as many places, those with a prefix by halving.
#[derive(Debug)]
pub(super) struct Dictionary {
    texts: String,
    /// Where each term begins, and where the last ends.
    starts: Vec<u32>,
    /// Numbers of terms plus one by hash, 0 where there is none; a power of two of places.
    places: Vec<u32>,
    hasher: RandomState,
}

/// Terms that come in order, to become a [`Dictionary`].
#[derive(Debug)]
pub(super) struct DictionaryBuilder {
    texts: String,
    starts: Vec<u32>,
}

impl DictionaryBuilder {
    pub(super) fn new() -> DictionaryBuilder {
        DictionaryBuilder { texts: String::new(), starts: vec![0] }
    }

    /// Makes room for so many terms with so many bytes.
    pub(super) fn reserve(&mut self, terms: usize, texts: usize) {
        self.texts.reserve(texts);
        self.starts.reserve(terms);
    }

    /// Adds a term, greater than those before.
    pub(super) fn push(&mut self, term: &str) {
        self.texts.push_str(term);
        self.starts.push(self.texts.len() as u32);
    }

    pub(super) fn finish(mut self) -> Dictionary {
        self.texts.shrink_to_fit();
        self.starts.shrink_to_fit();
        let count = self.starts.len() - 1;
        let size = (count * 2).next_power_of_two();
        let mut dictionary = Dictionary {
            texts: self.texts,
            starts: self.starts,
            places: vec![0; size],
            hasher: RandomState::default(),
        };
        for number in 0..count {
            let term = dictionary.get(number).unwrap_or_default();
            let mut place = dictionary.place(term);
            while dictionary.places.get(place).is_some_and(|taken| *taken != 0) {
                place = (place + 1) & (size - 1);
            }
            dictionary.places[place] = number as u32 + 1;
        }
        dictionary
    }
}

impl Dictionary {
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The texts of all terms, and where each ends among them.
    pub(super) fn parts(&self) -> (&str, &[u32]) {
        (&self.texts, self.starts.get(1..).unwrap_or_default())
    }

    /// The term of a number.
    pub(super) fn get(&self, number: usize) -> Option<&str> {
        let (begin, end) = (*self.starts.get(number)?, *self.starts.get(number + 1)?);
        self.texts.get(begin as usize..end as usize)
    }

    /// The bytes of all terms.
    pub(super) fn bytes(&self) -> usize {
        self.texts.len()
    }

    /// The number of a term.
    pub(super) fn find(&self, term: &str) -> Option<usize> {
        let mut place = self.place(term);
        loop {
            // Half of the places are free, so that one is met.
            let number = self.places.get(place)?.checked_sub(1)? as usize;
            if self.get(number)? == term {
                return Some(number);
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    /// The numbers of the terms that have a text somewhere, in order. All terms are looked at, except for a prefix.
    pub(super) fn with(&self, affix: Affix, text: &str) -> impl Iterator<Item = usize> {
        let among = match affix {
            Affix::Prefix => self.with_prefix(text),
            Affix::Infix | Affix::Suffix => 0..self.len(),
        };
        among.filter(move |number| {
            let term = self.get(*number).unwrap_or_default();
            match affix {
                Affix::Prefix => true,
                Affix::Infix => term.contains(text),
                Affix::Suffix => term.ends_with(text),
            }
        })
    }

    /// The numbers of the terms that begin with a text.
    fn with_prefix(&self, prefix: &str) -> Range<usize> {
        let first = self.first(|term| term < prefix);
        // Terms are in order: those with the prefix follow each other.
        first..self.first(|term| term < prefix || term.starts_with(prefix))
    }

    /// The number of the first term for which something does not hold that holds for all before it and for none behind.
    fn first(&self, before: impl Fn(&str) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).is_some_and(&before) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn place(&self, term: &str) -> usize {
        self.hasher.hash_one(term) as usize & (self.places.len() - 1)
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.texts.len() + 4 * (self.starts.len() + self.places.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::btree_set;
    use proptest::prelude::proptest;

    use super::{Affix, DictionaryBuilder};

    proptest! {
        #[test]
        fn terms_are_found(terms in btree_set("[a-c\u{e9}]{1,4}", 0..60), prefix in "[a-d\u{e9}]{0,3}") {
            let mut builder = DictionaryBuilder::new();
            terms.iter().for_each(|term| builder.push(term));
            let dictionary = builder.finish();
            assert_eq!(dictionary.len(), terms.len());
            for (number, term) in terms.iter().enumerate() {
                assert_eq!((dictionary.get(number), dictionary.find(term)), (Some(&**term), Some(number)));
            }
            assert_eq!(dictionary.find(&format!("{prefix}x")), None);
            for (affix, has) in [
                (Affix::Prefix, (|term, part| term.starts_with(part)) as fn(&str, &str) -> bool),
                (Affix::Infix, |term, part| term.contains(part)),
                (Affix::Suffix, |term, part| term.ends_with(part)),
            ] {
                let found: BTreeSet<_> = dictionary.with(affix, &prefix).filter_map(|n| dictionary.get(n)).collect();
                let expected: BTreeSet<_> = terms.iter().map(|t| &**t).filter(|t| has(t, &prefix)).collect();
                assert_eq!(found, expected, "{affix:?}");
            }
        }
    }
}
