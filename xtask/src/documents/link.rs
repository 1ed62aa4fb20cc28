//! The experiment once more with three stores, each on a machine of its own behind a link of 1 Gbit/s.

use super::Context;
use super::blog::{self, Kind, Readers};
use super::clients::{self, Time};
use super::network::{Network, RATE};
use super::store::Store;
use crate::results::Table;

const STORES: usize = 3;
const CLIENTS: usize = 64;

/// The table.
///
/// # Errors
/// Where namespaces are not permitted, too.
pub fn table(context: &Context) -> Result<Table, String> {
    let network = Network::new(STORES)
        .map_err(|e| format!("no network namespaces joined by shaped links here: {e}"))?;
    let mut stores = Vec::new();
    for (at, namespace) in network.namespaces.iter().enumerate() {
        let store = Store::start(context, &format!("blog-{at}"), Some(namespace.clone()))?;
        blog::feed(context, &store)?;
        stores.push(store);
    }
    let readers = Readers::new()?;
    let sides = [
        ("first phase only", "-", readers.work(&Kind::InPlace("nearest"))),
        ("ranked in place", "3,500", readers.work(&Kind::InPlace("recommend"))),
        (
            "3 x 200 vectors returned in hex, nothing done with them",
            "-",
            readers.work(&Kind::Vectors("hex-value")),
        ),
        (
            "... ranked where they merge, all at once",
            "350",
            readers.work(&Kind::Merging("hex-value", false)),
        ),
        (
            "3 x 200 vectors in JSON, ranked where they merge",
            "-",
            readers.work(&Kind::Merging("short-value", false)),
        ),
    ];
    let (rounds, seconds) = if context.quick { (1, 2.0) } else { (3, 4.0) };
    let all: Vec<&Store> = stores.iter().collect();
    let measured: Vec<_> = sides.iter().map(|(name, _, work)| (*name, &all[..], work)).collect();
    let time = Time { seconds, warm_up: 100 };
    let loads = clients::rounds(context, &measured, CLIENTS, time, rounds);
    let [_, ranked, ..] = &loads[..] else { return Err("no loads".to_owned()) };
    let row = |((name, post, _), of_side): (&(&str, &str, _), &Vec<_>)| {
        let (Some(load), Some(over)) = (clients::median(of_side), clients::times(ranked, of_side))
        else {
            let mut row = vec![(*name).to_owned(), "not measured: no answers".to_owned()];
            row.resize(8, "-".to_owned());
            return row;
        };
        vec![
            (*name).to_owned(),
            format!("{:.0}", load.qps),
            format!("{:.1}", load.mean_ms),
            format!("{:.1}", load.p95_ms),
            format!("{:.1}", load.bytes / 1e3),
            format!("{:.0}", load.qps * load.bytes * 8.0 / 1e6),
            format!("{over:.2}"),
            (*post).to_owned(),
        ]
    };
    Ok(Table {
        title: format!("{STORES} stores behind links of 1 Gbit/s, {CLIENTS} clients"),
        note: format!(
            "{STORES} processes `stead serve`, each in a network namespace with the 1,000 posts of `experiment`, joined with the clients \
             by a bridge; every link sends {RATE} (`tc tbf`) in each direction. A client asks all stores and waits for all \
             answers; in place each store ranks its best 200 and returns 10 hits, else the 3 x 200 vectors go to the clients' process, \
             where ONNX Runtime ranks them as in `experiment`. All processes share two cores, which the post's nodes did not: \
             its last column has machines of their own. {rounds} turns of {seconds} s, medians."
        ),
        header: vec![
            "what",
            "QPS",
            "mean ms",
            "p95 ms",
            "answers kB",
            "Mbit/s to the clients",
            "in place over it",
            "the post's QPS",
        ],
        rows: sides.iter().zip(&loads).map(row).collect(),
    })
}
