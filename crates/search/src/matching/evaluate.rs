//! A tree and blocks of documents.

use std::fmt;
use std::sync::Arc;

use stead_store::{AttributeColumn, Column, DataType, StoreError, View};

use super::column::{Cost, cost, rows};
use super::explain::Probe;
use super::index::Lookup;
use super::neighbors::{Winners, winners};
use super::rows::RowSet;
use super::same_element::has_element;
use super::segment::{Segment, Tested, Work};
use super::value::passes;
use crate::metric::Metric;
use crate::query::{QueryTree, SearchError, Term, Tree};
use crate::rank::Means;

/// A query with documents.
pub struct Matcher<'m> {
    pub(super) tree: &'m QueryTree,
    pub(super) segments: Vec<Segment<'m>>,
    /// The rows of each segment but the last.
    rows: usize,
    /// By term: the attribute that it tests.
    attributes: Vec<Option<Tested>>,
    winners: Arc<Vec<Winners>>,
    /// The blocks whose vectors were not compared because it was late.
    skipped: Vec<usize>,
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
        Matcher::within(tree, view, 1, Means::UNBOUNDED)
    }

    /// The same with at most so many threads, while it is not late; the result does not depend on the threads.
    ///
    /// # Errors
    /// As there.
    pub fn within(
        tree: &'m QueryTree,
        view: &'m View,
        threads: usize,
        means: Means<'_>,
    ) -> Result<Matcher<'m>, SearchError> {
        let (segments, rows) = (Segment::all(view).collect(), view.block_rows());
        let tested = |term: &Term| {
            let number = view.kind().attribute_number(&term.attribute)?;
            let is_number = view.kind().attributes().get(number).is_some_and(is_number);
            Some(Tested { number, is_number })
        };
        let attributes = tree.terms.iter().map(tested).collect();
        let mut matcher = Matcher {
            tree,
            segments,
            rows,
            attributes,
            winners: Arc::default(),
            skipped: Vec::new(),
            probe: None,
        };
        let (winners, skipped) = winners(&matcher, view, threads, means)?;
        (matcher.winners, matcher.skipped) = (Arc::new(winners), skipped);
        Ok(matcher)
    }

    /// The same query with the same documents, watched.
    pub(super) fn watched(&self) -> Matcher<'m> {
        let (segments, winners) = (self.segments.clone(), Arc::clone(&self.winners));
        let (attributes, skipped) = (self.attributes.clone(), self.skipped.clone());
        let probe = Some(Probe::default());
        Matcher { tree: self.tree, segments, rows: self.rows, attributes, winners, skipped, probe }
    }

    /// The blocks whose vectors were not compared because it was late: none of their documents is among the nearest.
    #[must_use]
    pub fn skipped(&self) -> &[usize] {
        &self.skipped
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
        match self.work(number) {
            Some(work) => self.evaluate(&self.tree.root, &work, &work.segment().alive()),
            None => Ok(RowSet::none(0)),
        }
    }

    /// A block to work on.
    pub(super) fn work(&self, number: usize) -> Option<Work<'m>> {
        self.segments.get(number).map(|segment| segment.work())
    }

    /// The attribute of a term, and its name.
    pub(super) fn tested(&self, term: usize) -> (Option<Tested>, &'m str) {
        let name = self.tree.terms.get(term).map_or("", |term| &term.attribute);
        (self.attributes.get(term).copied().flatten(), name)
    }

    /// The score of a term for a document, if the document has what it asks for: the sum of weights, or else 1.
    ///
    /// # Errors
    /// As [`Matcher::matches`].
    pub fn term(&self, term: usize, segment: usize, row: usize) -> Result<Option<f64>, StoreError> {
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

    fn rows_of(&self, tree: &Tree, work: &Work<'_>, among: &RowSet) -> Result<RowSet, StoreError> {
        Ok(match tree {
            Tree::All => among.clone(),
            Tree::None => RowSet::none(among.rows()),
            Tree::And(parts) => {
                let mut found = among.clone();
                for part in self.by_cost(parts, Some(work))? {
                    if found.is_empty() {
                        break;
                    }
                    found = self.evaluate(part, work, &found)?;
                }
                found
            }
            Tree::Or(parts) => {
                let (mut found, mut rest) = (RowSet::none(among.rows()), among.clone());
                for part in self.by_cost(parts, Some(work))? {
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
            Tree::SameElement(same) => {
                let mut among = among.clone();
                self.narrow(&same.tree, work, &mut among)?;
                among.try_filter(|row| has_element(self, same, work, row))?
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
        let term = &self.tree.terms[number];
        let Some(of) = self.own(number, work) else {
            let passes = |column: &Column, row| passes(&term.test, column, row).is_some();
            return work.imported(&term.attribute, among, passes);
        };
        let lookup = self.lookup(number, work)?;
        match lookup.filter(|l| l.is_cheaper(of.is_number, among.count(), among.rows())) {
            Some(lookup) => {
                if let Some(probe) = &self.probe {
                    probe.index(tree);
                }
                lookup.rows(&term.test, &|| work.column(of.number), among)
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

    /// Takes rows away that indexes tell to have no element that passes a tree.
    fn narrow(&self, tree: &Tree, work: &Work<'_>, among: &mut RowSet) -> Result<(), StoreError> {
        match tree {
            Tree::And(parts) => parts.iter().try_for_each(|part| self.narrow(part, work, among)),
            Tree::Term(number) => {
                let lookup = self.lookup(*number, work)?.zip(self.own(*number, work));
                if let Some((lookup, of)) = lookup
                    && lookup.most() <= among.count()
                {
                    let test = &self.tree.terms[*number].test;
                    let column = || work.column(of.number);
                    among.and(&lookup.candidates(test, &column, among.rows())?);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The attribute that a term tests, if it has a column of its own.
    fn own(&self, term: usize, work: &Work<'_>) -> Option<Tested> {
        self.attributes.get(term).copied().flatten().filter(|of| work.has(of.number))
    }

    /// What an index says of a term.
    fn lookup<'i>(&self, term: usize, work: &Work<'i>) -> Result<Option<Lookup<'i>>, StoreError> {
        let Some(of) = self.own(term, work) else { return Ok(None) };
        let index = work.index(of.number)?;
        let test = self.tree.terms.get(term).map(|term| &term.test);
        Ok(test.zip(index).and_then(|(test, index)| Lookup::new(test, index)))
    }

    /// Parts in the order in which they are looked at: by what they cost, and of the same cost the one that leaves the fewest rows first.
    pub(super) fn by_cost<'t>(
        &self,
        parts: &'t [Tree],
        work: Option<&Work<'_>>,
    ) -> Result<Vec<&'t Tree>, StoreError> {
        let estimated = parts.iter().map(|part| Ok((self.estimate(part, work)?, part)));
        let mut sorted = estimated.collect::<Result<Vec<_>, StoreError>>()?;
        sorted.sort_by_key(|(estimate, _)| *estimate);
        Ok(sorted.into_iter().map(|(_, part)| part).collect())
    }

    pub(super) fn cost(&self, tree: &Tree, work: Option<&Work<'_>>) -> Result<Cost, StoreError> {
        self.estimate(tree, work).map(|(cost, _)| cost)
    }

    /// What a tree costs, and the most rows that it leaves. Columns are read only where there is no index yet that there should be.
    fn estimate(&self, tree: &Tree, work: Option<&Work<'_>>) -> Result<(Cost, usize), StoreError> {
        let rows = work.map_or(0, |work| work.segment().rows());
        let all = |parts: &[Tree]| {
            let parts = parts.iter().map(|part| self.estimate(part, work));
            parts.collect::<Result<Vec<_>, _>>()
        };
        Ok(match tree {
            Tree::All => (Cost::Nothing, rows),
            Tree::None => (Cost::Nothing, 0),
            // What they cost is that of the dearest part, which may see few rows only.
            Tree::And(parts) => {
                let both = all(parts)?.into_iter().reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
                both.unwrap_or((Cost::Nothing, rows))
            }
            Tree::Or(parts) => {
                let any = all(parts)?.into_iter();
                let any = any.reduce(|a, b| (a.0.max(b.0), (a.1 + b.1).min(rows)));
                any.unwrap_or((Cost::Nothing, 0))
            }
            Tree::Not(inner) => (self.estimate(inner, work)?.0, rows),
            Tree::Rank(inner, _) => self.estimate(inner, work)?,
            Tree::Term(number) => {
                let term = &self.tree.terms[*number];
                let Some((work, of)) = work.and_then(|work| Some((work, self.own(*number, work)?)))
                else {
                    // The values of parents lie apart.
                    return Ok(match work.is_some_and(|work| work.is_imported(&term.attribute)) {
                        true => (Cost::Rows, rows),
                        false => (Cost::Nothing, 0),
                    });
                };
                let lookup = self.lookup(*number, work)?;
                let most = lookup.as_ref().map_or(rows, |lookup| lookup.most().min(rows));
                match lookup {
                    Some(lookup) if lookup.is_cheaper(of.is_number, rows, rows) => {
                        (Cost::Index, most)
                    }
                    _ => (cost(&term.test, of.is_number), most),
                }
            }
            Tree::Neighbor(_) => (Cost::Vectors, rows),
            Tree::SameElement(_) => (Cost::Heavy, rows),
        })
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
