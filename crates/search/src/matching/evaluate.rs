//! A tree and blocks of documents.

use std::fmt;
use std::sync::Arc;

use stead_store::View;

use super::column::{Cost, cost, rows};
use super::explain::Probe;
use super::neighbors::{Winners, winners};
use super::rows::RowSet;
use super::same_element::has_element;
use super::segment::Segment;
use super::value::passes;
use crate::metric::Metric;
use crate::query::{QueryTree, SearchError, Tree};

/// A query with documents.
pub struct Matcher<'m> {
    pub(super) tree: &'m QueryTree,
    pub(super) segments: Vec<Segment<'m>>,
    /// The rows of each segment but the last.
    rows: usize,
    winners: Arc<Vec<Winners>>,
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
    /// When a vector does not fit the field that it is compared with.
    pub fn new(tree: &'m QueryTree, view: &'m View) -> Result<Matcher<'m>, SearchError> {
        let (segments, rows) = (Segment::all(view).collect(), view.block_rows());
        let mut matcher = Matcher { tree, segments, rows, winners: Arc::default(), probe: None };
        matcher.winners = Arc::new(winners(&matcher)?);
        Ok(matcher)
    }

    /// The same query with the same documents, watched.
    pub(super) fn watched(&self) -> Matcher<'m> {
        let (segments, winners) = (self.segments.clone(), Arc::clone(&self.winners));
        let probe = Some(Probe::default());
        Matcher { tree: self.tree, segments, rows: self.rows, winners, probe }
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
    #[must_use]
    pub fn matches(&self) -> Matches {
        Matches { segments: (0..self.segments.len()).map(|at| self.segment(at)).collect() }
    }

    /// Those of one block.
    #[must_use]
    pub fn segment(&self, number: usize) -> RowSet {
        match self.segments.get(number) {
            Some(segment) => self.evaluate(&self.tree.root, number, &segment.alive()),
            None => RowSet::none(0),
        }
    }

    /// The score of a term for a document, if the document has what it asks for: the sum of weights, or else 1.
    #[must_use]
    pub fn term(&self, term: usize, segment: usize, row: usize) -> Option<f64> {
        let term = self.tree.terms.get(term)?;
        let (column, row) = self.segments.get(segment)?.at(&term.attribute, row)?;
        passes(&term.test, column, row)
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
    pub(super) fn evaluate(&self, tree: &Tree, segment: usize, among: &RowSet) -> RowSet {
        match &self.probe {
            Some(probe) => probe.watch(tree, among, || self.rows_of(tree, segment, among)),
            None => self.rows_of(tree, segment, among),
        }
    }

    fn rows_of(&self, tree: &Tree, segment: usize, among: &RowSet) -> RowSet {
        match tree {
            Tree::All => among.clone(),
            Tree::None => RowSet::none(among.rows()),
            Tree::And(parts) => {
                let mut found = among.clone();
                for part in self.by_cost(parts, segment) {
                    if found.is_empty() {
                        break;
                    }
                    found = self.evaluate(part, segment, &found);
                }
                found
            }
            Tree::Or(parts) => {
                let (mut found, mut rest) = (RowSet::none(among.rows()), among.clone());
                for part in self.by_cost(parts, segment) {
                    if rest.is_empty() {
                        break;
                    }
                    let more = self.evaluate(part, segment, &rest);
                    rest.without(&more);
                    found.or(&more);
                }
                found
            }
            Tree::Not(inner) => {
                let mut found = among.clone();
                found.without(&self.evaluate(inner, segment, among));
                found
            }
            Tree::Rank(first, _) => self.evaluate(first, segment, among),
            Tree::Term(term) => {
                let term = &self.tree.terms[*term];
                match self.segments[segment].column(&term.attribute) {
                    Some(column) => {
                        let mut found = rows(&term.test, column, among);
                        found.and(among);
                        found
                    }
                    None if self.segments[segment].is_imported(&term.attribute) => {
                        let of = &self.segments[segment];
                        among.filter(|row| {
                            let place = of.at(&term.attribute, row);
                            place.is_some_and(|(column, row)| {
                                passes(&term.test, column, row).is_some()
                            })
                        })
                    }
                    None => RowSet::none(among.rows()),
                }
            }
            Tree::Neighbor(neighbor) => match self.winners.get(*neighbor) {
                Some(winners) => {
                    let mut found = winners.rows(segment, among.rows());
                    found.and(among);
                    found
                }
                // The nearest are looked for among all that the rest of the tree leaves.
                None => among.clone(),
            },
            Tree::SameElement(same) => {
                among.filter(|row| has_element(self.tree, same, &self.segments[segment], row))
            }
        }
    }

    pub(super) fn by_cost<'t>(&self, parts: &'t [Tree], segment: usize) -> Vec<&'t Tree> {
        let mut sorted: Vec<&Tree> = parts.iter().collect();
        sorted.sort_by_cached_key(|part| self.cost(part, segment));
        sorted
    }

    pub(super) fn cost(&self, tree: &Tree, segment: usize) -> Cost {
        match tree {
            Tree::All | Tree::None => Cost::Nothing,
            // What they cost is that of the dearest part, which may see few rows only.
            Tree::And(parts) | Tree::Or(parts) => {
                parts.iter().map(|part| self.cost(part, segment)).max().unwrap_or(Cost::Nothing)
            }
            Tree::Not(inner) | Tree::Rank(inner, _) => self.cost(inner, segment),
            Tree::Term(term) => {
                let term = &self.tree.terms[*term];
                let segment = self.segments.get(segment);
                let column = segment.and_then(|s| s.column(&term.attribute));
                // The values of parents lie apart.
                match segment.is_some_and(|s| s.is_imported(&term.attribute)) {
                    true => Cost::Rows,
                    false => cost(&term.test, column),
                }
            }
            Tree::Neighbor(_) => Cost::Vectors,
            Tree::SameElement(_) => Cost::Heavy,
        }
    }
}
