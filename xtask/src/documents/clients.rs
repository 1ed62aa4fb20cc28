//! Runs of `peers documents`: clients in a closed loop.

use std::fs;

use serde_json::{Value, json};

use super::Context;
use super::store::Store;
use crate::results::middle;
use crate::{bench, process};

/// What clients do.
pub struct Work {
    /// Bodies of searches, which clients send in turn to all stores.
    pub searches: Vec<String>,
    /// The vector or the tokens of each search.
    pub users: Vec<Value>,
    /// What is done with the answers, as `peers documents` reads it; null if they are ranked already.
    pub rank: Value,
}

/// How long it is done for.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    pub seconds: f64,
    /// Queries of all clients together before, for half a second at most.
    pub warm_up: usize,
}

/// What came of it for a number of clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    pub clients: usize,
    pub qps: f64,
    pub mean_ms: f64,
    pub p95_ms: f64,
    /// Of the stores alone, for a query.
    pub cpu_ms: f64,
    /// Of answers of the stores.
    pub bytes: f64,
}

/// Measures with some numbers of clients, one after the other.
///
/// # Errors
/// When an answer is not as it should be.
pub fn run(
    context: &Context,
    stores: &[&Store],
    work: &Work,
    clients: &[usize],
    time: Time,
) -> Result<Vec<Load>, String> {
    let addresses: Vec<String> = stores.iter().map(|store| store.address()).collect();
    let pids: Vec<u32> = stores.iter().map(|store| store.server.id()).collect();
    let spec = json!({
        "addresses": addresses, "pids": pids, "seconds": time.seconds, "warm_up": time.warm_up, "clients": clients,
        "searches": work.searches, "users": work.users, "rank": work.rank,
    });
    let file = context.folder.join("clients.json");
    fs::write(&file, spec.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut command = bench::peers_command(&context.peers)?;
    let told = process::capture(command.arg("documents").arg(&file), "peers documents")?;
    let loads: Option<Vec<Load>> = told.lines().map(read).collect();
    loads
        .filter(|loads| loads.len() == clients.len())
        .ok_or_else(|| "peers documents gave no numbers".to_owned())
}

/// The same work turn by turn, so that all sides meet the same weather: the loads of each side, one for each round.
/// One that cannot be measured is missing and does not take the others with it.
pub fn rounds(
    context: &Context,
    sides: &[(&str, &[&Store], &Work)],
    clients: usize,
    time: Time,
    rounds: usize,
) -> Vec<Vec<Option<Load>>> {
    let mut loads = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for ((name, stores, work), of_side) in sides.iter().zip(&mut loads) {
            let load = run(context, stores, work, &[clients], time);
            match &load {
                Ok(load) => println!("{name}: {:.0} QPS, {:.1} ms", load[0].qps, load[0].mean_ms),
                Err(reason) => println!("{name}: {reason}"),
            }
            of_side.push(load.ok().and_then(|load| load.first().copied()));
        }
    }
    loads
}

/// The load of the median round.
pub fn median(loads: &[Option<Load>]) -> Option<Load> {
    let mut loads: Vec<Load> = loads.iter().copied().flatten().collect();
    loads.sort_by(|a, b| a.qps.total_cmp(&b.qps));
    loads.get(loads.len() / 2).copied()
}

/// How many times as many queries the one had as the other: the median of what it was in each round.
pub fn times(one: &[Option<Load>], other: &[Option<Load>]) -> Option<f64> {
    let pairs = one.iter().zip(other);
    let ratio = |(one, other): (&Option<Load>, &Option<Load>)| Some((*one)?.qps / (*other)?.qps);
    middle(pairs.filter_map(ratio).collect())
}

fn read(line: &str) -> Option<Load> {
    let line: Value = serde_json::from_str(line).ok()?;
    let number = |key: &str| line[key].as_f64();
    Some(Load {
        clients: number("clients")? as usize,
        qps: number("qps")?,
        mean_ms: number("mean_ms")?,
        p95_ms: number("p95_ms")?,
        cpu_ms: number("cpu_ms")?,
        bytes: number("bytes")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Load, median, read, times};

    #[test]
    fn lines_are_read() {
        let line = r#"{"clients":64,"qps":100.5,"mean_ms":1,"p50_ms":1,"p95_ms":2.5,"cpu_ms":0.5,"bytes":10}"#;
        let (clients, qps, mean_ms, p95_ms, cpu_ms, bytes) = (64, 100.5, 1.0, 2.5, 0.5, 10.0);
        assert_eq!(read(line), Some(Load { clients, qps, mean_ms, p95_ms, cpu_ms, bytes }));
        assert_eq!(read("Error: broken"), None);
    }

    #[test]
    fn ratios_are_of_rounds() {
        let load = |qps| (qps > 0.0).then(|| Load { qps, ..Load::default() });
        let (one, other) = ([10.0, 40.0, 90.0].map(load), [10.0, 10.0, 30.0].map(load));
        assert_eq!(times(&one, &other), Some(3.0));
        assert_eq!(times(&one, &[0.0, 20.0, 0.0].map(load)), Some(2.0));
        assert_eq!(times(&one, &[]), None);
        assert_eq!(median(&one), load(40.0));
    }
}
