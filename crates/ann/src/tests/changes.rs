//! Graphs after many changes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stead_tensor::Bits;

use super::model::{Chance, Documents, check, check_links, good, reached, recall};
use crate::{Graph, Metric, Options, Query, Request, Scratch, Tuning, Writer, alone};

/// A number of the environment, or another.
fn number(name: &str, other: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(other)
}

/// How much less a changed graph may find than a new one of the same documents: two new ones differ by a few of the 400 hits.
const LESS: f64 = 0.01;

/// The documents of a graph that finds nearly all: of more it is only compared with a new one.
const FEW: u64 = 1000;

/// What it finds of these.
const NEARLY_ALL: f64 = 0.97;

/// Random changes of a thousand documents, or as many as `STEAD_DOCUMENTS` says, that each have up to `most` vectors: ten thousand changes, or as many as
/// `STEAD_CHANGES` says.
fn change(seed: u64, most: u64) {
    let (count, changes) = (number("STEAD_DOCUMENTS", FEW), number("STEAD_CHANGES", 10_000));
    let mut chance = Chance(seed);
    let options = Options { has_many: most > 1, explore: 80, ..Options::new(Metric::Euclidean) };
    let mut writer = Writer::new(options);
    let mut documents = Documents::<f32>::default();
    let queries: Vec<Vec<f64>> = (0..40).map(|_| chance.vector(16)).collect();
    for round in 1..=changes {
        let id = chance.below(count) as u32;
        // As a store does it: first the columns, then what is made of them.
        if chance.below(3) == 0 {
            documents.0.remove(&id);
            writer.remove(&documents, id);
        } else {
            let vectors = 1 + chance.below(most);
            let cells = |vector: Vec<f64>| vector.into_iter().map(|x| x as f32).collect();
            documents.0.insert(id, (0..vectors).map(|_| cells(chance.vector(16))).collect());
            writer.put(&documents, id).unwrap();
        }
        if round % (changes / 4).max(1) == 0 {
            let graph = writer.publish();
            check(&graph, &documents);
            let request = Request { explore: 40, ..Request::new(10) };
            let new = of_new(options, &documents);
            let compare = |request: &Request<'_>, what: &str| {
                let [found, of_new] =
                    [&graph, &new].map(|graph| recall(graph, &documents, &queries, request));
                let label = format!("seed {seed}, {most} vectors, {round} changes of {count}");
                assert!(found >= of_new - LESS, "{label}, {what}: {found}, a new one {of_new}");
                assert!(count > FEW || found >= NEARLY_ALL, "{label}, {what}: {found}");
            };
            compare(&request, "all");
            for percent in [50, 10, 1] {
                let mut filter = Bits::default();
                (0..count as usize).filter(|_| chance.below(100) < percent).for_each(|id| {
                    filter.insert(id);
                });
                // Unless few pass, by the graph though it is small.
                let approximate_threshold = if percent == 1 { 0.02 } else { 0.0 };
                let tuning = Tuning { approximate_threshold, ..Tuning::default() };
                let request = Request { filter: Some(&filter), tuning, ..request };
                compare(&request, &format!("{percent} % pass"));
            }
            // One that goes on with what was published.
            writer = Writer::of(graph);
        }
    }
    for id in 0..count as u32 {
        documents.0.remove(&id);
        writer.remove(&documents, id);
    }
    check(&writer.publish(), &documents);
    assert!(writer.publish().is_empty());
}

/// A graph of all documents that were never changed.
fn of_new(options: Options, documents: &Documents<f32>) -> Graph {
    let ids: Vec<u32> = documents.0.keys().copied().collect();
    let mut writer = Writer::new(options);
    writer.put_all(documents, &ids, &alone).unwrap();
    writer.publish()
}

#[test]
fn changes_of_single_vectors_do_not_make_it_worse() {
    change(1, 1);
}

#[test]
fn changes_of_several_vectors_do_not_make_it_worse() {
    change(2, 3);
}

/// Clusters have more vectors here than are kept: a search that comes to a wrong one stays there.
#[test]
fn clusters_are_found_however_often_their_vectors_are_put() {
    const COUNT: u32 = 5000;
    let mut chance = Chance(1);
    let options = Options { explore: 60, ..Options::new(Metric::Euclidean) };
    let queries: Vec<Vec<f64>> = (0..100).map(|_| chance.vector(16)).collect();
    let vector = |chance: &mut Chance| chance.vector(16).into_iter().map(|x| x as f32).collect();
    let new = (0..COUNT).map(|id| (id, vec![vector(&mut chance)])).collect();
    let mut documents = Documents::<f32>(new);
    let mut writer = Writer::of(of_new(options, &documents));
    for _ in 0..5 * COUNT {
        let id = chance.below(u64::from(COUNT)) as u32;
        documents.0.insert(id, vec![vector(&mut chance)]);
        writer.put(&documents, id).unwrap();
    }
    let request = Request { explore: 38, ..Request::new(10) };
    let found = recall(&writer.publish(), &documents, &queries, &request);
    assert!(found >= 1.0 - LESS, "{found}");
}

/// Clusters have more vectors than are looked at for a new one, which is never linked to another cluster: the links between them are those that were there when
/// there were few vectors, and what takes their place.
#[test]
fn clusters_stay_linked_however_often_their_vectors_are_put() {
    const COUNT: u64 = 1200;
    for seed in 1..=6 {
        let mut chance = Chance(seed);
        let options = Options {
            max_links: 4 + chance.below(10) as usize,
            explore: 10 + chance.below(15) as usize,
            ..Options::new(Metric::Euclidean)
        };
        let (mut writer, mut documents) = (Writer::new(options), Documents::<f32>::default());
        for _ in 0..5 * COUNT {
            let id = chance.below(COUNT) as u32;
            let vector = chance.vector(8).into_iter().map(|x| x as f32).collect();
            documents.0.insert(id, vec![vector]);
            writer.put(&documents, id).unwrap();
        }
        let graph = writer.publish();
        let is_whole = catch_unwind(AssertUnwindSafe(|| check(&graph, &documents))).is_ok();
        assert!(is_whole, "seed {seed}, {options:?}: see above");
    }
}

/// Small graphs of every shape: few links, few numbers that are often the same, vectors put together and one by one.
#[test]
fn small_graphs_are_whole_after_every_change() {
    for seed in 1..=150 {
        let mut chance = Chance(seed);
        // Of few directions many vectors are the same to the angular metric.
        let metric = [Metric::Euclidean, Metric::Angular][(seed % 2) as usize];
        let options = Options {
            max_links: 2 + chance.below(6) as usize,
            explore: 8 + chance.below(20) as usize,
            has_many: chance.below(2) == 0,
            ..Options::new(metric)
        };
        let (size, most) = (1 + chance.below(4) as usize, 1 + chance.below(40));
        let mut writer = Writer::new(options);
        let mut documents = Documents::<i8>::default();
        let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
        for step in 0..60 {
            let label = || format!("seed {seed}, step {step}, {options:?}");
            let ids: Vec<u32> = (0..=chance.below(6)).map(|_| chance.below(most) as u32).collect();
            // All at once, or one after the other as they change.
            let is_together = chance.below(2) == 0;
            for id in &ids {
                let count = if options.has_many { chance.below(4) } else { 1 };
                let mut cell = || chance.below(7) as i8 - 3;
                let vectors = (0..count).map(|_| (0..size).map(|_| cell()).collect()).collect();
                documents.0.insert(*id, vectors);
                if !is_together {
                    writer.put(&documents, *id).unwrap();
                }
            }
            if is_together {
                writer.put_all(&documents, &ids, &alone).unwrap();
            }
            if chance.below(2) == 0 {
                documents.0.remove(&ids[0]);
                writer.remove(&documents, ids[0]);
            }
            let graph = writer.publish();
            check_links(&graph, &documents);
            assert_eq!(reached(&graph).len(), graph.len, "{}", label());
            let query = vec![1.0; size];
            let request = Request { explore: 200, ..Request::new(3) };
            let of = Query::new(metric, &query);
            graph.search(&documents, &of, &request, &mut scratch, &mut hits);
            let with =
                Documents(documents.0.clone().into_iter().filter(|x| !x.1.is_empty()).collect());
            // Zeros have no direction.
            if metric == Metric::Euclidean {
                let found = good(metric, &with, &query, &hits, 3, |_| true);
                assert_eq!(found, hits.len(), "{}", label());
            }
        }
    }
}
