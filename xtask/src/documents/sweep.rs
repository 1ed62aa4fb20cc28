//! The same configurations with few and with many clients, as the post draws them.

use std::fs;

use super::Context;
use super::blog::{self, Blog};
use super::clients::{Kind, Load, run};
use crate::chart::Chart;
use crate::paths;
use crate::results::Table;

const CLIENTS: [usize; 10] = [1, 2, 5, 10, 20, 30, 50, 100, 150, 200];
const QUICK: [usize; 4] = [1, 10, 30, 200];

/// The most clients of the chart of p95.
const FEW: usize = 30;

/// The table, and the charts beside it.
pub fn table(context: &Context) -> Result<Table, String> {
    let blog = Blog::start(context)?;
    let mlserver = blog::mlserver(context);
    let mut sides = vec![
        ("first phase only", Kind::InPlace(blog::ranked("nearest"))),
        ("ranked in place", Kind::InPlace(blog::ranked("recommend"))),
        ("vectors returned only", Kind::Vectors("hex-value")),
        ("merging process, at once", Kind::Merging("hex-value", false)),
        ("merging process, one by one", Kind::Merging("hex-value", true)),
    ];
    if let Ok(server) = &mlserver {
        sides.push(("MLServer, at once", Kind::Served("hex-value", false, server)));
        sides.push(("MLServer, one by one", Kind::Served("hex-value", true, server)));
    }
    let (counts, seconds) = if context.quick { (&QUICK[..], 1.0) } else { (&CLIENTS[..], 2.0) };
    let mut all: Vec<(&str, Vec<Load>)> = Vec::new();
    for (name, kind) in &sides {
        println!("{name}");
        // One that cannot be measured must not take the others with it.
        if let Ok(loads) = run(context, &blog, kind, counts, seconds) {
            all.push((*name, loads));
        }
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
            lines: all.iter().map(line).collect(),
        };
        let path = paths::root().join(format!("bench/documents-{file}.svg"));
        fs::write(&path, chart.svg()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let row = |(name, loads): &(&str, Vec<Load>)| {
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
            "The configurations of `experiment`, {seconds} s for each number of clients; vectors in hex. \"vectors returned only\" is the line of \
             transmission alone. Drawn in [p95](documents-p95.svg) up to {FEW} clients, [QPS](documents-qps.svg) and \
             [mean latency](documents-latency.svg)."
        ),
        header: vec!["what", "clients", "QPS", "mean ms", "p95 ms"],
        rows: all.iter().flat_map(row).collect(),
    })
}
