//! The experiment of the blog post that the example comes from, with 64 clients.

use super::Context;
use super::blog::{self, Kind, Readers};
use super::clients::{self, Load, Time, Work};
use super::store::Store;
use crate::mlserver;
use crate::results::{Table, goal, line, middle};

const CLIENTS: usize = 64;

/// What in-place ranking should reach.
const QPS: f64 = 3000.0;
const P95_MS: f64 = 40.0;
/// The second phase's own time of the processor for a query.
const SECOND_MS: f64 = 0.40;

/// A row: its name, what the post measured for it, and how many times slower than ranking in place it should be.
struct Side {
    name: &'static str,
    post: &'static str,
    slower: Option<f64>,
    work: Work,
}

/// The rows that others are compared with.
const FIRST: usize = 0;
const RANKED: usize = 3;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let store = Store::start(context, "blog", None)?;
    blog::feed(context, &store)?;
    let readers = Readers::new()?;
    let mlserver = blog::mlserver(context);
    let side =
        |name, post, slower, kind: Kind<'_>| Side { name, post, slower, work: readers.work(&kind) };
    let (hex, json) = ("hex-value", "short-value");
    let mut sides = vec![
        side("first phase only", "3,252", None, Kind::InPlace("nearest")),
        side("the same, with 200 vectors returned in hex", "2,645", None, Kind::Vectors(hex)),
        side("... in JSON", "-", None, Kind::Vectors(json)),
        side("ranked in place", "1,495", None, Kind::InPlace("recommend")),
        side(
            "ONNX Runtime where results merge, all at once, hex",
            "1,500",
            Some(1.5),
            Kind::Merging(hex, false),
        ),
        side("... one by one", "620", None, Kind::Merging(hex, true)),
    ];
    if let Ok(server) = &mlserver {
        let served = |form, single, protocol| Kind::Served(form, single, server, protocol);
        sides.extend([
            side(
                "MLServer, gRPC, a tensor as bytes, hex",
                "-",
                Some(4.0),
                served(hex, false, "grpc"),
            ),
            side("... vectors in JSON", "-", Some(8.0), served(json, false, "grpc")),
            side("... hex, one by one", "-", Some(15.0), served(hex, true, "grpc")),
            side(
                "MLServer, gRPC, FP32 in raw contents, hex",
                "-",
                Some(4.0),
                served(hex, false, "grpc_raw"),
            ),
            side(
                "MLServer, REST, numbers of JSON, hex",
                "-",
                Some(4.0),
                served(hex, false, "rest"),
            ),
            side("... vectors in JSON", "-", Some(8.0), served(json, false, "rest")),
            side("... hex, one by one", "-", Some(15.0), served(hex, true, "rest")),
        ]);
    }
    let (rounds, seconds) = if context.quick { (1, 2.0) } else { (3, 4.0) };
    let stores = [&store];
    let measured: Vec<_> = sides.iter().map(|side| (side.name, &stores[..], &side.work)).collect();
    let time = Time { seconds, warm_up: 100 };
    let loads = clients::rounds(context, &measured, CLIENTS, time, rounds);
    let second: Vec<f64> = loads[RANKED]
        .iter()
        .zip(&loads[FIRST])
        .filter_map(|(ranked, first)| Some((*ranked)?.cpu_ms - (*first)?.cpu_ms))
        .collect();
    let second = middle(second).unwrap_or(f64::NAN);
    let missing = mlserver.as_ref().err().map(|reason| format!(" MLServer: {}.", line(reason)));
    Ok(Table {
        title: format!("a blog's recommendations, {CLIENTS} clients"),
        note: format!(
            "`examples/blog-recommendation`: 1,000 posts with vectors of 128 scored by a dot product, the best {} by a network \
             256-512-128-1, the reader's vector taken from the reader's document; 10 hits with titles. {rounds} turns of {seconds} s, \
             medians; \"in place over it\" is the median of the turns' ratios. The clients, the store and the other rankers share two \
             cores. Ranking outside is given the reader's vector; it fetches the 200 vectors and runs ONNX Runtime on one thread: in \
             the clients' process, as in the post, or in MLServer {} (one process), which gets the 200 rows in one request, or 200 \
             requests. MLServer answers 422 to the binary tensors of KServe's REST, so what it takes is measured: gRPC with the rows \
             as one element of bytes, which its runtime takes as they are (the quickest way that it has), gRPC with FP32 in \
             `raw_input_contents`, which it unpacks into Python numbers, and REST with JSON. The last column is what the post \
             measured on a large server; second phase: CPU of the store for a query above the first phase alone.{}",
            blog::CANDIDATES,
            mlserver::VERSION,
            missing.unwrap_or_default()
        ),
        header: vec![
            "what",
            "QPS",
            "mean ms",
            "p95 ms",
            "store CPU ms",
            "answer kB",
            "in place over it",
            "goal",
            "the post's QPS",
        ],
        rows: sides
            .iter()
            .zip(&loads)
            .map(|(side, of_side)| row(side, of_side, &loads[RANKED], second))
            .collect(),
    })
}

fn row(side: &Side, loads: &[Option<Load>], ranked: &[Option<Load>], second: f64) -> Vec<String> {
    let (Some(load), Some(over)) = (clients::median(loads), clients::times(ranked, loads)) else {
        let mut row = vec![side.name.to_owned(), "not measured: no answers".to_owned()];
        row.resize(9, "-".to_owned());
        return row;
    };
    let wanted = match (side.name, side.slower) {
        ("ranked in place", _) => format!(
            "{QPS:.0} QPS {}; p95 {P95_MS} ms {}; second phase {SECOND_MS} ms {} ({second:.2})",
            goal(load.qps >= QPS),
            goal(load.p95_ms <= P95_MS),
            goal(second <= SECOND_MS)
        ),
        (_, Some(least)) => format!("{least} {}", goal(over >= least)),
        _ => "-".to_owned(),
    };
    vec![
        side.name.to_owned(),
        format!("{:.0}", load.qps),
        format!("{:.1}", load.mean_ms),
        format!("{:.1}", load.p95_ms),
        format!("{:.2}", load.cpu_ms),
        format!("{:.1}", load.bytes / 1e3),
        format!("{over:.2}"),
        wanted,
        side.post.to_owned(),
    ]
}
