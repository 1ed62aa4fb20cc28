//! A tree and blocks of documents.

use std::fmt;
use std::sync::Arc;

use stead_store::{Column, View};

use super::column::{Cost, cost, rows};
use super::explain::Probe;
use super::index::Lookup;
use super::neighbors::{Winners, winners};
use super::rows::RowSet;
use super::same_element::has_element;
use super::segment::Segment;
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
    /// By term: the number of the attribute that it tests.
    attributes: Vec<Option<usize>>,
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
    /// When a vector does not fit the field that it is compared with.
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
        let number = |term: &Term| view.kind().attribute_number(&term.attribute);
        let attributes = tree.terms.iter().map(number).collect();
        let mut matcher = Matcher {
            tree,
            segments,
            rows,
            attributes,
            winners: Arc::default(),
            skipped: Vec::new(),
            probe: None,
        };
        let (winners, skipped) = winners(&matcher, threads, means)?;
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
            Tree::Term(term) => self.term_rows(tree, *term, segment, among),
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
                let mut among = among.clone();
                self.narrow(&same.tree, segment, &mut among);
                among.filter(|row| has_element(self.tree, same, &self.segments[segment], row))
            }
        }
    }

    /// The rows among some that pass a test.
    fn term_rows(&self, tree: &Tree, number: usize, segment: usize, among: &RowSet) -> RowSet {
        let (term, of) = (&self.tree.terms[number], &self.segments[segment]);
        let Some(column) = self.column(number, segment) else {
            if !of.is_imported(&term.attribute) {
                return RowSet::none(among.rows());
            }
            return among.filter(|row| {
                let place = of.at(&term.attribute, row);
                place.is_some_and(|(column, row)| passes(&term.test, column, row).is_some())
            });
        };
        let lookup = self.lookup(number, segment);
        match lookup.filter(|l| l.is_cheaper(column, among.count(), among.rows())) {
            Some(lookup) => {
                if let Some(probe) = &self.probe {
                    probe.index(tree);
                }
                lookup.rows(&term.test, column, among)
            }
            None => {
                let mut found = rows(&term.test, column, among);
                found.and(among);
                found
            }
        }
    }

    /// Takes rows away that indexes tell to have no element that passes a tree.
    fn narrow(&self, tree: &Tree, segment: usize, among: &mut RowSet) {
        match tree {
            Tree::And(parts) => parts.iter().for_each(|part| self.narrow(part, segment, among)),
            Tree::Term(number) => {
                let lookup = self.lookup(*number, segment).zip(self.column(*number, segment));
                if let Some((lookup, column)) = lookup
                    && lookup.most() <= among.count()
                {
                    let test = &self.tree.terms[*number].test;
                    among.and(&lookup.candidates(test, column, among.rows()));
                }
            }
            _ => {}
        }
    }

    /// The column that a term tests.
    fn column(&self, term: usize, segment: usize) -> Option<&'m Column> {
        self.segments.get(segment)?.column_at((*self.attributes.get(term)?)?)
    }

    /// What an index says of a term.
    fn lookup(&self, term: usize, segment: usize) -> Option<Lookup<'m>> {
        let index = self.segments.get(segment)?.index_at((*self.attributes.get(term)?)?)?;
        Lookup::new(&self.tree.terms.get(term)?.test, self.column(term, segment)?, index)
    }

    /// Parts in the order in which they are looked at: by what they cost, and of the same cost the one that leaves the fewest rows first.
    pub(super) fn by_cost<'t>(&self, parts: &'t [Tree], segment: usize) -> Vec<&'t Tree> {
        let mut sorted: Vec<&Tree> = parts.iter().collect();
        sorted.sort_by_cached_key(|part| self.estimate(part, segment));
        sorted
    }

    pub(super) fn cost(&self, tree: &Tree, segment: usize) -> Cost {
        self.estimate(tree, segment).0
    }

    /// What a tree costs, and the most rows that it leaves.
    fn estimate(&self, tree: &Tree, segment: usize) -> (Cost, usize) {
        let rows = self.segments.get(segment).map_or(0, Segment::rows);
        match tree {
            Tree::All => (Cost::Nothing, rows),
            Tree::None => (Cost::Nothing, 0),
            // What they cost is that of the dearest part, which may see few rows only.
            Tree::And(parts) => {
                let parts = parts.iter().map(|part| self.estimate(part, segment));
                let both = parts.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
                both.unwrap_or((Cost::Nothing, rows))
            }
            Tree::Or(parts) => {
                let parts = parts.iter().map(|part| self.estimate(part, segment));
                let any = parts.reduce(|a, b| (a.0.max(b.0), (a.1 + b.1).min(rows)));
                any.unwrap_or((Cost::Nothing, 0))
            }
            Tree::Not(inner) => (self.estimate(inner, segment).0, rows),
            Tree::Rank(inner, _) => self.estimate(inner, segment),
            Tree::Term(number) => {
                let term = &self.tree.terms[*number];
                let column = self.column(*number, segment);
                let lookup = self.lookup(*number, segment);
                let most = lookup.as_ref().map_or(rows, |lookup| lookup.most().min(rows));
                match (lookup, column) {
                    (Some(lookup), Some(column)) if lookup.is_cheaper(column, rows, rows) => {
                        (Cost::Index, most)
                    }
                    (_, Some(_)) => (cost(&term.test, column), most),
                    // The values of parents lie apart.
                    (_, None) => {
                        let of = self.segments.get(segment);
                        match of.is_some_and(|s| s.is_imported(&term.attribute)) {
                            true => (Cost::Rows, rows),
                            false => (Cost::Nothing, 0),
                        }
                    }
                }
            }
            Tree::Neighbor(_) => (Cost::Vectors, rows),
            Tree::SameElement(_) => (Cost::Heavy, rows),
        }
    }
}
