//! What is looked for in texts: terms, phrases, and what stands near each other.

use std::sync::Arc;

use stead_tensor::Bits;

use super::near::{Near, NearLists};
use super::phrases::{PhraseLists, Phrases};
use super::postings::END;
use super::view::{FieldIndex, Part};

/// What a text must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A term.
    Term(String),
    /// A term that has a text in it.
    Part(Affix, String),
    /// Any of some phrases.
    Phrases(Phrases),
    /// Terms and phrases that stand near each other.
    Near(Arc<Near>),
    /// A part of what stands near each other, by its number, where it does.
    NearPart(Arc<Near>, usize),
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

impl Pattern {
    /// Any of some phrases, as a term where it is one word.
    #[must_use]
    pub fn of_phrases(phrases: Phrases) -> Pattern {
        match phrases.phrases() {
            [words] if words.len() == 1 => Pattern::Term(words.concat()),
            _ => Pattern::Phrases(phrases),
        }
    }

    /// How many words stand one behind the other in what is looked for.
    #[must_use]
    pub fn phrase_length(&self) -> usize {
        match self {
            Pattern::Phrases(phrases) => phrases.length(),
            Pattern::NearPart(near, part) => near.parts.get(*part).map_or(1, Phrases::length),
            Pattern::Term(_) | Pattern::Part(..) | Pattern::Near(_) => 1,
        }
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
            Pattern::Phrases(of) => self.parts.iter().for_each(|part| part.phrases(of, &mut found)),
            Pattern::Near(near) | Pattern::NearPart(near, _) => {
                self.parts.iter().for_each(|part| part.near(near, &mut found));
            }
        }
        found
    }
}

impl Part {
    fn phrases(&self, of: &Phrases, into: &mut Bits) {
        let Some(mut lists) = PhraseLists::find(of, self) else { return };
        let mut places = Vec::new();
        let mut doc = lists.seek(0);
        while doc != END {
            if !self.gone.contains(doc as usize) {
                places.clear();
                lists.read(doc, &mut places);
                if !places.is_empty() {
                    into.insert(self.segment.lid(doc) as usize);
                }
            }
            doc = lists.seek(doc + 1);
        }
    }

    fn near(&self, near: &Near, into: &mut Bits) {
        let Some(mut lists) = NearLists::find(near, self) else { return };
        let mut doc = lists.seek(0);
        while doc != END {
            if !self.gone.contains(doc as usize) && near.is_in(lists.read(near, self, doc)) {
                into.insert(self.segment.lid(doc) as usize);
            }
            doc = lists.seek(doc + 1);
        }
    }
}
