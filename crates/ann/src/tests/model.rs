//! Documents with vectors, and what is known of them without a graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Graph;
use crate::links::{count, nodes};
use crate::{Cell, Hit, Metric, Query, Request, Scratch, Vectors};

/// Chance from a seed.
#[derive(Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// A vector near one of some centres: whole numbers of a byte.
    pub(crate) fn vector(&mut self, size: usize) -> Vec<f64> {
        let mut centre = Chance(self.below(40) + 1);
        (0..size).map(|_| centre.below(160) as f64 - 80.0 + self.below(60) as f64 - 30.0).collect()
    }

    /// Degrees to the north and to the east.
    pub(crate) fn point(&mut self) -> Vec<f64> {
        vec![self.below(18_000) as f64 / 100.0 - 90.0, self.below(36_000) as f64 / 100.0 - 180.0]
    }
}

/// Vectors of documents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents<T>(pub(crate) BTreeMap<u32, Vec<Vec<T>>>);

impl<T: Cell> Vectors for Documents<T> {
    type Cell = T;
    type Row<'v>
        = &'v [T]
    where
        Self: 'v;

    fn count(&self, document: u32) -> u32 {
        self.0.get(&document).map_or(0, |vectors| vectors.len() as u32)
    }

    fn vector(&self, document: u32, at: u32) -> Option<&[T]> {
        Some(self.0.get(&document)?.get(at as usize)?)
    }
}

/// The distance by its definition.
pub(crate) fn distance<T: Cell>(metric: Metric, query: &[f64], vector: &[T]) -> f64 {
    let wide: Vec<f64> = vector.iter().map(|x| x.wide().into()).collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let length = |x: &[f64]| dot(x, x).sqrt();
    match metric {
        Metric::Euclidean => {
            query.iter().zip(&wide).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
        }
        Metric::Angular => {
            (dot(query, &wide) / (length(query) * length(&wide))).clamp(-1.0, 1.0).acos()
        }
        Metric::DotProduct => -dot(query, &wide),
        Metric::PrenormalizedAngular => (1.0 - dot(query, &wide) / dot(query, query)).max(0.0),
        Metric::Geo => {
            let unit = |p: &[f64]| {
                let (north, east) = (p[0].to_radians(), p[1].to_radians());
                [north.cos() * east.cos(), north.cos() * east.sin(), north.sin()]
            };
            let (x, y) = (unit(query), unit(&wide));
            let apart = length(&[x[0] - y[0], x[1] - y[1], x[2] - y[2]]);
            2.0 * 6371.0088 * (apart / 2.0).min(1.0).asin()
        }
        Metric::Hamming => {
            let bits = size_of::<T>() == 1;
            let of = |x: f64, y: f64| match bits {
                true => f64::from((x as i8 ^ y as i8).count_ones()),
                false => f64::from(x != y),
            };
            query.iter().zip(&wide).map(|(x, y)| of(*x, *y)).sum()
        }
    }
}

/// The nearest documents by a look at all, the nearest first: how far, and which.
pub(crate) fn all<T: Cell>(
    metric: Metric,
    documents: &Documents<T>,
    query: &[f64],
    is_wanted: impl Fn(u32) -> bool,
) -> Vec<(f64, u32)> {
    let of = |vectors: &Vec<Vec<T>>| {
        vectors.iter().map(|vector| distance(metric, query, vector)).fold(f64::INFINITY, f64::min)
    };
    let wanted = documents.0.iter().filter(|(document, _)| is_wanted(**document));
    let mut all: Vec<(f64, u32)> = wanted.map(|(document, of_it)| (of(of_it), *document)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// How many of the hits are as near as the same number of documents that are the nearest of all. The hits are checked: their distances are
/// those of their vectors, they are in order, wanted, and none comes twice.
pub(crate) fn good<T: Cell>(
    metric: Metric,
    documents: &Documents<T>,
    query: &[f64],
    hits: &[Hit],
    wanted: usize,
    is_wanted: impl Fn(u32) -> bool,
) -> usize {
    let truth = all(metric, documents, query, &is_wanted);
    assert_eq!(hits.len(), wanted.min(truth.len()), "hits");
    assert!(hits.windows(2).all(|two| two[0].distance <= two[1].distance));
    let different: BTreeSet<u32> = hits.iter().map(|hit| hit.document).collect();
    assert_eq!(different.len(), hits.len());
    assert!(hits.iter().all(|hit| is_wanted(hit.document)));
    for hit in hits {
        let vector = documents.vector(hit.document, hit.at).unwrap();
        let expected = distance(metric, query, vector);
        // Sums of f32; of angles near 0 the cosine loses half of the digits.
        let error = 1e-3 * (1.0 + expected.abs());
        assert!((hit.distance - expected).abs() <= error, "{} {expected}", hit.distance);
    }
    let Some((worst, _)) = truth.get(hits.len().max(1) - 1) else { return 0 };
    let limit = worst + 1e-3 * (1.0 + worst.abs());
    hits.iter().filter(|hit| hit.distance <= limit).count()
}

/// The part of the nearest documents that searches for ten of them find, of the documents themselves and random ones.
pub(crate) fn recall<T: Cell>(
    graph: &Graph,
    documents: &Documents<T>,
    queries: &[Vec<f64>],
    request: &Request<'_>,
) -> f64 {
    let metric = graph.options.metric;
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let outcome =
            graph.search(documents, &Query::new(metric, query), request, &mut scratch, &mut hits);
        assert!(outcome.is_complete);
        let is_wanted = |x| request.filter.is_none_or(|filter| filter.contains(x as usize));
        found += good(metric, documents, query, &hits, request.hits, is_wanted);
        wanted += hits.len();
    }
    found as f64 / wanted as f64
}

/// Checks what holds of graphs of the usual number of links: as [`check_links`], and searches come everywhere on each level.
pub(crate) fn check<T: Cell>(graph: &Graph, documents: &Documents<T>) {
    check_links(graph, documents);
    let Some((entry, highest)) = graph.entry else { return };
    for level in 0..=highest {
        let seen = led(graph, entry, level);
        let expected = (0..graph.bound).filter(|node| graph.node(*node).levels > level).count();
        assert_eq!(seen.len(), expected, "reached on level {level}");
    }
}

/// The nodes that the entry leads to on the lowest level.
pub(crate) fn reached(graph: &Graph) -> BTreeSet<u32> {
    graph.entry.map(|(entry, _)| led(graph, entry, 0)).unwrap_or_default()
}

/// The nodes of a level that one leads to.
fn led(graph: &Graph, from: u32, level: u32) -> BTreeSet<u32> {
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(node) = next.pop() {
        next.extend(nodes(graph.links(node, level)).filter(|other| seen.insert(*other)));
    }
    seen
}

/// Checks what holds of every graph: links lead both ways and to nodes of their level, and searches begin at the highest.
pub(crate) fn check_links<T: Cell>(graph: &Graph, documents: &Documents<T>) {
    let (mut vectors, mut highest) = (0, 0);
    for node in 0..graph.bound {
        let about = graph.node(node);
        highest = highest.max(about.levels);
        vectors += usize::from(about.levels > 0);
        if about.levels > 0 {
            let (document, at) = graph.place(node);
            assert!(documents.vector(document, at).is_some(), "{node}: {document} {at}");
        }
        for level in 0..about.levels {
            let links = graph.links(node, level);
            assert!(level > 0 || graph.len == 1 || count(links) > 0, "{node} is alone");
            assert!(count(links) <= graph.options.links(level));
            for other in nodes(links) {
                let back = nodes(graph.links(other, level)).filter(|back| *back == node).count();
                assert!(back == 1 && other != node, "{node} - {other} on {level}: {back} back");
                assert!(graph.node(other).levels > level);
            }
        }
    }
    assert_eq!((graph.len, vectors), (vectors, documents.0.values().map(Vec::len).sum()));
    assert_eq!(graph.documents, documents.0.values().filter(|x| !x.is_empty()).count());
    let Some((entry, level)) = graph.entry else { return assert_eq!(vectors, 0) };
    assert_eq!((level + 1, graph.node(entry).levels), (highest, highest));
}

/// The links of all nodes, to the last one that is in the graph.
pub(crate) fn links(graph: &Graph) -> Vec<Vec<Vec<u32>>> {
    let of = |node| (0..graph.node(node).levels).map(move |level| (node, level));
    let lists = |(node, level)| nodes(graph.links(node, level)).collect();
    let mut all: Vec<Vec<Vec<u32>>> =
        (0..graph.bound).map(|node| of(node).map(lists).collect()).collect();
    while all.pop_if(|last| last.is_empty()).is_some() {}
    all
}
