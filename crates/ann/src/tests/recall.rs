//! How many of the nearest are found, by metric and type of cells.

use half::bf16;

use super::model::{Chance, Documents, all, check, links, recall};
use crate::{Cell, Metric, Options, Query, Request, Scratch, Writer, alone, exact};

const METRICS: [Metric; 6] = [
    Metric::Euclidean,
    Metric::Angular,
    Metric::DotProduct,
    Metric::PrenormalizedAngular,
    Metric::Hamming,
    Metric::Geo,
];

fn vector(chance: &mut Chance, metric: Metric) -> Vec<f64> {
    let mut vector = if metric == Metric::Geo { chance.point() } else { chance.vector(20) };
    match metric {
        // Of the same length, as the metric wants them, and such that they fit in bytes.
        Metric::PrenormalizedAngular => {
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|x| *x *= 120.0 / length);
        }
        // Cells that are often the same.
        Metric::Hamming => vector.iter_mut().for_each(|x| *x = (*x / 16.0).round()),
        _ => {}
    }
    vector
}

fn documents<T: Cell>(metric: Metric, count: u32, chance: &mut Chance) -> Documents<T> {
    let cells = |vector: Vec<f64>| vector.into_iter().map(T::of).collect();
    Documents((0..count).map(|id| (id, vec![cells(vector(chance, metric))])).collect())
}

fn case<T: Cell>(metric: Metric) {
    let seed = 17;
    let mut chance = Chance(seed);
    let documents = documents::<T>(metric, 2000, &mut chance);
    let mut writer = Writer::new(Options::new(metric));
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    writer.put_all(&documents, &ids, &alone).unwrap();
    let graph = writer.publish();
    check(&graph, &documents);
    let queries: Vec<Vec<f64>> = (0..60).map(|_| vector(&mut chance, metric)).collect();
    let request = Request { explore: 90, ..Request::new(10) };
    let found = recall(&graph, &documents, &queries, &request);
    assert!(found >= 0.97, "{metric:?} of {}: {found}", std::any::type_name::<T>());
    // All are all.
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    for query in &queries {
        let request = Request::new(10);
        let of = Query::new(metric, query);
        exact(&documents, &of, 0..2000, &request, &mut scratch, &mut hits);
        let good = super::model::good(metric, &documents, query, &hits, 10, |_| true);
        assert_eq!(good, 10, "{metric:?}");
    }
}

#[test]
fn the_nearest_of_floats_are_found() {
    METRICS.into_iter().for_each(case::<f32>);
}

#[test]
fn the_nearest_of_doubles_are_found() {
    METRICS.into_iter().for_each(case::<f64>);
}

#[test]
fn the_nearest_of_bf16_are_found() {
    METRICS.into_iter().for_each(case::<bf16>);
}

#[test]
fn the_nearest_of_bytes_are_found() {
    // Degrees do not fit in bytes.
    METRICS[..5].iter().for_each(|metric| case::<i8>(*metric));
}

#[test]
fn graphs_do_not_depend_on_threads() {
    let documents = documents::<f32>(Metric::Euclidean, 1500, &mut Chance(3));
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    let build = |lent: crate::Lent<'_>| {
        let mut writer = Writer::new(Options::new(Metric::Euclidean));
        writer.put_all(&documents, &ids, lent).unwrap();
        links(&writer.publish())
    };
    let several = |rounds: usize, body: &(dyn Fn(usize) + Sync)| {
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || (0..rounds).rev().filter(|x| x % 3 == thread).for_each(body));
            }
        });
    };
    assert!(build(&alone) == build(&several));
}

#[test]
fn what_is_the_same_is_found_however_often() {
    let mut documents = documents::<f32>(Metric::Euclidean, 2000, &mut Chance(5));
    let same: Vec<f32> = documents.0[&0][0].clone();
    for id in (0..2000).filter(|id| id % 2 == 0) {
        documents.0.insert(id, vec![same.clone()]);
    }
    let mut writer = Writer::new(Options::new(Metric::Euclidean));
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    writer.put_all(&documents, &ids, &alone).unwrap();
    let graph = writer.publish();
    check(&graph, &documents);
    let query: Vec<f64> = same.iter().map(|x| f64::from(*x)).collect();
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let of = Query::new(Metric::Euclidean, &query);
    graph.search(&documents, &of, &Request::new(900), &mut scratch, &mut hits);
    assert!(hits.len() == 900 && hits.iter().all(|hit| hit.distance == 0.0));
}

#[test]
fn a_document_is_found_by_its_nearest_vector() {
    let mut chance = Chance(11);
    let mut documents = Documents::<f32>::default();
    for id in 0..600 {
        let count = chance.below(5);
        let cells = |vector: Vec<f64>| vector.into_iter().map(|x| x as f32).collect();
        documents.0.insert(id, (0..count).map(|_| cells(chance.vector(12))).collect());
    }
    let options = Options { has_many: true, ..Options::new(Metric::Euclidean) };
    let mut writer = Writer::new(options);
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    writer.put_all(&documents, &ids, &alone).unwrap();
    let graph = writer.publish();
    check(&graph, &documents);
    let queries: Vec<Vec<f64>> = (0..60).map(|_| chance.vector(12)).collect();
    documents.0.retain(|_, vectors| !vectors.is_empty());
    let request = Request { explore: 40, ..Request::new(10) };
    let found = recall(&graph, &documents, &queries, &request);
    assert!(found >= 0.97, "{found}");
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let of = Query::new(Metric::Euclidean, &queries[0]);
    let request = Request::new(10);
    exact(&documents, &of, 0..600, &request, &mut scratch, &mut hits);
    let truth = all(Metric::Euclidean, &documents, &queries[0], |_| true);
    let expected: Vec<u32> = truth[..10].iter().map(|(_, id)| *id).collect();
    assert_eq!(hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), expected);
}

#[test]
fn searches_end_where_they_are_told_to() {
    let documents = documents::<f32>(Metric::Euclidean, 2000, &mut Chance(9));
    let mut writer = Writer::new(Options::new(Metric::Euclidean));
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let query = Chance(77).vector(20);
    let of = Query::new(Metric::Euclidean, &query);
    let empty = writer.publish();
    let outcome = empty.search(&documents, &of, &Request::new(5), &mut scratch, &mut hits);
    assert!(outcome.is_complete && hits.is_empty());
    writer.put_all(&documents, &ids, &alone).unwrap();
    let graph = writer.publish();
    // No farther than the third.
    let truth = all(Metric::Euclidean, &documents, &query, |_| true);
    let request = Request { farthest: truth[2].0 + 1e-3, explore: 90, ..Request::new(10) };
    graph.search(&documents, &of, &request, &mut scratch, &mut hits);
    assert_eq!(hits.len(), 3);
    // Late at once, and after a while.
    for (most, is_some) in [(0, false), (10, true)] {
        let asked = std::cell::Cell::new(0);
        let is_late = || asked.replace(asked.get() + 1) >= most;
        let request = Request { is_late: &is_late, explore: 400, ..Request::new(10) };
        let outcome = graph.search(&documents, &of, &request, &mut scratch, &mut hits);
        assert_eq!((outcome.is_complete, !hits.is_empty()), (false, is_some));
        let exactly = exact(&documents, &of, 0..2000, &request, &mut scratch, &mut hits);
        assert!(!exactly.is_complete);
    }
    let outcome = graph.search(&documents, &of, &Request::new(0), &mut scratch, &mut hits);
    assert!(outcome.is_complete && hits.is_empty());
}

#[test]
fn what_is_no_number_or_has_another_length_is_no_hit() {
    let mut documents = documents::<f32>(Metric::Angular, 40, &mut Chance(2));
    documents.0.insert(3, vec![vec![f32::NAN; 20]]);
    documents.0.insert(4, vec![vec![f32::INFINITY; 20]]);
    let mut writer = Writer::new(Options::new(Metric::Angular));
    writer.put(&documents, 3).unwrap();
    assert_eq!(writer.publish().len(), 0);
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    writer.put_all(&documents, &ids, &alone).unwrap();
    assert_eq!((writer.publish().len(), writer.publish().documents()), (38, 38));
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    for (query, expected) in [(vec![1.0; 20], 38), (vec![1.0; 7], 0), (vec![f64::NAN; 20], 0)] {
        let of = Query::new(Metric::Angular, &query);
        writer.publish().search(&documents, &of, &Request::new(50), &mut scratch, &mut hits);
        assert_eq!(hits.len(), expected);
    }
}
