//! Any of some phrases, as documents have them.

use super::postings::{END, Postings};
use super::view::Part;
use super::write::Occurrence;

/// Any of some phrases, which are words one right behind the other: a phrase of one word is a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrases(Vec<Vec<String>>);

impl Phrases {
    /// A word.
    #[must_use]
    pub fn word(word: String) -> Phrases {
        Phrases(vec![vec![word]])
    }

    /// A phrase; nothing has one without words.
    #[must_use]
    pub fn one(words: Vec<String>) -> Phrases {
        Phrases::any(vec![words])
    }

    /// Any of these.
    #[must_use]
    pub fn any(mut phrases: Vec<Vec<String>>) -> Phrases {
        phrases.retain(|words| !words.is_empty());
        Phrases(phrases)
    }

    /// These and others.
    #[must_use]
    pub fn or(mut self, others: Phrases) -> Phrases {
        self.0.extend(others.0);
        self
    }

    /// The phrases.
    #[must_use]
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many documents have each, as ranking takes it by the words: those of its rarest word
    /// (Vespa, `searchlib/src/vespa/searchlib/queryeval/simple_phrase_blueprint.cpp`).
    pub fn frequencies(&self, of_word: impl Fn(&str) -> usize) -> impl Iterator<Item = usize> {
        let of = move |words: &Vec<String>| words.iter().map(|word| of_word(word)).min();
        self.0.iter().map(move |words| of(words).unwrap_or(0))
    }

    /// How many words a phrase has, if there is one phrase, else 1.
    #[must_use]
    pub fn length(&self) -> usize {
        match self.0.as_slice() {
            [words] => words.len(),
            _ => 1,
        }
    }
}

/// The lists of the words of some phrases in a segment.
#[derive(Debug)]
pub(super) struct PhraseLists<'s> {
    phrases: Vec<Vec<Postings<'s>>>,
    /// Where each word of a phrase stands.
    places: Vec<Vec<Occurrence>>,
}

impl<'s> PhraseLists<'s> {
    /// Nothing where the segment has not all words of one phrase.
    pub(super) fn find(of: &Phrases, part: &'s Part) -> Option<PhraseLists<'s>> {
        let lists = |words: &Vec<String>| -> Option<Vec<Postings<'s>>> {
            words.iter().map(|word| part.segment.find(word)).collect()
        };
        let phrases: Vec<_> = of.0.iter().filter_map(lists).collect();
        let longest = phrases.iter().map(Vec::len).max()?;
        Some(PhraseLists { phrases, places: vec![Vec::new(); longest] })
    }

    /// The first document from one on that has all words of a phrase, wherever they stand.
    pub(super) fn seek(&mut self, doc: u32) -> u32 {
        self.phrases.iter_mut().map(|lists| meet(lists, Postings::seek, doc)).min().unwrap_or(END)
    }

    /// Where a document, not before one that was read, has one of the phrases, each by its first word, in their order, behind what is in a
    /// list.
    pub(super) fn read(&mut self, doc: u32, into: &mut Vec<Occurrence>) {
        let before = into.len();
        for lists in &mut self.phrases {
            if meet(lists, Postings::seek, doc) != doc {
                continue;
            }
            if let [list] = lists.as_mut_slice() {
                list.occurrences(into);
                continue;
            }
            for (list, places) in lists.iter_mut().zip(&mut self.places) {
                places.clear();
                list.occurrences(places);
            }
            if let Some((first, rest)) = self.places[..lists.len()].split_first() {
                into.extend(first.iter().filter(|begin| is_phrase(begin, rest)));
            }
        }
        if self.phrases.len() > 1 {
            let mut own = into.split_off(before);
            own.sort_unstable();
            own.dedup();
            into.append(&mut own);
        }
    }
}

/// Whether words that stand where `rest` has for each follow one that begins at a place.
fn is_phrase(begin: &Occurrence, rest: &[Vec<Occurrence>]) -> bool {
    rest.iter().zip(1..).all(|(places, behind)| {
        let position = begin.position.saturating_add(behind);
        places.binary_search(&Occurrence { position, ..*begin }).is_ok()
    })
}

/// The first document from one on that all of some lists have, each of which tells the first that it has from one on.
pub(super) fn meet<L>(lists: &mut [L], seek: impl Fn(&mut L, u32) -> u32, from: u32) -> u32 {
    if lists.is_empty() {
        return END;
    }
    let mut doc = from;
    loop {
        let before = doc;
        for list in &mut *lists {
            doc = seek(list, doc);
            if doc == END {
                return END;
            }
        }
        // All lists were asked for it where none went beyond it.
        if doc == before {
            return doc;
        }
    }
}
