//! What matching does for a query, and what that costs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use stead_ann::Strategy;
use stead_store::StoreError;

use super::column::Cost;
use super::evaluate::Matcher;
use super::rows::RowSet;
use super::segment::Work;
use crate::query::Tree;

/// What became of one part of a query.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    among: usize,
    found: usize,
    indexed: usize,
    looked_at: usize,
    took: Duration,
}

/// What became of the parts of a query, which are known by where they lie.
#[derive(Debug, Default)]
pub(super) struct Probe {
    seen: Mutex<HashMap<usize, Seen>>,
}

impl Probe {
    /// Evaluates a part and remembers what became of it.
    pub(super) fn watch(
        &self,
        tree: &Tree,
        among: &RowSet,
        run: impl FnOnce() -> Result<RowSet, StoreError>,
    ) -> Result<RowSet, StoreError> {
        let begin = Instant::now();
        let found = run()?;
        let took = begin.elapsed();
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = all.entry(std::ptr::from_ref(tree).addr()).or_default();
        seen.among += among.count();
        seen.found += found.count();
        seen.took += took;
        Ok(found)
    }

    /// Remembers that an index answered for a block.
    pub(super) fn index(&self, tree: &Tree) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(std::ptr::from_ref(tree).addr()).or_default().indexed += 1;
    }

    /// Remembers that so many rows were looked at of those that an index had told.
    pub(super) fn look(&self, tree: &Tree, rows: usize) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(std::ptr::from_ref(tree).addr()).or_default().looked_at += rows;
    }

    fn of(&self, tree: &Tree) -> Seen {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&std::ptr::from_ref(tree).addr()).copied().unwrap_or_default()
    }
}

impl Matcher<'_> {
    /// Matches once more and tells what became of each part, in the order in which parts of an `and` or `or` are looked at.
    #[must_use]
    pub fn explain(&self) -> Json {
        let watched = self.watched();
        let told = watched.matches();
        let told = told.and_then(|_| watched.part(&self.tree.root, watched.work(0).as_ref()));
        told.unwrap_or_else(|error| json!({"error": error.to_string()}))
    }

    /// A part with those within. Trees are as deep as texts may nest.
    fn part(&self, tree: &Tree, first: Option<&Work<'_>>) -> Result<Json, StoreError> {
        let Some(probe) = &self.probe else { return Ok(Json::Null) };
        let (what, parts): (String, Vec<&Tree>) = match tree {
            Tree::All => ("true".to_owned(), Vec::new()),
            Tree::None => ("false".to_owned(), Vec::new()),
            Tree::And(parts) => ("and".to_owned(), trees(self.by_cost(parts, first)?)),
            Tree::Or(parts) => ("or".to_owned(), trees(self.by_cost(parts, first)?)),
            Tree::Not(inner) => ("not".to_owned(), vec![inner]),
            // What stands behind the first is looked at when a feature asks for it.
            Tree::Rank(first, _) => ("rank".to_owned(), vec![first]),
            Tree::Term(term) => {
                let term = &self.tree.terms[*term];
                (format!("{} {}", term.attribute, term.test), Vec::new())
            }
            Tree::Neighbor(neighbor) => {
                let of = &self.tree.neighbors[*neighbor];
                let how = match self.strategy(*neighbor) {
                    None => "",
                    Some(Strategy::Exact) => ", all compared",
                    Some(Strategy::Graph) => ", by the graph",
                    Some(Strategy::Filtered) => ", by the graph, filtered",
                    Some(Strategy::FilterFirst) => ", by the graph, filter first",
                    Some(Strategy::PostFilter) => ", by the graph, filtered afterwards",
                };
                let text = format!(
                    "nearestNeighbor({}, {}) targetHits {}{how}",
                    of.attribute, of.input, of.target_hits
                );
                (text, Vec::new())
            }
            Tree::WeakAnd(number) => {
                let of = &self.tree.weak_ands[*number];
                let what = match of.parts.as_slice() {
                    [Tree::Term(term)] if of.is_of_sums => {
                        let term = &self.tree.terms[*term];
                        format!("{} {}", term.attribute, term.test)
                    }
                    parts => format!("weakAnd of {} parts", parts.len()),
                };
                (format!("{what}, targetHits {}", of.target_hits), Vec::new())
            }
            Tree::SameElement(same) => (format!("sameElement of {}", same.field), Vec::new()),
        };
        let seen = probe.of(tree);
        let mut part = json!({
            "what": what,
            "cost": self.cost(tree, first)?.name(),
            "among": seen.among,
            "found": seen.found,
            "nanoseconds": seen.took.as_secs_f64() * 1e9,
        });
        if seen.indexed > 0 {
            part["indexed_blocks"] = json!(seen.indexed);
        }
        if seen.looked_at > 0 {
            part["looked_at"] = json!(seen.looked_at);
        }
        if let Some(took) = self.searched(tree) {
            part["search_nanoseconds"] = json!(took.as_secs_f64() * 1e9);
        }
        if !parts.is_empty() {
            let parts = parts.into_iter().map(|tree| self.part(tree, first));
            part["parts"] = parts.collect::<Result<_, _>>()?;
        }
        Ok(part)
    }
}

fn trees(parts: Vec<(Cost, &Tree)>) -> Vec<&Tree> {
    parts.into_iter().map(|(_, part)| part).collect()
}
