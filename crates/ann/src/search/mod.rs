//! Searches: what is asked, and how it is found.

mod exact;
mod sieve;
mod walk;

use std::collections::BinaryHeap;
use std::sync::OnceLock;

use stead_kernels::Isa;
use stead_tensor::Bits;

use crate::cell::Cell;
use crate::compare::Comparer;
use crate::graph::Graph;
use crate::metric::Metric;
use crate::options::Tuning;
use crate::pool::Candidate;
use crate::vectors::Vectors;
use exact::Nearest;
pub(crate) use sieve::{Rough, Sieve};
pub(crate) use walk::{Steps, Walk};

/// A vector whose neighbours are looked for.
#[derive(Debug, Clone)]
pub struct Query<T: Cell> {
    comparer: Comparer<'static, T>,
    /// Made when it is needed first.
    rough: OnceLock<Option<Rough>>,
    metric: Metric,
}

impl<T: Cell> Query<T> {
    /// The neighbours of a vector by a metric, which must be that of the graph.
    #[must_use]
    pub fn new(metric: Metric, vector: &[f64]) -> Query<T> {
        let comparer = Comparer::of_query(metric, Isa::detect(), vector);
        Query { comparer, rough: OnceLock::new(), metric }
    }

    fn len(&self) -> usize {
        self.comparer.len()
    }
}

/// What is wanted of a search.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// The most documents that are found.
    pub hits: usize,
    /// How many more are kept while searching (`hnsw.exploreAdditionalHits`): the more, the surer are the hits.
    pub explore: usize,
    /// The documents that may be hits; none stands for all.
    pub filter: Option<&'r Bits>,
    /// Documents that are farther are no hits (`distanceThreshold`).
    pub farthest: f64,
    /// How it is searched.
    pub tuning: Tuning,
    /// Asked now and then: once it says so, the search ends with what it has.
    pub is_late: &'r dyn Fn() -> bool,
}

impl<'r> Request<'r> {
    /// So many of all documents, however far and late.
    #[must_use]
    pub fn new(hits: usize) -> Request<'r> {
        let (explore, filter, farthest) = (0, None, f64::INFINITY);
        Request { hits, explore, filter, farthest, tuning: Tuning::default(), is_late: &|| false }
    }
}

/// A document that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The document.
    pub document: u32,
    /// Which of its vectors is the nearest.
    pub at: u32,
    /// How far that is, as the [`Metric`] says.
    pub distance: f64,
}

/// How a search went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How it was searched.
    pub strategy: Strategy,
    /// Whether it was not ended before it was done.
    pub is_complete: bool,
}

/// How a graph is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// All documents that pass the filter are compared
    Exact,
    /// Nodes that pass are looked for among the links of links, and only these are compared
    FilterFirst,
    /// The graph is searched, and what does not pass is no hit
    Filtered,
    /// The graph is searched for more hits, which the filter goes through
    PostFilter,
    /// The graph is searched
    Graph,
}

/// What searches need, kept between them: with it they allocate nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    steps: Steps,
    /// Where a walk begins.
    starts: Vec<Candidate>,
    heap: BinaryHeap<Nearest>,
}

/// How many documents that pass are compared one after the other in less time than a walk takes for each that it may compare: less than half
/// of what was measured with 128 f32, since longer vectors come from memory in both.
const EXACT_FOR_WALKED: usize = 4;

/// Of so many nodes that are to be kept one more is. All links lead both ways, so that nodes have fewer than elsewhere: with as many nodes
/// kept as by hnswlib the recall of the many that are kept where it is to be high was measured to be a little less.
const MORE: usize = 20;

/// The part of the nodes that are to be kept by which these are more where a filter is, at most: as large as the part of the documents that
/// does not pass. The hits lie farther away then, among more that are as far: of 200,000 vectors of 384 the ten nearest of the half that
/// passes were found to 0.92 with 64 kept, and to 0.96 with half as many more.
const MORE_FILTERED: f64 = 0.5;

/// How a graph is gone through.
#[derive(Debug, Clone, Copy)]
struct Plan {
    strategy: Strategy,
    /// The most hits.
    most: usize,
    /// How many nodes are kept.
    kept: usize,
}

impl Plan {
    fn new(strategy: Strategy, most: usize, request: &Request<'_>) -> Plan {
        let kept = most.saturating_add(request.explore);
        Plan { strategy, most, kept: kept.saturating_add(kept / MORE) }
    }

    /// The same, for a filter that does not let a part of the documents pass.
    fn without(self, part: f64) -> Plan {
        let more = self.kept as f64 * part.clamp(0.0, MORE_FILTERED);
        Plan { kept: self.kept.saturating_add(more as usize), ..self }
    }
}

/// Asks now and then whether it is time to stop.
pub(crate) struct Stop<'s> {
    is_late: &'s dyn Fn() -> bool,
    asked: u32,
}

/// How many steps are made before it is asked: some microseconds.
const PATIENCE: u32 = 4;

impl<'s> Stop<'s> {
    pub(crate) fn new(is_late: &'s dyn Fn() -> bool) -> Stop<'s> {
        Stop { is_late, asked: 0 }
    }

    #[inline(always)]
    fn is_time(&mut self) -> bool {
        self.asked = self.asked.wrapping_add(1);
        self.asked.is_multiple_of(PATIENCE) && (self.is_late)()
    }
}

/// The nearest of some documents, by all of their vectors: the nearest first, in `hits`, whose content goes.
pub fn exact<V: Vectors>(
    vectors: &V,
    query: &Query<V::Cell>,
    documents: impl Iterator<Item = u32>,
    request: &Request<'_>,
    scratch: &mut Scratch,
    hits: &mut Vec<Hit>,
) -> Outcome {
    hits.clear();
    let documents =
        documents.filter(|x| request.filter.is_none_or(|filter| filter.contains(*x as usize)));
    let mut stop = Stop::new(request.is_late);
    let is_complete = request.hits == 0
        || exact::nearest(vectors, query, documents, request.hits, &mut stop, &mut scratch.heap);
    if request.hits > 0 {
        hits.extend(scratch.heap.drain().map(|nearest| nearest.hit(query)));
        finish(hits, request);
    }
    Outcome { strategy: Strategy::Exact, is_complete }
}

/// The nearest first, as many as are wanted, none too far.
fn finish(hits: &mut Vec<Hit>, request: &Request<'_>) {
    hits.retain(|hit| hit.distance <= request.farthest);
    hits.sort_unstable_by(|a, b| {
        a.distance.total_cmp(&b.distance).then(a.document.cmp(&b.document))
    });
    hits.truncate(request.hits);
}

impl Graph {
    /// The nearest documents: the nearest first, in `hits`, whose content goes. What [`Tuning`] says decides how they are
    /// found.
    ///
    /// # Panics
    /// If the query was made for another metric.
    pub fn search<V: Vectors>(
        &self,
        vectors: &V,
        query: &Query<V::Cell>,
        request: &Request<'_>,
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) -> Outcome {
        assert_eq!(query.metric, self.options.metric, "the metric of the graph");
        hits.clear();
        let Some(filter) = request.filter else {
            let plan = Plan::new(Strategy::Graph, request.hits, request);
            let is_complete = self.walk(vectors, query, request, plan, scratch, hits);
            finish(hits, request);
            return Outcome { strategy: Strategy::Graph, is_complete };
        };
        let ratio = (filter.count() as f64 / self.documents.max(1) as f64).min(1.0);
        let tuning = &request.tuning;
        let kept = request.hits.saturating_add(request.explore);
        let walked = kept.saturating_mul(self.options.links(0));
        let is_few =
            tuning.approximate_threshold > 0.0 && filter.count() / EXACT_FOR_WALKED <= walked;
        let strategy = match ratio {
            _ if ratio < tuning.approximate_threshold || is_few => Strategy::Exact,
            _ if ratio > tuning.post_filter_threshold => Strategy::PostFilter,
            _ if ratio < tuning.filter_first_threshold => Strategy::FilterFirst,
            _ => Strategy::Filtered,
        };
        if strategy == Strategy::Exact {
            let documents = filter.iter().map(|document| document as u32);
            return exact(vectors, query, documents, request, scratch, hits);
        }
        let plan = match strategy {
            Strategy::PostFilter => {
                let factor = tuning.target_hits_max_adjustment_factor.max(1.0);
                let most = (request.hits as f64 * (1.0 / ratio).min(factor)).ceil() as usize;
                Plan::new(strategy, most, request)
            }
            Strategy::Filtered => Plan::new(strategy, request.hits, request).without(1.0 - ratio),
            _ => Plan::new(strategy, request.hits, request),
        };
        let is_complete = self.walk(vectors, query, request, plan, scratch, hits);
        if strategy == Strategy::PostFilter {
            hits.retain(|hit| filter.contains(hit.document as usize));
        }
        // The ways between those that pass have ended before there were as many as looked for: others are not reached by them.
        let pool = &scratch.steps.pool;
        let is_short = !pool.is_full() && pool.len() < filter.count();
        if strategy == Strategy::FilterFirst && is_complete && is_short {
            let documents = filter.iter().map(|document| document as u32);
            return exact(vectors, query, documents, request, scratch, hits);
        }
        finish(hits, request);
        Outcome { strategy, is_complete }
    }

    /// Goes through the graph and adds what it finds to `hits`, in no order. Returns whether it was not stopped.
    fn walk<V: Vectors>(
        &self,
        vectors: &V,
        query: &Query<V::Cell>,
        request: &Request<'_>,
        Plan { strategy, most, kept }: Plan,
        scratch: &mut Scratch,
        hits: &mut Vec<Hit>,
    ) -> bool {
        let sieve = Sieve::new(&query.comparer, &query.rough, self);
        let walk = Walk { graph: self, vectors, comparer: &query.comparer, sieve };
        let (mut stop, steps) = (Stop::new(request.is_late), &mut scratch.steps);
        if most == 0 || (request.is_late)() {
            return most == 0;
        }
        let filter = match strategy {
            Strategy::Filtered | Strategy::FilterFirst => request.filter,
            _ => None,
        };
        let passes = |filter: &Bits, node| filter.contains(self.place(node).0 as usize);
        let slack = request.tuning.exploration_slack.max(0.0) as f32;
        let starts = &mut scratch.starts;
        walk.descend(0, kept, starts, steps);
        if starts.is_empty() {
            return true;
        }
        // From few the ways between those that pass may not lead to the nearest of them: as many are found first as a node has links, whatever passes.
        let links = self.options.links(0);
        if strategy == Strategy::FilterFirst && !walk.nearest(0, links, starts, steps, &mut stop) {
            return false;
        }
        steps.pool.begin(kept, slack, self.options.has_many);
        steps.visited.begin(self.bound);
        for start in starts.drain(..) {
            steps.visited.insert(start.node);
            let is_passing = filter.is_none_or(|filter| passes(filter, start.node));
            if is_passing && start.order < f32::INFINITY {
                steps.pool.add(start, || self.place(start.node).0);
            } else {
                steps.pool.put_aside(start);
            }
        }
        let is_complete = match (filter, strategy) {
            (None, _) => walk.around(0, steps, |_| true, &mut stop),
            (Some(filter), Strategy::FilterFirst) => {
                let exploration = request.tuning.filter_first_exploration;
                walk.around_passing(steps, |node| passes(filter, node), exploration, &mut stop)
            }
            (Some(filter), _) => walk.around(0, steps, |node| passes(filter, node), &mut stop),
        };
        // Orders again, without the rounding of candidates.
        let mut orders = [0.0];
        let taken = if strategy == Strategy::PostFilter { usize::MAX } else { most };
        hits.extend(steps.pool.hits().take(taken).filter_map(|candidate| {
            walk.comparer.orders(&[&walk.row(candidate.node)?], &mut orders);
            let (document, at) = self.place(candidate.node);
            (orders[0] < f64::INFINITY).then(|| Hit {
                document,
                at,
                distance: query.comparer.distance(orders[0]),
            })
        }));
        is_complete
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, Request, Strategy};

    #[test]
    fn more_are_kept_where_fewer_pass() {
        for (hits, explore, apart, expected) in [
            (10, 0, 0.0, 10),
            (10, 54, 0.0, 67),
            (10, 54, 0.1, 73),
            (10, 54, 0.5, 100),
            (10, 54, 0.9, 100),
            (1, usize::MAX, 0.5, usize::MAX),
        ] {
            let request = Request { explore, ..Request::new(hits) };
            let plan = Plan::new(Strategy::Filtered, hits, &request).without(apart);
            assert_eq!((plan.most, plan.kept), (hits, expected), "{hits} {explore} {apart}");
        }
    }
}
