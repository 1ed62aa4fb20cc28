//! Networks behind a server with few and many clients.

use std::fs;
use std::path::PathBuf;
use std::thread;

use super::Context;
use super::load::{self, Point};
use super::networks::{BERT, DISTIL, Network, SMALL, queries};
use crate::chart::{Chart, stacked};
use crate::paths;
use crate::results::{Table, goal, line, middle, of_processor};

const CLIENTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const QUICK: [usize; 3] = [1, 8, 64];

/// Times that each side has its turn with a number of clients.
const TURNS: usize = 3;

/// A goal of 1.0 is met from here on: turns of one load differ by as much.
const HOLDS: f64 = 0.97;

const ELASTIC: &str = "stead, elastic, KServe";
const SINGLE: &str = "stead, one thread, KServe";
const EVALUATION: &str = "stead, elastic, /model-evaluation";
const DEFAULT: &str = "ONNX Runtime, its default threads";
const LONE: &str = "ONNX Runtime, one thread";

/// One of those that are measured.
struct Side {
    name: &'static str,
    target: String,
    requests: PathBuf,
    loads: Vec<Load>,
}

/// What came of a number of clients, in each turn.
struct Load {
    clients: usize,
    turns: Vec<Point>,
}

impl Load {
    fn middle(&self, value: fn(&Point) -> f64) -> f64 {
        middle(self.turns.iter().map(value).collect()).unwrap_or(f64::NAN)
    }

    /// The median over turns of its value over that of another.
    fn over(&self, other: &Load, value: fn(&Point) -> f64) -> f64 {
        let ratios = self.turns.iter().zip(&other.turns).map(|(own, its)| value(own) / value(its));
        middle(ratios.collect()).unwrap_or(f64::NAN)
    }
}

const fn rate(point: &Point) -> f64 {
    point.per_second
}

const fn p50(point: &Point) -> f64 {
    point.p50_ms
}

const fn p95(point: &Point) -> f64 {
    point.p95_ms
}

/// The table, and the charts beside it.
pub fn table(context: &Context) -> Result<Table, String> {
    let networks = if context.quick { vec![SMALL] } else { vec![BERT, DISTIL] };
    let (mut rows, mut missing, mut charts) = (Vec::new(), String::new(), String::new());
    for network in networks {
        let sides = measured(context, &network, &mut missing)?;
        rows.extend(rows_of(&network, &sides));
        let file = format!("stateless-{}{}.svg", network.name, of_processor());
        let path = paths::root().join("bench").join(&file);
        if !context.quick {
            fs::write(&path, drawn(&network, &sides))
                .map_err(|e| format!("{}: {e}", path.display()))?;
            charts += &format!(" Drawn: [{}]({file}).", network.title);
        }
    }
    Ok(Table {
        title: "networks behind a server by clients".to_owned(),
        note: format!(
            "Weights by chance, one text of {} tokens a request in KServe's JSON or that of `/model-evaluation`, turn by turn for each number of clients, by `stead bench --target ... --clients` \
             on the same cores; medians of {TURNS} turns, ratios are the medians of the turns' ratios of requests a second. Elastic runs take the threads that are idle, fixed ones have one \
             (`intraop-threads`). ONNX Runtime stands behind hyper (`peers front`) with a session for each of two cores. Goals: with one client at most 0.62 of the latency on one thread, \
             from twice as many clients as cores on 0.97 of the throughput of one thread and 1.2 of that of ONNX Runtime's default threads; the better curve is to answer as many \
             requests as ONNX Runtime with either number of threads, 95 % of them as soon, within 3 %.{charts}{missing}",
            BERT.tokens
        ),
        header: vec![
            "network",
            "what",
            "clients",
            "requests/s",
            "p50 ms",
            "p95 ms",
            "over its default threads",
            "over its one thread",
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
    let runtimes =
        [(DEFAULT, network.onnx_runtime(context, 0)), (LONE, network.onnx_runtime(context, 1))];
    let side = |name, target: &str, requests| Side {
        name,
        target: target.to_owned(),
        requests,
        loads: Vec::new(),
    };
    let mut sides = vec![
        side(ELASTIC, &stead.rest, network.kserve(context, "elastic")?),
        side(SINGLE, &stead.rest, network.kserve(context, "single")?),
        side(EVALUATION, &stead.rest, network.evaluation(context, "elastic")?),
    ];
    for (name, runtime) in &runtimes {
        match runtime {
            Ok(server) => {
                sides.push(side(name, &server.rest, network.kserve(context, "onnxruntime")?));
            }
            // One that cannot be started must not take the others with it.
            Err(reason) => *missing += &format!(" Not measured: {}.", line(reason)),
        }
    }
    let clients = if context.quick { &QUICK[..] } else { &CLIENTS };
    for &clients in clients {
        for side in &mut sides {
            side.loads.push(Load { clients, turns: Vec::new() });
        }
        for _ in 0..TURNS {
            for side in &mut sides {
                side.turn(context, network, clients)?;
            }
        }
    }
    Ok(sides)
}

impl Side {
    fn turn(&mut self, context: &Context, network: &Network, clients: usize) -> Result<(), String> {
        let what = queries(&self.requests);
        let first = self.loads.first().filter(|first| !first.turns.is_empty());
        let one = match first {
            Some(one) => one.middle(p50) / 1e3,
            None => load::closed(context, &self.target, &what, 1, "0.5")?.p50_ms / 1e3,
        };
        // What all clients wait for must happen several times.
        let (least, most) = if context.quick { (0.5, 2.0) } else { (1.5, 6.0) };
        let seconds = (one * clients as f64 * 3.0).clamp(least, most);
        let point = load::closed(context, &self.target, &what, clients, &format!("{seconds:.1}"))?;
        println!(
            "{} {}: {clients} clients: {:.1}/s, p95 {:.1} ms",
            network.name, self.name, point.per_second, point.p95_ms
        );
        self.loads.last_mut().into_iter().for_each(|load| load.turns.push(point));
        Ok(())
    }

    fn at(&self, clients: usize) -> Option<&Load> {
        self.loads.iter().find(|load| load.clients == clients)
    }
}

fn rows_of(network: &Network, sides: &[Side]) -> Vec<Vec<String>> {
    let of = |name: &str, clients: usize| sides.iter().find(|side| side.name == name)?.at(clients);
    let over = |load: &Load, name: &str| {
        of(name, load.clients)
            .map_or("-".to_owned(), |other| format!("{:.2}", load.over(other, rate)))
    };
    let row = |side: &Side, load: &Load| {
        let wanted = if side.name == ELASTIC {
            goals(load, [SINGLE, DEFAULT, LONE].map(|name| of(name, load.clients))).join("; ")
        } else {
            "-".to_owned()
        };
        vec![
            network.title.to_owned(),
            side.name.to_owned(),
            load.clients.to_string(),
            format!("{:.1}", load.middle(rate)),
            format!("{:.2}", load.middle(p50)),
            format!("{:.2}", load.middle(p95)),
            over(load, DEFAULT),
            over(load, LONE),
            wanted,
        ]
    };
    sides.iter().flat_map(|side| side.loads.iter().map(|load| row(side, load))).collect()
}

/// What is wanted of elastic runs beside runs on one thread, ONNX Runtime's default threads and its one thread.
fn goals(load: &Load, [single, default, lone]: [Option<&Load>; 3]) -> Vec<String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut told = Vec::new();
    if let Some(single) = single.filter(|_| load.clients == 1) {
        let ratio = load.over(single, p50);
        told.push(format!("latency of one thread x 0.62 {} ({ratio:.2})", goal(ratio <= 0.62)));
    }
    if load.clients >= 2 * cores {
        let mut at_least = |other: Option<&Load>, least: f64, what: &str| {
            if let Some(ratio) = other.map(|other| load.over(other, rate)) {
                told.push(format!("{what} {} ({ratio:.2})", goal(ratio >= least)));
            }
        };
        at_least(single, HOLDS, "as one thread");
        at_least(default, 1.2, "default threads x 1.2");
    }
    let others: Vec<&Load> = default.into_iter().chain(lone).collect();
    if !others.is_empty() {
        let is_better =
            |other: &&Load| load.over(other, rate) >= HOLDS && load.over(other, p95) <= 1.0 / HOLDS;
        told.push(format!("the better curve {}", goal(others.iter().all(is_better))));
    }
    told
}

fn drawn(network: &Network, sides: &[Side]) -> String {
    let chart = |title: &str, unit: &str, value: fn(&Point) -> f64| Chart {
        title: format!("{}: {title}", network.title),
        axes: ["clients".to_owned(), unit.to_owned()],
        is_logarithmic: false,
        lines: sides
            .iter()
            .map(|side| {
                let points =
                    side.loads.iter().map(|load| (load.clients as f64, load.middle(value)));
                (side.name.to_owned(), points.collect())
            })
            .collect(),
    };
    stacked(&[
        chart("95th percentile of latency", "ms", p95),
        chart("requests a second", "1/s", rate),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(clients: usize, turns: [[f64; 3]; 3]) -> Load {
        let point = |[per_second, p50_ms, p95_ms]: [f64; 3]| Point {
            clients,
            per_second,
            p50_ms,
            p95_ms,
            p99_ms: p95_ms,
        };
        Load { clients, turns: turns.map(point).to_vec() }
    }

    #[test]
    fn ratios_are_those_of_turns() {
        let own = load(1, [[10.0, 1.0, 2.0], [20.0, 2.0, 4.0], [90.0, 3.0, 9.0]]);
        let its = load(1, [[10.0, 2.0, 2.0], [10.0, 4.0, 8.0], [30.0, 6.0, 6.0]]);
        assert_eq!(own.middle(rate), 20.0);
        assert_eq!(own.over(&its, rate), 2.0);
        assert_eq!(own.over(&its, p50), 0.5);
    }

    #[test]
    fn goals_depend_on_the_number_of_clients() {
        let own = load(1, [[10.0, 5.0, 6.0]; 3]);
        let single = load(1, [[5.0, 10.0, 11.0]; 3]);
        let default = load(1, [[9.0, 6.0, 5.0]; 3]);
        let told = goals(&own, [Some(&single), Some(&default), None]);
        assert_eq!(told, ["latency of one thread x 0.62 met (0.50)", "the better curve missed"]);
        let many = load(4096, [[10.0, 5.0, 6.0]; 3]);
        let told = goals(&many, [Some(&many), Some(&many), Some(&many)]);
        let wanted = [
            "as one thread met (1.00)",
            "default threads x 1.2 missed (1.00)",
            "the better curve met",
        ];
        assert_eq!(told, wanted);
    }
}
