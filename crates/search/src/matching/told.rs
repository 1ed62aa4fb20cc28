//! What indexes tell of the terms of a query.

use std::sync::OnceLock;

use stead_store::{Column, Index, StoreError, View};

use super::index::Lookup;
use super::rows::RowSet;
use super::value::passes;
use crate::query::{QueryTree, Test};

/// A loop over numbers looks at so many rows while a row that an index tells is written down.
const LOOP: usize = 16;

/// So many rows that an index tells are written down in the time of many steps for a row.
const HEAVY: usize = 64;

/// Where an index tells of at most so many rows for each block of a span, there are blocks without any.
const SPARSE: usize = 4;

/// Gives the column of an index to who must look at it.
pub(super) type Get<'c> = dyn Fn() -> Result<Option<&'c Column>, StoreError> + 'c;

/// What indexes tell of the terms of a query, by spans of blocks; each span is asked once for each term.
pub(super) struct Indexes<'m> {
    view: &'m View,
    /// How many blocks a span has.
    blocks: usize,
    /// How many the view has.
    count: usize,
    /// By term and span; no spans for terms without an index.
    told: Vec<Vec<OnceLock<Option<Told>>>>,
}

/// What the index of a span tells of a term.
pub(super) struct Told {
    lookup: Lookup,
    /// The most rows that pass in all blocks together.
    most: usize,
    span: Span,
    /// The other rows with a value that passes: of tests that sum weights up, and of predicates, there may be more than those that pass. Written
    /// down when they are wanted first.
    rows: OnceLock<RowSet>,
}

/// Blocks that follow each other.
#[derive(Clone, Copy)]
struct Span {
    /// The number of the first.
    first: usize,
    count: usize,
    /// The rows that each has, a multiple of 64; the last may have fewer.
    rows: usize,
}

impl<'m> Indexes<'m> {
    /// None has been asked yet.
    pub(super) fn new(tree: &'m QueryTree, view: &'m View) -> Indexes<'m> {
        let (blocks, count) = (view.span_blocks(), view.blocks().count());
        let spans = |is_indexed: bool| if is_indexed { count.div_ceil(blocks) } else { 0 };
        let told = tree.terms.iter().map(|term| {
            let number = view.kind().attribute_number(&term.attribute);
            let about = number.and_then(|number| view.kind().attributes().get(number));
            // The values of parents lie apart, with their own.
            let is_indexed =
                about.is_some_and(|about| about.index.is_some() && about.import.is_none());
            (0..spans(is_indexed)).map(|_| OnceLock::new()).collect()
        });
        Indexes { view, blocks, count, told: told.collect() }
    }

    /// The same of the same query, none asked.
    pub(super) fn again(&self, tree: &'m QueryTree) -> Indexes<'m> {
        Indexes::new(tree, self.view)
    }

    /// What the index of an attribute tells of a test, the term by its number, for the span of a block; nothing if there is no index, or
    /// it is not for such tests.
    ///
    /// # Errors
    /// When a column must be read for it that lies on disk, and cannot be.
    pub(super) fn told(
        &self,
        (term, test): (usize, &Test),
        attribute: usize,
        block: usize,
    ) -> Result<Option<&Told>, StoreError> {
        let span = block / self.blocks;
        let Some(cell) = self.told.get(term).and_then(|spans| spans.get(span)) else {
            return Ok(None);
        };
        if let Some(told) = cell.get() {
            return Ok(told.as_ref());
        }
        let index = self.view.index(attribute, span)?;
        let told = index.and_then(|index| self.tell(test, index, span));
        Ok(cell.get_or_init(|| told).as_ref())
    }

    fn tell(&self, test: &Test, index: Index, span: usize) -> Option<Told> {
        let lookup = Lookup::new(test, index)?;
        let most = lookup.count() + lookup.changed().count();
        let first = span * self.blocks;
        let count = self.count.saturating_sub(first).min(self.blocks);
        let span = Span { first, count, rows: self.view.block_rows() };
        Some(Told { lookup, most, span, rows: OnceLock::new() })
    }
}

impl Told {
    /// How many rows pass in all blocks of the span together, told for its first block, and 0 for the others; nothing where some rows
    /// must be looked at for that.
    pub(super) fn known(&self, block: usize) -> Option<usize> {
        let is_known = self.lookup.changed().count() == 0 && !self.lookup.is_rough();
        is_known.then(|| if block == self.span.first { self.lookup.count() } else { 0 })
    }

    /// The most rows that pass in a block, were they spread evenly.
    pub(super) fn most(&self) -> usize {
        self.most.div_ceil(self.span.count.max(1))
    }

    /// Whether to ask it costs less than looking at `among` rows of each block, of which each may have one number.
    pub(super) fn is_cheaper(&self, is_number: bool, among: usize) -> bool {
        let each = match is_number {
            true => among.min(self.span.rows / LOOP),
            false if self.is_heavy() => among.saturating_mul(HEAVY),
            false => among,
        };
        self.rows.get().is_some() || self.most <= each * self.span.count
    }

    /// Whether what passes is only among the [candidates](Told::candidates): rows that have some value of those that pass together.
    fn is_rough(&self) -> bool {
        self.lookup.is_rough()
    }

    /// Whether it takes many steps to see if a candidate passes.
    pub(super) fn is_heavy(&self) -> bool {
        self.lookup.is_heavy()
    }

    /// Whether no row of a block passes, where that is easily told.
    pub(super) fn has_none(&self, block: usize) -> bool {
        if self.rows.get().is_none() && self.most > SPARSE * self.span.count {
            return false;
        }
        let is_none = |all: &[u64]| self.part(block, all).iter().all(|word| *word == 0);
        is_none(self.rows().words()) && is_none(self.lookup.changed().words())
    }

    /// The rows among some of a block that have a value that passes: where that is [rough](Told::is_rough) there may be others.
    pub(super) fn candidates(
        &self,
        test: &Test,
        block: usize,
        column: &Get<'_>,
        among: &RowSet,
    ) -> Result<RowSet, StoreError> {
        let part = |all: &[u64]| {
            let mut part = RowSet::from_words(self.part(block, all), among.rows());
            part.and(among);
            part
        };
        let mut found = part(self.rows().words());
        let mut changed = part(self.lookup.changed().words());
        if !changed.is_empty() {
            if !self.is_rough() {
                changed = passing(test, column, &changed)?;
            }
            found.or(&changed);
        }
        Ok(found)
    }

    /// The rows among some of a block that pass, and how many candidates were looked at for that: none where what the index tells is all.
    pub(super) fn passing(
        &self,
        test: &Test,
        block: usize,
        column: &Get<'_>,
        among: &RowSet,
    ) -> Result<(RowSet, usize), StoreError> {
        let found = self.candidates(test, block, column, among)?;
        if !self.is_rough() || found.is_empty() {
            return Ok((found, 0));
        }
        let first = block.saturating_sub(self.span.first) * self.span.rows;
        Ok((self.lookup.passing(test, column()?, first, &found), found.count()))
    }

    /// The bits of the rows of a block among those of the span; those that are missing are zero.
    fn part<'w>(&self, block: usize, all: &'w [u64]) -> &'w [u64] {
        let words = self.span.rows / 64;
        let from = (block.saturating_sub(self.span.first) * words).min(all.len());
        &all[from..(from + words).min(all.len())]
    }

    fn rows(&self) -> &RowSet {
        self.rows.get_or_init(|| {
            let mut rows = RowSet::none(self.span.count * self.span.rows);
            self.lookup.rows().for_each(|row| rows.insert(usize::from(row)));
            rows.without(&RowSet::from_words(self.lookup.changed().words(), rows.rows()));
            rows
        })
    }
}

/// The rows among some that pass a test. Where there are none the column is not read.
fn passing(test: &Test, column: &Get<'_>, among: &RowSet) -> Result<RowSet, StoreError> {
    if among.is_empty() {
        return Ok(among.clone());
    }
    let column = column()?;
    let passes = |row: usize| column.is_some_and(|column| passes(test, column, row).is_some());
    Ok(among.filter(passes))
}
