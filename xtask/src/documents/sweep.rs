//! The same configurations with few and with many clients, as the post draws them.

use std::fs;

use super::Context;
use super::blog::{self, Kind, Readers};
use super::clients::{Load, Time, run};
use super::store::Store;
use crate::chart::{Chart, stacked};
use crate::paths;
use crate::results::{Table, line};

const CLIENTS: [usize; 10] = [1, 2, 5, 10, 20, 30, 50, 100, 150, 200];
const QUICK: [usize; 4] = [1, 10, 30, 200];

/// The most clients of the chart of p95.
const FEW: usize = 30;

/// The table, and the charts beside it.
pub fn table(context: &Context) -> Result<Table, String> {
    let store = Store::start(context, "blog", None)?;
    blog::feed(context, &store)?;
    let readers = Readers::new()?;
    let mlserver = blog::mlserver(context);
    let mut sides = vec![
        ("first phase only", Kind::InPlace("nearest")),
        ("ranked in place", Kind::InPlace("recommend")),
        ("vectors returned only", Kind::Vectors("hex-value")),
        ("merging process, at once", Kind::Merging("hex-value", false)),
        ("merging process, one by one", Kind::Merging("hex-value", true)),
    ];
    if let Ok(server) = &mlserver {
        let served = |single| Kind::Served("hex-value", single, server, "grpc");
        sides.push(("MLServer, at once", served(false)));
        sides.push(("MLServer, one by one", served(true)));
    }
    let (counts, seconds) = if context.quick { (&QUICK[..], 1.0) } else { (&CLIENTS[..], 2.0) };
    let mut all: Vec<(&str, Vec<Load>)> = Vec::new();
    let mut missing = Vec::new();
    for (name, kind) in &sides {
        println!("{name}");
        // One that cannot be measured must not take the others with it.
        let time = Time { seconds, warm_up: 100 };
        match run(context, &[&store], &readers.work(kind), counts, time) {
            Ok(loads) => all.push((*name, loads)),
            Err(reason) => missing.push(format!(" {name}: {}.", line(&reason))),
        }
    }
    if let Err(reason) = &mlserver {
        missing.push(format!(" MLServer: {}.", line(reason)));
    }
    type Pick = fn(&Load) -> f64;
    let charts: [(&str, &str, &str, usize, Pick); 3] = [
        ("p95", "95th percentile of latency", "ms", FEW, |load| load.p95_ms),
        ("qps", "queries a second", "QPS", usize::MAX, |load| load.qps),
        ("latency", "mean latency", "ms", usize::MAX, |load| load.mean_ms),
    ];
    for (file, title, unit, most, pick) in charts {
        let line = |(name, loads): &(&str, Vec<Load>)| {
            let few = loads.iter().filter(|load| load.clients <= most);
            ((*name).to_owned(), few.map(|load| (load.clients as f64, pick(load))).collect())
        };
        let chart = Chart {
            title: format!("Recommending posts of a blog: {title}"),
            axes: ["clients".to_owned(), unit.to_owned()],
            // The slowest takes a thousand times as long as the quickest.
            is_logarithmic: true,
            lines: all.iter().map(line).collect(),
        };
        let path = paths::root().join(format!("bench/documents-{file}.svg"));
        fs::write(&path, stacked(&[chart])).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let rows = |(name, loads): &(&str, Vec<Load>)| {
        loads
            .iter()
            .map(|load| {
                vec![
                    (*name).to_owned(),
                    load.clients.to_string(),
                    format!("{:.0}", load.qps),
                    format!("{:.2}", load.mean_ms),
                    format!("{:.2}", load.p95_ms),
                ]
            })
            .collect::<Vec<_>>()
    };
    Ok(Table {
        title: "1 to 200 clients".to_owned(),
        note: format!(
            "The configurations of `experiment`, {seconds} s for each number of clients; vectors in hex, MLServer by gRPC with bytes. \"vectors returned only\" is the line of \
             transmission alone. Drawn in [p95](documents-p95.svg) up to {FEW} clients, [QPS](documents-qps.svg) and \
             [mean latency](documents-latency.svg).{}",
            missing.concat()
        ),
        header: vec!["what", "clients", "QPS", "mean ms", "p95 ms"],
        rows: all.iter().flat_map(rows).collect(),
    })
}
