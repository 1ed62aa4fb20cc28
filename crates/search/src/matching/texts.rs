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
    tree: &'m QueryTree,
    view: &'m View,
    /// By term; nothing for those of attributes.
    found: Vec<Option<Found<'m>>>,
    /// By term: how many documents have it in all fields of its item.
    frequencies: Vec<OnceLock<usize>>,
}

/// What was found of a term.
struct Found<'m> {
    indexed: &'m Indexed,
    documents: OnceLock<Bits>,
    /// How many documents have each of its phrases in its field
    own: OnceLock<Vec<usize>>,
}

impl<'m> Texts<'m> {
    /// None has been looked for yet.
    pub(super) fn new(tree: &'m QueryTree, view: &'m View) -> Texts<'m> {
        let found = tree.terms.iter().map(|term| match &term.test {
            Test::Indexed(indexed) => {
                Some(Found { indexed, documents: OnceLock::new(), own: OnceLock::new() })
            }
            _ => None,
        });
        let frequencies = tree.terms.iter().map(|_| OnceLock::new()).collect();
        Texts { tree, view, found: found.collect(), frequencies }
    }

    /// The documents of a term by their numbers; nothing if it asks no index of text.
    pub(super) fn of(&self, term: usize) -> Option<&Bits> {
        let Found { indexed, documents, .. } = self.found.get(term)?.as_ref()?;
        let index = self.view.text(indexed.index);
        let matches = || index.map(|index| index.matches(&indexed.pattern)).unwrap_or_default();
        Some(documents.get_or_init(matches))
    }

    /// How many documents have a term, as ranking takes it: where it is asked of several fields, all together of which each has it; of
    /// a choice as many as have the most frequent (Vespa, `Blueprint::sat_sum`, `EquivBlueprint::addTerm`). `of_attribute` tells that of
    /// a test of an attribute; those that it does not know all documents may pass.
    pub(super) fn frequency(
        &self,
        term: usize,
        of_attribute: &dyn Fn(usize) -> Option<usize>,
    ) -> usize {
        let Some((asked, known)) = self.tree.terms.get(term).zip(self.frequencies.get(term)) else {
            return 0;
        };
        // Many features ask for it.
        let count = || {
            let all = self.view.len();
            let own = |term: usize| match self.of_field(term) {
                Some(found) => found.to_vec(),
                None => vec![of_attribute(term).unwrap_or(all)],
            };
            let mut sums = own(term);
            let mut fields = vec![asked.attribute.as_str()];
            for (number, other) in self.tree.terms.iter().enumerate() {
                if other.item != asked.item || fields.contains(&other.attribute.as_str()) {
                    continue;
                }
                fields.push(&other.attribute);
                let found = own(number);
                let most = found.iter().copied().max().unwrap_or(0);
                let choices = sums.len();
                for (at, sum) in sums.iter_mut().enumerate() {
                    // What a choice is made of is mostly the same in each field.
                    let own = found.get(at).filter(|_| found.len() == choices);
                    *sum = sum.saturating_add(own.copied().unwrap_or(most));
                }
            }
            sums.into_iter().max().unwrap_or(0).min(all)
        };
        *known.get_or_init(count)
    }

    /// How many documents have a term in its field, or each of the phrases of a choice: by those that have [their
    /// words](stead_text::Phrases::frequencies), wherever these stand.
    fn of_field(&self, term: usize) -> Option<&[usize]> {
        let Found { indexed, own, .. } = self.found.get(term)?.as_ref()?;
        let count = || {
            let Some(index) = self.view.text(indexed.index) else { return vec![0] };
            let of_word = |word: &str| index.frequency(word);
            match &indexed.pattern {
                Pattern::Term(word) => vec![index.frequency(word)],
                Pattern::Phrases(of) => of.frequencies(of_word).collect(),
                Pattern::NearPart(near, part) => match near.parts.get(*part) {
                    Some(of) => of.frequencies(of_word).collect(),
                    None => vec![0],
                },
                Pattern::Part(..) | Pattern::Near(_) => vec![self.of(term).map_or(0, Bits::count)],
            }
        };
        Some(own.get_or_init(count))
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
