//! How fast a graph of vectors is built, searched and changed, and how many of the nearest it finds.
//!
//!     cargo run --release -p stead-ann --example graph_speed -- [COUNT] [SIZE] [THREADS] [FILE]
//!
//! The vectors are of length 1: 32 hidden numbers by chance, mixed to `SIZE`, and noise. With a file the links are read from it, or written to
//! it where there is none, so that building and searching can be measured apart.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use stead_ann::{Graph, Hit, Metric, Options, Query, Request, Rows, Scratch, Writer, exact};
use stead_tensor::Bits;

const QUERIES: usize = 500;
const HITS: usize = 10;

/// Chance from a seed, of about the normal distribution.
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    fn normal(&mut self) -> f32 {
        (0..4).map(|_| self.uniform()).sum::<f32>() * 3_f32.sqrt()
    }
}

fn vectors(count: usize, size: usize) -> Vec<f32> {
    let mut chance = Chance(1);
    let mix: Vec<f32> = (0..32 * size).map(|_| chance.normal()).collect();
    let mut cells = vec![0.0; count * size];
    for row in cells.chunks_exact_mut(size) {
        let hidden: [f32; 32] = std::array::from_fn(|_| chance.normal());
        for (part, hidden) in mix.chunks_exact(size).zip(hidden) {
            row.iter_mut().zip(part).for_each(|(cell, mix)| *cell += hidden * mix);
        }
        row.iter_mut().for_each(|cell| *cell += chance.normal());
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter_mut().for_each(|cell| *cell /= length);
    }
    cells
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse::<usize>());
    let (count, size, threads) = (number(100_000)?, number(128)?, number(2)?);
    let file = arguments.next();
    let cells = vectors(count + QUERIES, size);
    let (cells, queries) = cells.split_at(count * size);
    let rows = Rows::new(cells, size);
    let options = Options::new(Metric::PrenormalizedAngular);
    let graph = match &file {
        Some(file) if Path::new(file).exists() => {
            let start = Instant::now();
            let graph = Graph::read(&std::fs::read(file)?, options, count as u32)?;
            println!("read in {:.2} s", start.elapsed().as_secs_f64());
            graph
        }
        _ => build(&rows, count, options, threads)?,
    };
    println!("{:.0} bytes of links for a vector", graph.memory() as f64 / graph.len() as f64);
    if let Some(file) = file.filter(|file| !Path::new(file).exists()) {
        graph.write_to(&mut std::fs::File::create(file)?)?;
    }
    let queries: Vec<Query<f32>> = queries
        .chunks_exact(size)
        .map(|query| query.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>())
        .map(|query| Query::new(options.metric, &query))
        .collect();
    for explore in [0, 22, 54, 118, 246] {
        let request = Request { explore, ..Request::new(HITS) };
        report(&format!("{HITS} of {}", HITS + explore), &graph, &rows, &queries, &request);
    }
    for percent in [50, 20, 10, 5, 3, 1] {
        let mut chance = Chance(percent);
        let mut filter = Bits::default();
        for document in 0..count {
            if chance.uniform() + 0.5 < percent as f32 / 100.0 {
                filter.insert(document);
            }
        }
        let request = Request { explore: 54, filter: Some(&filter), ..Request::new(HITS) };
        report(&format!("{percent} % pass, {HITS} of 64"), &graph, &rows, &queries, &request);
    }
    change(&rows, graph, count)
}

fn build(
    rows: &Rows<'_, f32>,
    count: usize,
    options: Options,
    threads: usize,
) -> Result<Graph, Box<dyn Error>> {
    let several = |rounds: usize, body: &(dyn Fn(usize) + Sync)| {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(round) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|x| *x < rounds)
            {
                body(round);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(rounds) {
                scope.spawn(work);
            }
            work();
        });
    };
    let documents: Vec<u32> = (0..count as u32).collect();
    let mut writer = Writer::new(options);
    let start = Instant::now();
    writer.put_all(rows, &documents, &several)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "built by {threads} threads in {seconds:.1} s: {:.0} vectors/s",
        count as f64 / seconds
    );
    Ok(writer.publish())
}

/// Searches for all queries, beside a look at all vectors.
fn report(
    title: &str,
    graph: &Graph,
    rows: &Rows<'_, f32>,
    queries: &[Query<f32>],
    request: &Request<'_>,
) {
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let mut found: Vec<Vec<Hit>> = Vec::new();
    let mut best = f64::INFINITY;
    let mut strategy = None;
    for _ in 0..3 {
        found.clear();
        let start = Instant::now();
        for query in queries {
            strategy = Some(graph.search(rows, query, request, &mut scratch, &mut hits).strategy);
            found.push(hits.clone());
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    // The look at all takes long: some of the queries tell enough.
    let (mut good, mut wanted) = (0, 0);
    let start = Instant::now();
    let some = queries.len().min(100);
    for (query, found) in queries.iter().zip(&found).take(some) {
        exact(rows, query, 0..graph.len() as u32, request, &mut scratch, &mut hits);
        wanted += hits.len();
        good += found.iter().filter(|hit| hits.iter().any(|x| x.document == hit.document)).count();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{title}: {:.0} queries/s, recall {:.4} ({:?}); a look at all: {:.0} queries/s",
        queries.len() as f64 / best,
        good as f64 / wanted.max(1) as f64,
        strategy,
        some as f64 / seconds
    );
}

/// Takes vectors out and puts them in again, each published at once.
fn change(rows: &Rows<'_, f32>, graph: Graph, count: usize) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::of(graph);
    let (mut removing, mut putting) = (0.0, 0.0);
    const CHANGES: usize = 1000;
    let mut published = writer.publish();
    for change in 0..CHANGES {
        let document = (change * 7919 % count) as u32;
        let start = Instant::now();
        writer.remove(rows, document);
        published = writer.publish();
        removing += start.elapsed().as_secs_f64();
        assert_eq!(published.len(), count - 1);
        let start = Instant::now();
        writer.put(rows, document)?;
        published = writer.publish();
        putting += start.elapsed().as_secs_f64();
    }
    let each = |seconds: f64| seconds * 1e6 / CHANGES as f64;
    println!(
        "taken out in {:.0} us, put in {:.0} us, each published",
        each(removing),
        each(putting)
    );
    assert_eq!(published.len(), count);
    Ok(())
}
