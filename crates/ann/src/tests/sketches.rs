//! What is found with sketches is what is found without.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use half::bf16;
use stead_kernels::Isa;
use stead_tensor::Bits;

use super::model::{Chance, Documents, links};
use crate::cell::Cell;
use crate::compare::Comparer;
use crate::graph::Graph;
use crate::search::{Sieve, Walk};
use crate::sketches::Sketches;
use crate::{Metric, Options, Query, Request, Scratch, Tuning, Writer, alone};

const METRICS: [Metric; 4] =
    [Metric::Euclidean, Metric::Angular, Metric::DotProduct, Metric::PrenormalizedAngular];

/// What is special about vectors.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Ordinary,
    /// Far from 0 together, so that they lie in about the same direction
    Aside,
    /// Some a thousand times as long as others
    Lengths,
    /// A few large numbers, and 0
    Spikes,
    /// Many that are the same
    Same,
    /// All of the same length
    Unit,
    /// So short that products lose digits, some of them all
    Short,
}

const KINDS: [Kind; 7] =
    [Kind::Ordinary, Kind::Aside, Kind::Lengths, Kind::Spikes, Kind::Same, Kind::Unit, Kind::Short];

fn vector(chance: &mut Chance, kind: Kind, size: usize) -> Vec<f64> {
    let mut vector = chance.vector(size);
    match kind {
        Kind::Ordinary => {}
        Kind::Aside => vector.iter_mut().for_each(|x| *x += 2000.0),
        Kind::Lengths => {
            let factor = 10_f64.powi(chance.below(4) as i32);
            vector.iter_mut().for_each(|x| *x *= factor);
        }
        Kind::Short => {
            let factor = 0.1_f64.powi(chance.below(6) as i32 + 18);
            vector.iter_mut().for_each(|x| *x *= factor);
        }
        Kind::Spikes => vector.iter_mut().for_each(|x| {
            *x *= if chance.below(size as u64 / 4) == 0 { 100.0 } else { 0.0 };
        }),
        Kind::Same => vector = Chance(chance.below(20)).vector(size),
        Kind::Unit => {
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|x| *x /= length);
        }
    }
    vector
}

/// A writer of an empty graph that has sketches from so many bytes of vectors on.
fn sketched_from(options: Options, bytes: usize) -> Writer {
    let mut graph = Graph::new(options);
    graph.sketches = Sketches::from(options.metric, bytes);
    Writer::of(graph)
}

fn built<T: Cell>(
    options: Options,
    kind: Kind,
    size: usize,
    count: u32,
    chance: &mut Chance,
) -> (Writer, Documents<T>) {
    let mut documents = Documents::<T>(BTreeMap::new());
    let mut writer = sketched_from(options, 1);
    for id in 0..count {
        let vectors = if options.has_many { chance.below(3) + 1 } else { 1 };
        let mut cells = || vector(chance, kind, size).into_iter().map(T::of).collect();
        documents.0.insert(id, (0..vectors).map(|_| cells()).collect());
    }
    writer.put_all(&documents, &(0..count).collect::<Vec<_>>(), &alone).unwrap();
    (writer, documents)
}

fn without(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    graph.sketches = Sketches::new(graph.options.metric, false);
    graph
}

/// No vector is said to be too far whose order is the limit itself, and most are where the limit is far below.
fn check_sieve<T: Cell>(seed: u64, metric: Metric, kind: Kind, size: usize) -> (usize, usize) {
    let mut chance = Chance(seed);
    let options = Options { explore: 20, ..Options::new(metric) };
    let (writer, documents) = built::<T>(options, kind, size, 100, &mut chance);
    let graph = writer.publish();
    let (mut dropped, mut all) = (0, 0);
    for of_document in [false, true] {
        for _ in 0..20 {
            let query = vector(&mut chance, kind, size);
            let cells: Vec<T> = query.iter().map(|x| T::of(*x)).collect();
            let isa = Isa::detect();
            let comparer = match of_document {
                false => Comparer::<T>::of_query(metric, isa, &query),
                true => Comparer::of_vector(metric, isa, &cells, graph.longest),
            };
            let rough = OnceLock::new();
            assert_eq!(graph.sketches.size(), size);
            // With one that is too short nothing is compared.
            let Some(sieve) = Sieve::new(&comparer, &rough, &graph) else { continue };
            let walk =
                Walk { graph: &graph, vectors: &documents, comparer: &comparer, sieve: None };
            let nodes: Vec<u32> = (0..50).map(|_| chance.below(100) as u32).collect();
            let orders: Vec<f32> = nodes.iter().map(|node| walk.candidate(*node).order).collect();
            for (node, order) in nodes.iter().zip(&orders) {
                let mut pass = [false; 64];
                sieve.may_pass(&[*node], *order, &mut pass);
                let label = format!("{seed} {metric:?} {kind:?} {size} {of_document} {node}");
                assert!(pass[0], "{label}: {order}");
            }
            let mut sorted = orders.clone();
            sorted.sort_by(f32::total_cmp);
            let mut pass = [false; 64];
            sieve.may_pass(&nodes, sorted[2], &mut pass);
            for (order, pass) in orders.iter().zip(pass) {
                assert!(pass || *order > sorted[2], "{seed} {metric:?} {kind:?} {size}");
                dropped += usize::from(!pass);
            }
            all += nodes.len();
        }
    }
    (dropped, all)
}

#[test]
fn nothing_near_enough_is_too_far_by_its_sketch() {
    let (mut dropped, mut all) = (0, 0);
    for metric in METRICS {
        for kind in KINDS {
            for (seed, size) in [(1, 96), (2, 100), (3, 128), (4, 200), (5, 384), (6, 1000)] {
                let counts = match seed % 2 {
                    0 => check_sieve::<f64>(seed, metric, kind, size),
                    _ => check_sieve::<f32>(seed, metric, kind, size),
                };
                dropped += counts.0;
                all += counts.1;
            }
        }
    }
    // Far from 0 most cannot be told from each other, and of those that are the same none.
    assert!(dropped > all / 4, "{dropped} of {all}");
}

/// All that a search gives, as numbers that can be compared.
fn found<T: Cell>(
    graph: &Graph,
    documents: &Documents<T>,
    query: &[f64],
    request: &Request<'_>,
) -> Vec<(u32, u32, u64)> {
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let query = Query::new(graph.options.metric, query);
    graph.search(documents, &query, request, &mut scratch, &mut hits);
    hits.iter().map(|hit| (hit.document, hit.at, hit.distance.to_bits())).collect()
}

fn check_searches<T: Cell>(metric: Metric, kind: Kind, size: usize, has_many: bool) {
    let mut chance = Chance(size as u64);
    let options = Options { explore: 30, max_links: 8, has_many, ..Options::new(metric) };
    let (writer, documents) = built::<T>(options, kind, size, 400, &mut chance);
    let graph = writer.publish();
    let bare = without(&graph);
    let of = |passes: fn(&usize) -> bool| {
        let mut filter = Bits::default();
        for document in (0..400).filter(passes) {
            filter.insert(document);
        }
        filter
    };
    let (filter, few) = (of(|at| at % 3 > 0), of(|at| at % 9 == 0));
    let mut queries: Vec<Vec<f64>> = (0..8).map(|_| vector(&mut chance, kind, size)).collect();
    for odd in [f64::NAN, f64::INFINITY, -1e300, 1e20, 1e-30, 0.0] {
        let mut query = vector(&mut chance, kind, size);
        query[size / 2] = odd;
        queries.push(query);
        queries.push(vec![odd; size]);
    }
    for (at, query) in queries.iter().enumerate() {
        for filter in [None, Some(&filter), Some(&few)] {
            for exploration_slack in [0.0, 0.3, 2.0] {
                let tuning =
                    Tuning { exploration_slack, approximate_threshold: 0.0, ..Tuning::default() };
                let request = Request { explore: 15, filter, tuning, ..Request::new(5) };
                let [with, without] =
                    [&graph, &bare].map(|graph| found(graph, &documents, query, &request));
                let label = format!("{metric:?} {kind:?} {size} {at} {exploration_slack}");
                assert_eq!(with, without, "{label} {}", filter.is_some());
            }
        }
    }
}

#[test]
fn searches_find_the_same_without_sketches() {
    for metric in METRICS {
        for (at, kind) in KINDS.into_iter().enumerate() {
            check_searches::<f32>(
                metric,
                kind,
                [96, 100, 128, 200, 250, 300, 128][at],
                at % 2 == 0,
            );
            check_searches::<f64>(metric, kind, [50, 128, 100, 65, 130, 256, 64][at], at % 2 == 1);
        }
    }
}

#[test]
fn the_same_is_linked_without_sketches() {
    for metric in METRICS {
        for kind in KINDS {
            let mut chance = Chance(77);
            let options = Options { explore: 40, max_links: 6, ..Options::new(metric) };
            let (mut writer, documents) = built::<f32>(options, kind, 128, 300, &mut chance);
            assert_eq!(writer.graph().sketches.size(), 128);
            let mut bare = Writer::of(without(writer.graph()));
            for id in (0..300).map(|at| at * 7 % 300) {
                writer.put(&documents, id).unwrap();
                bare.put(&documents, id).unwrap();
            }
            assert_eq!(bare.graph().sketches.size(), 0);
            assert_eq!(links(writer.graph()), links(bare.graph()), "{metric:?} {kind:?}");
        }
    }
}

#[test]
fn short_vectors_and_cells_have_no_sketches() {
    let mut chance = Chance(5);
    let mut size_of = |metric, size, kind: &str| {
        let (options, ordinary) = (Options::new(metric), Kind::Ordinary);
        match kind {
            "f64" => built::<f64>(options, ordinary, size, 3, &mut chance).0,
            "bf16" => built::<bf16>(options, ordinary, size, 3, &mut chance).0,
            "i8" => built::<i8>(options, ordinary, size, 3, &mut chance).0,
            _ => built::<f32>(options, ordinary, size, 3, &mut chance).0,
        }
        .graph()
        .sketches
        .size()
    };
    let euclidean = Metric::Euclidean;
    for (metric, size, kind, expected) in [
        (euclidean, 95, "f32", 0),
        (euclidean, 96, "f32", 96),
        (euclidean, 129, "f32", 0),
        (euclidean, 47, "f64", 0),
        (euclidean, 48, "f64", 48),
        (euclidean, 512, "bf16", 0),
        (euclidean, 512, "i8", 0),
        (Metric::Hamming, 512, "f32", 0),
        (euclidean, 1 << 15, "f32", 1 << 15),
        (euclidean, (1 << 15) + 1, "f32", 0),
    ] {
        assert_eq!(size_of(metric, size, kind), expected, "{metric:?} {size} {kind}");
    }
}

#[test]
fn a_graph_that_was_read_is_sketched_as_it_was() {
    for has_many in [false, true] {
        let options = Options { has_many, explore: 20, ..Options::new(Metric::Euclidean) };
        let (mut writer, documents) =
            built::<f32>(options, Kind::Lengths, 256, 2500, &mut Chance(3));
        (0..2500).step_by(3).for_each(|id| writer.remove(&documents, id));
        let graph = writer.publish();
        let mut bytes = Vec::new();
        graph.write_to(&mut bytes).unwrap();
        let mut read = Graph::read(&bytes, options, 2500).unwrap();
        // Fewer bytes than by default, and one byte more than there are.
        for limit in [None, Some(graph.len() * 1024 + 1)] {
            if let Some(limit) = limit {
                read.sketches = Sketches::from(options.metric, limit);
            }
            let mut other = Writer::of(read.clone());
            other.sketch(&documents, &alone);
            assert_eq!(other.graph().sketches.size(), 0, "{limit:?}");
        }
        read.sketches = Sketches::from(options.metric, graph.len() * 1024);
        let mut other = Writer::of(read);
        other.sketch(&documents, &alone);
        assert_same_sketches(&graph, other.graph());
        assert!(graph.sketches.longest >= other.graph().sketches.longest);
    }
}

fn assert_same_sketches(one: &Graph, two: &Graph) {
    for node in (0..one.bound).filter(|node| one.node(*node).levels > 0) {
        let [one, two] = [one, two].map(|graph| graph.sketches.get(node));
        assert!(one.is_some() && one == two, "{node}: {one:?} {two:?}");
    }
}

#[test]
fn a_graph_is_sketched_when_its_vectors_become_large_and_no_more_when_they_are_half() {
    for (metric, at_once) in [(Metric::Euclidean, 1), (Metric::PrenormalizedAngular, 40)] {
        let options = Options { explore: 20, ..Options::new(metric) };
        let (whole, documents) = built::<f32>(options, Kind::Unit, 128, 400, &mut Chance(8));
        let (mut writer, mut bare) =
            (sketched_from(options, 200 * 512), sketched_from(options, usize::MAX));
        let queries: Vec<Vec<f64>> = (0..5).map(|at| Chance(at).vector(128)).collect();
        let assert_finds_the_same = |graph: &Graph| {
            let request = Request { explore: 15, ..Request::new(5) };
            for query in &queries {
                let [with, without] =
                    [graph, &without(graph)].map(|graph| found(graph, &documents, query, &request));
                assert_eq!(with, without);
            }
        };
        let ids: Vec<u32> = (0..400).collect();
        // What was published before its vectors were large stays as it was.
        let mut small = None;
        for ids in ids.chunks(at_once) {
            writer.put_all(&documents, ids, &alone).unwrap();
            bare.put_all(&documents, ids, &alone).unwrap();
            let graph = writer.publish();
            let expected = if graph.len() >= 200 { 128 } else { 0 };
            assert_eq!(graph.sketches.size(), expected, "{} of {at_once}", graph.len());
            if graph.len() % 40 == 0 {
                assert_finds_the_same(&graph);
            }
            if expected == 0 {
                small = Some(graph);
            }
        }
        assert_same_sketches(whole.graph(), writer.graph());
        assert!(links(bare.graph()) == links(writer.graph()), "{at_once}");
        let small = small.unwrap();
        assert_eq!((small.sketches.size(), small.len()), (0, 200 - at_once));
        assert_finds_the_same(&small);
        let sketched = writer.publish();
        for id in 0..350 {
            writer.remove(&documents, id);
            let expected = if 399 - id >= 100 { 128 } else { 0 };
            assert_eq!(writer.graph().sketches.size(), expected, "{id}");
        }
        assert!(sketched.memory() > sketched.links_memory());
        let longest = writer.graph().sketches.longest;
        assert_eq!((writer.graph().sketches.memory(), longest), (0, 0.0));
        assert_finds_the_same(&writer.publish());
        // All that come at once are seen at the end.
        writer.put_all(&documents, &ids, &alone).unwrap();
        assert_same_sketches(whole.graph(), writer.graph());
        assert_finds_the_same(writer.graph());
        assert_finds_the_same(&sketched);
    }
}

#[test]
fn searches_go_on_while_a_graph_is_sketched() {
    let options = Options { explore: 20, ..Options::new(Metric::Angular) };
    let (_, documents) = built::<f32>(options, Kind::Lengths, 96, 600, &mut Chance(21));
    let mut writer = sketched_from(options, 300 * 384);
    let published = Mutex::new(writer.publish());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (published, is_done, documents) = (&published, &is_done, &documents);
            scope.spawn(move || {
                let mut chance = Chance(reader);
                let request = Request { explore: 10, ..Request::new(5) };
                loop {
                    let is_last = is_done.load(Ordering::Acquire);
                    let graph = published.lock().unwrap().clone();
                    let query = chance.vector(96);
                    let [with, without] = [&graph, &without(&graph)]
                        .map(|graph| found(graph, documents, &query, &request));
                    assert_eq!(with, without, "{}", graph.len());
                    if is_last {
                        break;
                    }
                }
            });
        }
        // The limit is crossed up and down.
        for round in 0..3 {
            let ids: Vec<u32> = (0..600).collect();
            for some in ids.chunks(7) {
                writer.put_all(&documents, some, &alone).unwrap();
                *published.lock().unwrap() = writer.publish();
            }
            assert_eq!(writer.graph().sketches.size(), 96, "{round}");
            for id in 0..500 {
                writer.remove(&documents, id);
                if id % 7 == 0 {
                    *published.lock().unwrap() = writer.publish();
                }
            }
            assert_eq!(writer.graph().sketches.size(), 0, "{round}");
        }
        is_done.store(true, Ordering::Release);
    });
}
