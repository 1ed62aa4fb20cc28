//! A thousand requests at the same moment.

use serde_json::Value;

use super::networks::{DISTIL, SMALL, queries};
use super::{Context, load};
use crate::results::{Table, line, middle};

/// Requests at once.
const REQUESTS: [usize; 2] = [1000, 200];

/// What a client waits for an answer.
const DEADLINE: &str = "1s";

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let network = if context.quick { SMALL } else { DISTIL };
    let requests = REQUESTS[usize::from(context.quick)];
    let rounds = if context.quick { 1 } else { 5 };
    let stead = context.serve(&network.package(context)?, &[])?;
    let runtime = network.onnx_runtime(context, 0);
    let kserve = |model| network.kserve(context, model);
    let mut sides = vec![
        ("stead, elastic, KServe", &stead.rest, kserve("elastic")?),
        ("stead, one thread, KServe", &stead.rest, kserve("single")?),
        ("stead, elastic, /model-evaluation", &stead.rest, network.evaluation(context, "elastic")?),
    ];
    let mut missing = String::new();
    match &runtime {
        Ok(server) => {
            sides.push(("ONNX Runtime, its default threads", &server.rest, kserve("onnxruntime")?));
        }
        Err(reason) => missing = format!(" Not measured: {}.", line(reason)),
    }
    let mut bursts: Vec<Vec<Value>> = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for ((name, target, file), bursts) in sides.iter().zip(&mut bursts) {
            let what = queries(file);
            // Plans are made, and the cores awake.
            load::closed(context, target, &what, 4, "0.5")?;
            let burst = load::burst(context, target, &what, requests, DEADLINE)?;
            println!("{name}: {burst}");
            bursts.push(burst);
        }
    }
    let row = |((name, ..), bursts): (&(&str, &String, _), &Vec<Value>)| {
        let of = |key: &str| {
            middle(bursts.iter().filter_map(|burst| burst[key].as_f64()).collect())
                .unwrap_or(f64::NAN)
        };
        let first = bursts.iter().find_map(|burst| burst["first_error"].as_str());
        vec![
            (*name).to_owned(),
            format!("{:.1}", of("min_ms")),
            format!("{:.0}", of("p50_ms")),
            format!("{:.0}", of("max_ms")),
            format!("{:.0}", of("good")),
            format!("{:.1} %", of("within_deadline") * 100.0),
            first.map_or("-".to_owned(), line),
        ]
    };
    let rows = sides.iter().zip(&bursts).map(row).collect();
    Ok(Table {
        title: format!("{requests} requests at once"),
        note: format!(
            "{}, as in `serving`: {requests} requests at the same moment, each on a connection that is open already (`stead bench --target ... --burst {requests} --deadline {DEADLINE}`), \
             medians of {rounds} bursts of each side in turn. Latencies are those of good answers; goodput is the part of all requests that was answered well within {DEADLINE}.{missing}",
            network.title
        ),
        header: vec![
            "what",
            "first ms",
            "median ms",
            "last ms",
            "answered",
            "within the deadline",
            "first refusal",
        ],
        rows,
    })
}
