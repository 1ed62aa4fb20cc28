//! A tree and blocks of documents.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stead_ann::{Metric, Strategy};
use stead_store::{AttributeColumn, Column, DataType, StoreError, View};
use stead_tensor::Bits;

use super::column::{Cost, rows};
use super::explain::Probe;
use super::neighbors::{Winners, winners};
use super::patience::Patience;
use super::rows::RowSet;
use super::same_element::{ElementTest, any};
use super::segment::{Segment, Tested, Work};
use super::texts::{Texts, none_of_block, rows_of_block};
use super::told::{Indexes, Told};
use super::value::passes;
use super::weak::weak;
use crate::query::{QueryTree, SearchError, Term, Test, Tree, WeakAnd};
use crate::rank::Means;

/// A query with documents.
pub struct Matcher<'m> {
    pub(super) tree: &'m QueryTree,
    view: &'m View,
    pub(super) segments: Vec<Segment<'m>>,
    /// The rows of each segment but the last.
    rows: usize,
    /// By term: the attribute that it tests.
    attributes: Vec<Option<Tested>>,
    indexes: Indexes<'m>,
    pub(super) texts: Arc<Texts<'m>>,
    winners: Arc<Vec<Winners>>,
    /// The documents of each `weakAnd`, and how long they were looked for.
    weak: Arc<Vec<(Bits, Duration)>>,
    /// The blocks whose vectors were not compared because it was late.
    skipped: Vec<usize>,
    /// Whether a search of a graph ended early because it was late, and because there was no more time for such searches.
    is_cut: bool,
    is_timed_out: bool,
    /// Where somebody wants to know what becomes of the parts of the query.
    pub(super) probe: Option<Probe>,
}

impl fmt::Debug for Matcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher").field("tree", &self.tree).finish_non_exhaustive()
    }
}

/// The documents that a query asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Matches {
    /// The rows of each block.
    pub segments: Vec<RowSet>,
}

impl Matches {
    /// How many documents there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.segments.iter().map(RowSet::count).sum()
    }
}

impl<'m> Matcher<'m> {
    /// A query with the documents of a view. Vectors of the query are known.
    ///
    /// # Errors
    /// When a vector does not fit the field that it is compared with, and when values that lie on disk cannot be read.
    pub fn new(tree: &'m QueryTree, view: &'m View) -> Result<Matcher<'m>, SearchError> {
        Matcher::within(tree, view, 1, (Means::UNBOUNDED, Patience::default()))
    }

    /// The same with at most so many threads, while it is not late; the result does not depend on the threads. Searches of graphs have
    /// their own time, if there is some for them.
    ///
    /// # Errors
    /// As there.
    pub fn within(
        tree: &'m QueryTree,
        view: &'m View,
        threads: usize,
        (means, patience): (Means<'_>, Patience),
    ) -> Result<Matcher<'m>, SearchError> {
        let (segments, rows) = (Segment::all(view).collect(), view.block_rows());
        let tested = |term: &Term| {
            if let Test::Indexed(_) = term.test {
                return None;
            }
            let number = view.kind().attribute_number(&term.attribute)?;
            let is_number = view.kind().attributes().get(number).is_some_and(is_number);
            Some(Tested { number, is_number })
        };
        let attributes = tree.terms.iter().map(tested).collect();
        let mut matcher = Matcher {
            tree,
            view,
            segments,
            rows,
            attributes,
            indexes: Indexes::new(tree, view),
            texts: Arc::new(Texts::new(tree, view)),
            winners: Arc::default(),
            weak: Arc::default(),
            skipped: Vec::new(),
            is_cut: false,
            is_timed_out: false,
            probe: None,
        };
        // What compares vectors may take the words beside it into account.
        let (weak, mut late) = weak(&matcher, view, threads, means)?;
        matcher.weak = Arc::new(weak);
        let mut winners = winners(&matcher, view, threads, (means, patience))?;
        winners.late.append(&mut late);
        (matcher.winners, matcher.skipped) = (Arc::new(winners.list), winners.late);
        (matcher.is_cut, matcher.is_timed_out) = (winners.is_cut, winners.is_timed_out);
        Ok(matcher)
    }

    /// The same query with the same documents, watched.
    pub(super) fn watched(&self) -> Matcher<'m> {
        let (segments, weak) = (self.segments.clone(), Arc::clone(&self.weak));
        let winners = Arc::clone(&self.winners);
        let (attributes, skipped) = (self.attributes.clone(), self.skipped.clone());
        let (probe, indexes) = (Some(Probe::default()), self.indexes.again(self.tree));
        let (tree, rows, texts) = (self.tree, self.rows, Arc::clone(&self.texts));
        let view = self.view;
        let (is_cut, is_timed_out) = (self.is_cut, self.is_timed_out);
        Matcher {
            tree,
            view,
            segments,
            rows,
            attributes,
            indexes,
            texts,
            winners,
            weak,
            skipped,
            is_cut,
            is_timed_out,
            probe,
        }
    }

    /// The blocks whose vectors were not compared because it was late: none of their documents is among the nearest.
    #[must_use]
    pub fn skipped(&self) -> &[usize] {
        &self.skipped
    }

    /// Whether there was no time for all of a search of a graph: nearer documents may be missing.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the time for searches of graphs was over before one was done: nearer documents may be missing.
    #[must_use]
    pub fn is_timed_out(&self) -> bool {
        self.is_timed_out
    }

    /// How long the documents of a part were looked for before all else, if they were.
    pub(super) fn searched(&self, tree: &Tree) -> Option<Duration> {
        match tree {
            Tree::Neighbor(number) => self.winners.get(*number).map(|winners| winners.took),
            Tree::WeakAnd(number) => self.weak.get(*number).map(|(_, took)| *took),
            _ => None,
        }
    }

    /// How the nearest documents of a comparison were found.
    pub(super) fn strategy(&self, neighbor: usize) -> Option<Strategy> {
        self.winners.get(neighbor)?.strategy
    }

    /// The query.
    #[must_use]
    pub fn tree(&self) -> &'m QueryTree {
        self.tree
    }

    /// The block of a document of a view, and its row there.
    #[must_use]
    pub fn split(&self, document: u32) -> (usize, usize) {
        (document as usize / self.rows, document as usize % self.rows)
    }

    /// All documents that the query asks for.
    ///
    /// # Errors
    /// When values that lie on disk cannot be read.
    pub fn matches(&self) -> Result<Matches, StoreError> {
        let segments = (0..self.segments.len()).map(|at| self.segment(at));
        Ok(Matches { segments: segments.collect::<Result<_, _>>()? })
    }

    /// Those of one block.
    ///
    /// # Errors
    /// As [`Matcher::matches`].
    pub fn segment(&self, number: usize) -> Result<RowSet, StoreError> {
        if self.is_ruled_out(&self.tree.root, number)? {
            return Ok(RowSet::none(self.rows));
        }
        match self.work(number) {
            Some(work) => self.evaluate(&self.tree.root, &work, &work.segment().alive()),
            None => Ok(RowSet::none(0)),
        }
    }

    /// Those of one block that pass the part of a label by its number.
    ///
    /// # Errors
    /// As [`Matcher::matches`].
    pub fn labeled(&self, label: usize, number: usize) -> Result<RowSet, StoreError> {
        match self.tree.labels.get(label).zip(self.work(number)) {
            Some((label, work)) => self.rows_of(&label.tree, &work, &work.segment().alive()),
            None => Ok(RowSet::none(0)),
        }
    }

    /// Whether indexes alone tell that no row of a block passes: nothing of the block is looked at, which would only have to come from memory
    /// to be let go. The last block, which may have fewer rows, is looked at; so are all where somebody wants to know what
    /// becomes of the parts of the query.
    pub(super) fn is_ruled_out(&self, tree: &Tree, number: usize) -> Result<bool, StoreError> {
        if self.probe.is_some() || number + 1 >= self.segments.len() {
            return Ok(false);
        }
        let is_ruled_out = |part: &Tree| self.is_ruled_out(part, number);
        match tree {
            Tree::None => Ok(true),
            Tree::Term(term) => Ok(self.texts.has_none(*term, number)
                || self.told(*term, number)?.is_some_and(|told| told.has_none(number))),
            Tree::And(parts) => any(parts.iter(), is_ruled_out),
            Tree::Or(parts) => Ok(!any(parts.iter(), |part| Ok(!is_ruled_out(part)?))?),
            Tree::Rank(first, _) => is_ruled_out(first),
            // What is not known yet rules nothing out.
            Tree::Neighbor(at) => Ok(self.near(*at, number) == Some(0)),
            Tree::WeakAnd(at) => {
                let found = self.weak.get(*at).map(|(found, _)| found);
                Ok(found.is_some_and(|found| none_of_block(found, number, self.rows)))
            }
            // An element that passes has what its document has.
            Tree::SameElement(same) => is_ruled_out(&same.tree),
            Tree::All | Tree::Not(_) => Ok(false),
        }
    }

    /// How many of the nearest documents of a comparison lie in a block, once they are known.
    pub(super) fn near(&self, neighbor: usize, block: usize) -> Option<usize> {
        self.winners.get(neighbor).map(|winners| winners.count(block))
    }

    /// Whether the documents of a `weakAnd` are known.
    pub(super) fn knows_weak(&self, number: usize) -> bool {
        self.weak.get(number).is_some()
    }

    /// A block to work on.
    pub(super) fn work(&self, number: usize) -> Option<Work<'m>> {
        self.segments.get(number)?.work()
    }

    /// The attribute of a term, and its name.
    pub(super) fn tested(&self, term: usize) -> (Option<Tested>, &'m str) {
        let name = self.tree.terms.get(term).map_or("", |term| &term.attribute);
        (self.attributes.get(term).copied().flatten(), name)
    }

    /// What is known of an attribute that is tested.
    pub(super) fn about(&self, tested: Tested) -> Option<&'m AttributeColumn> {
        self.view.kind().attributes().get(tested.number)
    }

    /// The score of a term for a document, if the document has what it asks for: the sum of weights, or else 1.
    ///
    /// # Errors
    /// As [`Matcher::matches`].
    pub fn term(&self, term: usize, segment: usize, row: usize) -> Result<Option<f64>, StoreError> {
        if let Some(has) = self.texts.has(term, segment, row) {
            return Ok(has.then_some(1.0));
        }
        let (tested, of) = (self.tested(term), self.segments.get(segment));
        let place = of.map_or(Ok(None), |segment| segment.at(tested, row))?;
        let test = self.tree.terms.get(term).map(|term| &term.test);
        Ok(test.zip(place).and_then(|(test, (column, row))| passes(test, &column, row)))
    }

    /// The distance of a document that is among the nearest of a comparison of vectors.
    #[must_use]
    pub fn distance(&self, neighbor: usize, segment: usize, row: usize) -> Option<f64> {
        self.winners.get(neighbor)?.distance(segment, row)
    }

    /// How close such a document is: the greater, the nearer.
    #[must_use]
    pub fn closeness(&self, neighbor: usize, segment: usize, row: usize) -> Option<f64> {
        let metric = Metric::of_name(self.tree.neighbors.get(neighbor)?.metric.as_deref())?;
        self.distance(neighbor, segment, row).map(|distance| metric.closeness(distance))
    }

    /// The rows among some that a tree asks for. Trees are as deep as texts may nest.
    pub(super) fn evaluate(
        &self,
        tree: &Tree,
        work: &Work<'_>,
        among: &RowSet,
    ) -> Result<RowSet, StoreError> {
        match &self.probe {
            Some(probe) => probe.watch(tree, among, || self.rows_of(tree, work, among)),
            None => self.rows_of(tree, work, among),
        }
    }

    pub(super) fn rows_of(
        &self,
        tree: &Tree,
        work: &Work<'_>,
        among: &RowSet,
    ) -> Result<RowSet, StoreError> {
        Ok(match tree {
            Tree::All => among.clone(),
            Tree::None => RowSet::none(among.rows()),
            Tree::And(parts) => {
                let (mut found, mut is_narrowed) = (among.clone(), false);
                for (cost, part) in self.by_cost(parts, Some(work))? {
                    if cost > Cost::Index && !is_narrowed {
                        self.narrow_predicates(parts, work, &mut found)?;
                        is_narrowed = true;
                    }
                    if found.is_empty() {
                        break;
                    }
                    found = self.evaluate(part, work, &found)?;
                }
                found
            }
            Tree::Or(parts) => {
                let (mut found, mut rest) = (RowSet::none(among.rows()), among.clone());
                for (_, part) in self.by_cost(parts, Some(work))? {
                    if rest.is_empty() {
                        break;
                    }
                    let more = self.evaluate(part, work, &rest)?;
                    rest.without(&more);
                    found.or(&more);
                }
                found
            }
            Tree::Not(inner) => {
                let mut found = among.clone();
                found.without(&self.evaluate(inner, work, among)?);
                found
            }
            Tree::Rank(first, _) => self.evaluate(first, work, among)?,
            Tree::Term(term) => self.term_rows(tree, *term, work, among)?,
            Tree::Neighbor(neighbor) => match self.winners.get(*neighbor) {
                Some(winners) => {
                    let mut found = winners.rows(work.number(), among.rows());
                    found.and(among);
                    found
                }
                // The nearest are looked for among all that the rest of the tree leaves.
                None => among.clone(),
            },
            Tree::WeakAnd(number) => match self.weak.get(*number).map(|(found, _)| found) {
                Some(found) => {
                    let mut found = rows_of_block(found, work.number(), among.rows(), self.rows);
                    found.and(among);
                    found
                }
                // The best are looked for among all that the rest of the tree leaves, and that pass the tests of others.
                None => match self.tree.weak_ands.get(*number) {
                    Some(WeakAnd { parts, is_of_sums: true, .. }) => {
                        let mut found = among.clone();
                        for part in parts {
                            found = self.evaluate(part, work, &found)?;
                        }
                        found
                    }
                    _ => among.clone(),
                },
            },
            Tree::SameElement(same) => {
                let mut among = among.clone();
                self.narrow(&same.tree, work, &mut among)?;
                let mut test = ElementTest::new(self, same, work);
                among.try_filter(|row| test.has(row))?
            }
        })
    }

    /// The rows among some that pass a test.
    fn term_rows(
        &self,
        tree: &Tree,
        number: usize,
        work: &Work<'_>,
        among: &RowSet,
    ) -> Result<RowSet, StoreError> {
        if let Some(found) = self.texts.rows(number, work.number(), among) {
            return Ok(found);
        }
        let term = &self.tree.terms[number];
        let Some(of) = self.own(number, work) else {
            let passes = |column: &Column, row| passes(&term.test, column, row).is_some();
            return work.imported(&term.attribute, among, passes);
        };
        let told = self.told(number, work.number())?;
        match told.filter(|told| told.is_cheaper(of.is_number, among.count())) {
            Some(told) => {
                if let Some(probe) = &self.probe {
                    probe.index(tree);
                }
                let column = || work.column(of.number);
                let (found, looked_at) = told.passing(&term.test, work.number(), &column, among)?;
                if let Some(probe) = &self.probe {
                    probe.look(tree, looked_at);
                }
                Ok(found)
            }
            None => {
                let Some(column) = work.column(of.number)? else {
                    return Ok(RowSet::none(among.rows()));
                };
                let mut found = rows(&term.test, column, among);
                found.and(among);
                Ok(found)
            }
        }
    }

    /// Takes rows away whose predicates the indexes of some parts tell to be true of no such query, so that what is looked at before
    /// predicates are read sees fewer.
    fn narrow_predicates(
        &self,
        parts: &[Tree],
        work: &Work<'_>,
        among: &mut RowSet,
    ) -> Result<(), StoreError> {
        let is_predicate = |part: &&Tree| match part {
            Tree::Term(number) => {
                let term = self.tree.terms.get(*number);
                term.is_some_and(|term| matches!(term.test, Test::Predicate(_)))
            }
            _ => false,
        };
        parts.iter().filter(is_predicate).try_for_each(|part| self.narrow(part, work, among))
    }

    /// Takes rows away that indexes tell to have no element that passes a tree.
    fn narrow(&self, tree: &Tree, work: &Work<'_>, among: &mut RowSet) -> Result<(), StoreError> {
        match tree {
            Tree::And(parts) => parts.iter().try_for_each(|part| self.narrow(part, work, among)),
            Tree::Term(number) => {
                if let Some(found) = self.texts.rows(*number, work.number(), among) {
                    *among = found;
                    return Ok(());
                }
                let told = self.told(*number, work.number())?.zip(self.own(*number, work));
                if let Some((told, of)) = told
                    && told.is_cheaper(false, among.count())
                {
                    let test = &self.tree.terms[*number].test;
                    let column = || work.column(of.number);
                    *among = told.candidates(test, work.number(), &column, among)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The attribute that a term tests, if it has a column of its own.
    pub(super) fn own(&self, term: usize, work: &Work<'_>) -> Option<Tested> {
        self.attributes.get(term).copied().flatten().filter(|of| work.has(of.number))
    }

    /// What indexes tell of a term for a block.
    pub(super) fn told(&self, term: usize, block: usize) -> Result<Option<&Told>, StoreError> {
        let tested = self.attributes.get(term).copied().flatten();
        let test = self.tree.terms.get(term).map(|term| &term.test);
        let Some((of, test)) = tested.zip(test) else { return Ok(None) };
        self.indexes.told((term, test), of.number, block)
    }
}

/// Whether each document has one number of an attribute.
fn is_number(attribute: &AttributeColumn) -> bool {
    matches!(
        attribute.kind,
        DataType::Bool
            | DataType::Byte
            | DataType::Int
            | DataType::Long
            | DataType::Float16
            | DataType::Float
            | DataType::Double
            | DataType::Position
    )
}
