//! How fast expressions run over many documents, on one thread.
//!
//!     cargo run --release -p stead-expr --example expression_speed -- [NAME...] [--rounds N] \
//!         [--peer python bench/peers/ranking/rankers.py FOLDER]
//!
//! Each line is the best of several rounds. A dot product is compared with a sum over the same bytes that only
//! reads them, in the same rounds. The peer is numpy. Ends with a line of JSON.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../../../bench/peers/peer.rs"]
mod peer;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use peer::Peer;
use stead_expr::{
    Attribute, Bound, Cells, Documents, Label, Numbers, Rate, Scratch, TensorType, Value, compile,
    parse_type,
};

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let option = |words: &mut Vec<String>, name: &str| {
        let at = words.iter().position(|w| w == name)?;
        Some(words.drain(at..).skip(1).collect::<Vec<_>>())
    };
    let mut peer = option(&mut wanted, "--peer").unwrap_or_default();
    let rounds = option(&mut wanted, "--rounds").map_or(15, |words| words[0].parse().unwrap());
    let folder = peer.pop().unwrap_or_default();
    let peer = Peer::start(&peer, Path::new(&folder)).unwrap();
    let mut bench = Bench { rounds, peer, found: Vec::new() };
    let benches: [(&str, fn(&mut Bench)); 4] = [
        ("dot", |bench| {
            dot_products(bench, 1_000_000);
            dot_products(bench, 2_000);
        }),
        ("maxsim", best_matches),
        ("weighted", weighted_sum),
        ("sparse", sparse),
    ];
    for (name, run) in benches {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            run(&mut bench);
        }
    }
    println!("{{{}}}", bench.found.join(", "));
}

struct Bench {
    rounds: usize,
    peer: Peer,
    /// Members of the line of JSON.
    found: Vec<String>,
}

impl Bench {
    /// The best times of several things that take turns.
    fn best<const N: usize>(&self, mut runs: [&mut dyn FnMut(); N]) -> [Duration; N] {
        let mut times = [Duration::MAX; N];
        for _ in 0..self.rounds {
            for (run, best) in runs.iter_mut().zip(&mut times) {
                let start = Instant::now();
                run();
                *best = start.elapsed().min(*best);
            }
        }
        times
    }

    /// Keeps a measurement, with the best of the peer's.
    fn keep(&mut self, name: &str, time: Duration, more: &[(&str, f64)]) {
        let rounds = self.rounds.min(5);
        let peer = (0..rounds)
            .filter_map(|_| self.peer.milliseconds(name).unwrap())
            .min_by(f64::total_cmp);
        let mut members = vec![format!("\"ms\": {}", ms(time))];
        members.extend(more.iter().map(|(name, x)| format!("\"{name}\": {x}")));
        members.extend(peer.map(|peer| format!("\"peer_ms\": {peer}")));
        self.found.push(format!("\"{name}\": {{{}}}", members.join(", ")));
    }
}

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    fn bytes(&mut self, count: usize) -> Vec<i8> {
        (0..count).map(|_| (self.next() >> 32) as i8).collect()
    }
}

/// An expression for a query. Names are `name: type`, those of the query first.
fn bound(text: &str, names: &[(&str, &str, Option<Value>)]) -> Bound {
    let scope = |name: &str| -> Option<(TensorType, Rate)> {
        let (_, kind, value) = names.iter().find(|(n, ..)| *n == name)?;
        let rate = if value.is_some() { Rate::Query } else { Rate::Document };
        Some((parse_type(kind).unwrap(), rate))
    };
    let compiled = compile(text, &scope).unwrap();
    let value = |name: &str| names.iter().find(|(n, ..)| *n == name).and_then(|(.., v)| v.as_ref());
    let values: Vec<&Value> = compiled.query_names().filter_map(value).collect();
    compiled.for_query(&values).unwrap()
}

fn dense(kind: &str, cells: Cells<'static>) -> Value {
    Value::new(parse_type(kind).unwrap(), stead_expr::Labels::default(), cells).unwrap()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn dot_products(bench: &mut Bench, count: usize) {
    const SIZE: usize = 128;
    let kind = "tensor<float>(x[128])";
    let mut random = Random(1);
    let query = dense(kind, Cells::Float(random.floats(SIZE).into()));
    let bound = bound(
        "sum(query(q) * attribute(d))",
        &[("query(q)", kind, Some(query)), ("attribute(d)", kind, None)],
    );
    let cells = random.floats(count * SIZE);
    let repeat = (1_000_000 / count).max(1);
    let attributes = [Attribute::Dense { cells: Cells::Float((&cells[..]).into()), stride: SIZE }];
    let documents = Documents { count, index: None, attributes: &attributes };
    let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
    let mut dot = || {
        for _ in 0..repeat {
            bound.scores(&documents, &mut scratch, &mut scores).unwrap();
            black_box(&scores);
        }
    };
    let mut sum = || {
        for _ in 0..repeat {
            black_box(read_only_sum(black_box(&cells)));
        }
    };
    let [dot, sum] = bench.best([&mut dot, &mut sum]);
    let bytes = (repeat * count * SIZE * 4) as f64;
    println!(
        "dot product 128 x {count:>7}: {:7.2} ns/document, {:5.1} GB/s, read-only sum {:5.1} GB/s: {:3.0} %",
        dot.as_secs_f64() * 1e9 / (repeat * count) as f64,
        bytes / dot.as_secs_f64() / 1e9,
        bytes / sum.as_secs_f64() / 1e9,
        100.0 * sum.as_secs_f64() / dot.as_secs_f64()
    );
    bench.keep(&format!("dot {count}"), dot, &[("read_ms", ms(sum))]);
}

/// The sum of all numbers, by the house's fastest reduction.
fn read_only_sum(numbers: &[f32]) -> f32 {
    use stead_kernels::reduce::{ReduceOp, reduce_f32};
    let mut sum = [0.0];
    let shape = (1, numbers.len(), 1);
    reduce_f32(
        stead_kernels::Isa::detect(),
        &stead_kernels::Serial,
        ReduceOp::Sum,
        shape,
        numbers,
        &mut sum,
    );
    sum[0]
}

fn best_matches(bench: &mut Bench) {
    const DOCUMENTS: usize = 1_000;
    const QUERY: usize = 32;
    let mut random = Random(2);
    let lengths: Vec<usize> = (0..DOCUMENTS).map(|_| 80 + random.next() as usize % 101).collect();
    let mut offsets = vec![0_u32];
    let mut labels = Vec::new();
    for length in &lengths {
        labels.extend((0..*length as u32).filter_map(Label::number));
        offsets.push(labels.len() as u32);
    }
    let tokens = labels.len();
    println!("best matches: {QUERY} tokens of the query, {tokens} of {DOCUMENTS} documents");
    let floats = random.floats(tokens * 128);
    let bytes = random.bytes(tokens * 16);
    let query =
        dense("tensor<float>(q[32],x[128])", Cells::Float(random.floats(QUERY * 128).into()));
    let bits = dense("tensor<int8>(q[32],x[16])", Cells::Int8(random.bytes(QUERY * 16).into()));
    let halves: Vec<half::bf16> = floats.iter().map(|x| half::bf16::from_f32(*x)).collect();
    let cases: [(&str, &str, (&str, &Value), &str, Cells<'_>); 4] = [
        (
            "f32 x f32",
            "sum(reduce(sum(q*d, x), max, t))",
            ("tensor<float>(q[32],x[128])", &query),
            "tensor<float>(t{},x[128])",
            Cells::Float((&floats[..]).into()),
        ),
        (
            "f32 x bfloat16",
            "sum(reduce(sum(q*d, x), max, t))",
            ("tensor<float>(q[32],x[128])", &query),
            "tensor<bfloat16>(t{},x[128])",
            Cells::BFloat16((&halves[..]).into()),
        ),
        (
            "f32 x bits",
            "sum(reduce(sum(q*unpack_bits(d), x), max, t))",
            ("tensor<float>(q[32],x[128])", &query),
            "tensor<int8>(t{},x[16])",
            Cells::Int8((&bytes[..]).into()),
        ),
        (
            "hamming",
            "sum(reduce(1/(1 + sum(hamming(q,d), x)), max, t))",
            ("tensor<int8>(q[32],x[16])", &bits),
            "tensor<int8>(t{},x[16])",
            Cells::Int8((&bytes[..]).into()),
        ),
    ];
    for (name, text, (query_kind, query), kind, cells) in cases {
        let names = [("q", query_kind, Some(query.clone())), ("d", kind, None)];
        let bound = bound(text, &names);
        let attributes = [Attribute::Mixed {
            offsets: (&offsets[..]).into(),
            labels: (&labels[..]).into(),
            cells,
        }];
        let documents = Documents { count: DOCUMENTS, index: None, attributes: &attributes };
        let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
        let mut run = || bound.scores(&documents, &mut scratch, &mut scores).unwrap();
        let [time] = bench.best([&mut run]);
        println!("  {name:<16} {:6.2} ms", ms(time));
        match name {
            "f32 x f32" => bench.keep("maxsim", time, &[]),
            "f32 x bits" => bench.keep("maxsim-bits", time, &[]),
            "hamming" => bench.keep("hamming", time, &[]),
            _ => {}
        }
    }
}

fn weighted_sum(bench: &mut Bench) {
    const TERMS: usize = 30;
    const COUNT: usize = 1_000_000;
    let mut random = Random(3);
    let columns: Vec<Vec<f32>> = (0..TERMS).map(|_| random.floats(COUNT)).collect();
    let names: Vec<String> = (0..TERMS).map(|n| format!("attribute(f{n})")).collect();
    let names: Vec<(&str, &str, Option<Value>)> =
        names.iter().map(|n| (n.as_str(), "double", None)).collect();
    let terms: Vec<String> =
        names.iter().enumerate().map(|(at, (n, ..))| format!("0.{at}1 * {n}")).collect();
    let attributes: Vec<Attribute<'_>> =
        columns.iter().map(|c| Attribute::Numbers(Numbers::F32(c))).collect();
    let documents = Documents { count: COUNT, index: None, attributes: &attributes };
    // Fused, and as one step for each operation.
    for (name, text) in [
        ("weighted sum", terms.join(" + ")),
        ("differences", terms.join(" - ")),
        ("with functions", format!("if(sqrt({}) > 1, 1, {})", terms[0], terms.join(" - "))),
    ] {
        let bound = bound(&text, &names);
        let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
        let mut run = || bound.scores(&documents, &mut scratch, &mut scores).unwrap();
        let [time] = bench.best([&mut run]);
        let values = (TERMS * COUNT) as f64;
        println!(
            "{name:<15} 30 f32 x {COUNT}: {:6.2} ms, {:5.2} G values/s",
            ms(time),
            values / time.as_secs_f64() / 1e9
        );
        if name == "weighted sum" {
            bench.keep("weighted", time, &[("values", values)]);
        }
    }
}

fn sparse(bench: &mut Bench) {
    const COUNT: usize = 10_000;
    let mut random = Random(4);
    let mut list = stead_expr::Labels::default();
    (0..50).for_each(|n| list.push(&(n * 7).to_string()));
    let kind = parse_type("tensor<float>(t{})").unwrap();
    let query = Value::new(kind, list, Cells::Float(random.floats(50).into())).unwrap();
    let (mut offsets, mut labels) = (vec![0_u32], Vec::new());
    for _ in 0..COUNT {
        let mut own: Vec<u32> = (0..20).map(|_| random.next() as u32 % 400).collect();
        own.sort_unstable();
        own.dedup();
        labels.extend(own.into_iter().filter_map(Label::number));
        offsets.push(labels.len() as u32);
    }
    let cells = random.floats(labels.len());
    let attributes = [Attribute::Mixed {
        offsets: (&offsets[..]).into(),
        labels: (&labels[..]).into(),
        cells: Cells::Float((&cells[..]).into()),
    }];
    let documents = Documents { count: COUNT, index: None, attributes: &attributes };
    for text in ["sum(q * d)", "reduce(q * d, max)"] {
        let names =
            [("q", "tensor<float>(t{})", Some(query.clone())), ("d", "tensor<float>(t{})", None)];
        let bound = bound(text, &names);
        let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
        let mut run = || bound.scores(&documents, &mut scratch, &mut scores).unwrap();
        let [time] = bench.best([&mut run]);
        println!(
            "{text:<20} 50 labels x {COUNT} documents of 20: {:5.0} ns/document",
            time.as_secs_f64() * 1e9 / COUNT as f64
        );
    }
}
