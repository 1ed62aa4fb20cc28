//! What indexes of text tell of the terms of a query.

use std::sync::OnceLock;

use stead_store::View;
use stead_tensor::Bits;
use stead_text::{Counter, Pattern};

use super::rows::RowSet;
use crate::query::{Indexed, QueryTree, Test};

/// The documents of each term that asks an index of text: looked for when they are wanted first, of all documents at once, since an index
/// knows where a word is and not where it is not.
pub(super) struct Texts<'m> {
    view: &'m View,
    /// By term; nothing for those of attributes.
    found: Vec<Option<Found<'m>>>,
}

/// What was found of a term.
struct Found<'m> {
    indexed: &'m Indexed,
    documents: OnceLock<Bits>,
    frequency: OnceLock<usize>,
}

impl<'m> Texts<'m> {
    /// None has been looked for yet.
    pub(super) fn new(tree: &'m QueryTree, view: &'m View) -> Texts<'m> {
        let found = tree.terms.iter().map(|term| match &term.test {
            Test::Indexed(indexed) => {
                Some(Found { indexed, documents: OnceLock::new(), frequency: OnceLock::new() })
            }
            _ => None,
        });
        Texts { view, found: found.collect() }
    }

    /// The documents of a term by their numbers; nothing if it asks no index of text.
    pub(super) fn of(&self, term: usize) -> Option<&Bits> {
        let Found { indexed, documents, .. } = self.found.get(term)?.as_ref()?;
        let index = self.view.text(indexed.index);
        let matches = || index.map(|index| index.matches(&indexed.pattern)).unwrap_or_default();
        Some(documents.get_or_init(matches))
    }

    /// How many documents have a term, as ranking takes it: by those that have its [words](stead_text::Phrases::frequency), wherever these stand.
    /// Nothing if it asks no index of text.
    pub(super) fn frequency(&self, term: usize) -> Option<usize> {
        let Found { indexed, frequency, .. } = self.found.get(term)?.as_ref()?;
        // Many features ask for it.
        let count = || {
            let Some(index) = self.view.text(indexed.index) else { return 0 };
            match &indexed.pattern {
                Pattern::Term(word) => index.frequency(word),
                Pattern::Phrases(of) => of.frequency(|word| index.frequency(word)),
                Pattern::NearPart(near, part) => {
                    near.parts.get(*part).map_or(0, |of| of.frequency(|word| index.frequency(word)))
                }
                Pattern::Part(..) | Pattern::Near(_) => self.of(term).map_or(0, Bits::count),
            }
        };
        Some(*frequency.get_or_init(count))
    }

    /// What tells where a document has a term; nothing if it asks no index of text.
    pub(super) fn counter(&self, term: usize) -> Option<Counter<'m>> {
        let indexed = self.found.get(term)?.as_ref()?.indexed;
        Some(self.view.text(indexed.index)?.counter(vec![&indexed.pattern]))
    }

    /// The number of the document of a row of a block.
    pub(super) fn lid(&self, block: usize, row: usize) -> u32 {
        self.view.lid(block, row)
    }

    /// How many rows a block has on average that have a term.
    pub(super) fn most(&self, term: usize) -> Option<usize> {
        let blocks = self.view.len().div_ceil(self.view.block_rows()).max(1);
        self.of(term).map(|found| found.count().div_ceil(blocks))
    }

    /// The rows among some of a block that have a term.
    pub(super) fn rows(&self, term: usize, block: usize, among: &RowSet) -> Option<RowSet> {
        let mut found = rows_of_block(self.of(term)?, block, among.rows(), self.view.block_rows());
        found.and(among);
        Some(found)
    }

    /// Whether no row of a block has a term.
    pub(super) fn has_none(&self, term: usize, block: usize) -> bool {
        self.of(term).is_some_and(|found| none_of_block(found, block, self.view.block_rows()))
    }

    /// Whether a row of a block has a term.
    pub(super) fn has(&self, term: usize, block: usize, row: usize) -> Option<bool> {
        self.of(term).map(|found| found.contains(block * self.view.block_rows() + row))
    }
}

/// The bits of the rows of a block among those of all documents, where blocks have `size` rows, a multiple of 64; those that are missing are
/// zero.
fn part(all: &Bits, block: usize, size: usize) -> &[u64] {
    let (words, of_block) = (all.words(), size / 64);
    let from = (block * of_block).min(words.len());
    &words[from..(from + of_block).min(words.len())]
}

/// Whether no document of a block of `size` rows is among some.
pub(super) fn none_of_block(all: &Bits, block: usize, size: usize) -> bool {
    part(all, block, size).iter().all(|word| *word == 0)
}

/// The first rows of a block of `size` of them that are among some documents.
pub(super) fn rows_of_block(all: &Bits, block: usize, rows: usize, size: usize) -> RowSet {
    RowSet::from_words(part(all, block, size), rows)
}
