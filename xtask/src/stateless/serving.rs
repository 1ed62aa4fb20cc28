//! Networks behind a server with few and many clients.

use std::fs;
use std::path::PathBuf;

use super::Context;
use super::load::{self, Point};
use super::networks::{BERT, DISTIL, Network, SMALL, queries};
use crate::chart::{Chart, stacked};
use crate::paths;
use crate::results::{Table, goal, line};

const CLIENTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const QUICK: [usize; 3] = [1, 8, 64];

/// Runs of one load differ by as much.
const NOISE: f64 = 0.05;

/// One of those that are measured.
struct Side {
    name: &'static str,
    target: String,
    requests: PathBuf,
    points: Vec<Point>,
}

/// The table, and the charts beside it.
pub fn table(context: &Context) -> Result<Table, String> {
    let networks = if context.quick { vec![SMALL] } else { vec![BERT, DISTIL] };
    let (mut rows, mut missing, mut charts) = (Vec::new(), String::new(), String::new());
    for network in networks {
        let sides = measured(context, &network, &mut missing)?;
        rows.extend(rows_of(&network, &sides));
        let path = paths::root().join(format!("bench/stateless-{}.svg", network.name));
        if !context.quick {
            fs::write(&path, drawn(&network, &sides))
                .map_err(|e| format!("{}: {e}", path.display()))?;
            charts += &format!(" Drawn: [{}](stateless-{}.svg).", network.title, network.name);
        }
    }
    Ok(Table {
        title: "networks behind a server by clients".to_owned(),
        note: format!(
            "Weights by chance, one text of {} tokens a request in KServe's JSON or that of `/model-evaluation`, turn by turn for each number of clients, by `stead bench --target ... --clients` \
             on the same cores. Elastic runs take the threads that are idle, fixed ones have one (`intraop-threads`). ONNX Runtime stands behind hyper (`peers front`) with a session \
             for each of two cores, each with its default number of threads.{charts}{missing}",
            BERT.tokens
        ),
        header: vec![
            "network",
            "what",
            "clients",
            "requests/s",
            "p50 ms",
            "p95 ms",
            "over ONNX Runtime",
            "goal",
        ],
        rows,
    })
}

fn measured(
    context: &Context,
    network: &Network,
    missing: &mut String,
) -> Result<Vec<Side>, String> {
    let stead = context.serve(&network.package(context)?, &[])?;
    let runtime = network.onnx_runtime(context);
    let side = |name, target: &str, requests| Side {
        name,
        target: target.to_owned(),
        requests,
        points: Vec::new(),
    };
    let mut sides = vec![
        side("stead, elastic, KServe", &stead.rest, network.kserve(context, "elastic")?),
        side("stead, one thread, KServe", &stead.rest, network.kserve(context, "single")?),
        side(
            "stead, elastic, /model-evaluation",
            &stead.rest,
            network.evaluation(context, "elastic")?,
        ),
    ];
    match &runtime {
        Ok(server) => {
            let requests = network.kserve(context, "onnxruntime")?;
            sides.push(side("ONNX Runtime, its default threads", &server.rest, requests));
        }
        // One that cannot be started must not take the others with it.
        Err(reason) => *missing += &format!(" Not measured: {}.", line(reason)),
    }
    let clients = if context.quick { &QUICK[..] } else { &CLIENTS };
    for clients in clients {
        for side in &mut sides {
            let what = queries(&side.requests);
            // What all clients wait for must happen several times.
            let one = match side.points.first() {
                Some(one) => one.p50_ms / 1e3,
                None => load::closed(context, &side.target, &what, 1, "0.5")?.p50_ms / 1e3,
            };
            let (least, most) = if context.quick { (0.5, 2.0) } else { (2.0, 12.0) };
            let seconds = (one * *clients as f64 * 4.0).clamp(least, most);
            let point =
                load::closed(context, &side.target, &what, *clients, &format!("{seconds:.1}"))?;
            println!(
                "{} {}: {clients} clients: {:.1}/s, p95 {:.1} ms",
                network.name, side.name, point.per_second, point.p95_ms
            );
            side.points.push(point);
        }
    }
    Ok(sides)
}

fn rows_of(network: &Network, sides: &[Side]) -> Vec<Vec<String>> {
    let of = |name: &str| sides.iter().find(|side| side.name == name);
    let (single, runtime) =
        (of("stead, one thread, KServe"), of("ONNX Runtime, its default threads"));
    let at = |side: Option<&Side>, clients: usize| {
        side?.points.iter().find(|point| point.clients == clients).copied()
    };
    let row = |side: &Side, point: &Point| {
        let over = at(runtime, point.clients).map(|other| point.per_second / other.per_second);
        // Elastic runs are to be as quick as those of one thread where all cores are busy, and quicker where they are not.
        let wanted = match at(single, point.clients) {
            Some(single) if side.name == "stead, elastic, KServe" => {
                let ratio = point.per_second / single.per_second;
                format!("no worse than one thread {} ({ratio:.2})", goal(ratio >= 1.0 - NOISE))
            }
            _ => "-".to_owned(),
        };
        vec![
            network.title.to_owned(),
            side.name.to_owned(),
            point.clients.to_string(),
            format!("{:.1}", point.per_second),
            format!("{:.2}", point.p50_ms),
            format!("{:.2}", point.p95_ms),
            over.map_or("-".to_owned(), |over| format!("{over:.2}")),
            wanted,
        ]
    };
    sides.iter().flat_map(|side| side.points.iter().map(|point| row(side, point))).collect()
}

fn drawn(network: &Network, sides: &[Side]) -> String {
    let chart = |title: &str, unit: &str, value: fn(&Point) -> f64| Chart {
        title: format!("{}: {title}", network.title),
        axes: ["clients".to_owned(), unit.to_owned()],
        is_logarithmic: false,
        lines: sides
            .iter()
            .map(|side| {
                let points = side.points.iter().map(|point| (point.clients as f64, value(point)));
                (side.name.to_owned(), points.collect())
            })
            .collect(),
    };
    stacked(&[
        chart("95th percentile of latency", "ms", |point| point.p95_ms),
        chart("requests a second", "1/s", |point| point.per_second),
    ])
}
