//! The experiment of the blog post that the example comes from, with 64 clients.

use super::Context;
use super::blog::{self, Blog};
use super::clients::{Kind, Load, run};
use crate::results::{Table, goal, line};

const CLIENTS: usize = 64;

/// What in-place ranking should reach.
const QPS: f64 = 3000.0;
const P95_MS: f64 = 40.0;
/// The second phase's own time of the processor for a query.
const SECOND_MS: f64 = 0.40;

/// A row: its name, what the post measured for it, and how many times slower than ranking in place it should be.
struct Side<'a> {
    name: &'static str,
    post: &'static str,
    slower: Option<f64>,
    kind: Kind<'a>,
}

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let blog = Blog::start(context)?;
    let mlserver = blog::mlserver(context);
    let side = |name, post, slower, kind| Side { name, post, slower, kind };
    let mut sides = vec![
        side("first phase only", "3,252", None, Kind::InPlace(blog::ranked("nearest"))),
        side(
            "the same, with 200 vectors returned in hex",
            "2,645",
            None,
            Kind::Vectors("hex-value"),
        ),
        side("... in JSON", "-", None, Kind::Vectors("short-value")),
        side("ranked in place", "1,495", None, Kind::InPlace(blog::ranked("recommend"))),
        side(
            "ONNX Runtime where results merge, all at once, hex",
            "1,500",
            Some(1.5),
            Kind::Merging("hex-value", false),
        ),
        side("... one by one", "620", None, Kind::Merging("hex-value", true)),
    ];
    if let Ok(server) = &mlserver {
        sides.extend([
            side(
                "ONNX Runtime behind HTTP (MLServer), all at once, hex",
                "-",
                Some(4.0),
                Kind::Served("hex-value", false, server),
            ),
            side("... JSON", "-", Some(8.0), Kind::Served("short-value", false, server)),
            side("... hex, one by one", "-", Some(15.0), Kind::Served("hex-value", true, server)),
        ]);
    }
    // Turn by turn, so that all sides meet the same weather; the median of each is told.
    let (rounds, seconds) = if context.quick { (1, 2.0) } else { (3, 5.0) };
    let mut loads = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for (side, of_side) in sides.iter().zip(&mut loads) {
            // One that cannot be measured must not take the others with it.
            if let Ok(load) = run(context, &blog, &side.kind, &[CLIENTS], seconds) {
                println!("{}: {:.0} QPS", side.name, load[0].qps);
                of_side.push(load[0]);
            }
        }
    }
    let loads: Vec<Load> = loads.into_iter().map(median).collect();
    let (first, ranked) = (loads[0], loads[3]);
    let second = ranked.cpu_ms - first.cpu_ms;
    let row = |(side, load): (&Side<'_>, &Load)| {
        let over = ranked.qps / load.qps;
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
        if load.qps == 0.0 {
            let mut row = vec![side.name.to_owned(), "not measured: no answers".to_owned()];
            row.resize(9, "-".to_owned());
            return row;
        }
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
    };
    let missing = mlserver.as_ref().err().map(|reason| format!(" MLServer: {}.", line(reason)));
    Ok(Table {
        title: format!("a blog's recommendations, {CLIENTS} clients"),
        note: format!(
            "`examples/blog-recommendation`: 1,000 posts with vectors of 128 scored by a dot product, the best {} by a network \
             256-512-128-1, the reader's vector taken from the reader's document; 10 hits with titles. Medians of {rounds} turns \
             of {seconds} s. The clients, the store and the other rankers share two cores. Ranking outside is given the reader's \
             vector; it fetches the 200 vectors and runs ONNX Runtime on one thread: in the clients' process, as in the post, or in \
             MLServer, which gets one binary tensor of KServe V2 (or 200). The last column is what the post measured on a large server; \
             second phase: CPU of the store for a query above the first phase alone.{}",
            blog::CANDIDATES,
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
        rows: sides.iter().zip(&loads).map(row).collect(),
    })
}

fn median(mut loads: Vec<Load>) -> Load {
    loads.sort_by(|a, b| a.qps.total_cmp(&b.qps));
    loads.get(loads.len() / 2).copied().unwrap_or_default()
}
