//! Whether a query that is sent on receipt of an acknowledgement sees the document: clients that put a document and search for it, one
//! after the other, beside whatever else the server does.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use crate::Result;
use crate::load::{Call, Client};
use crate::payload::post_json;
use crate::turns::quantile_us;

/// Puts and searches at `address` by so many clients, each on two connections, and prints a line of JSON. The documents are of the type
/// `post` of `feed_speed`, with numbers from `first` on that no other document has.
pub fn run(address: SocketAddr, clients: usize, seconds: f64, first: i64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut puts, mut misses) = (Vec::new(), 0);
    runtime.block_on(async {
        let tasks: Vec<_> = (0..clients as i64)
            .map(|client| {
                let numbers = (first + client..).step_by(clients);
                tokio::spawn(async move {
                    one(address, numbers, until).await.map_err(|e| e.to_string())
                })
            })
            .collect();
        for task in tasks {
            let (times, missed) = task.await??;
            puts.extend(times);
            misses += missed;
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    let count = puts.len();
    let (p50, p99) = (quantile_us(&mut puts, 0.5) / 1e3, quantile_us(&mut puts, 0.99) / 1e3);
    println!("{}", json!({"puts": count, "misses": misses, "p50_ms": p50, "p99_ms": p99}));
    Ok(())
}

/// The times of the puts of one client in nanoseconds, and how many the search behind them did not find.
async fn one(
    address: SocketAddr,
    numbers: impl Iterator<Item = i64>,
    until: Instant,
) -> Result<(Vec<u64>, usize)> {
    let call = Call::Http(Bytes::new());
    // The search comes over a connection of its own: nothing but the acknowledgement orders it behind the put.
    let mut put = Client::connect(address, &call).await?;
    let mut search = Client::connect(address, &call).await?;
    let (mut times, mut misses) = (Vec::new(), 0);
    for number in numbers {
        if Instant::now() >= until {
            break;
        }
        let fields = json!({"number": number, "price": 0.5, "name": "visible", "text": "a text",
            "vector": {"values": vec![0.25; 128]}});
        put.set_request(post_json(
            &format!("/document/v1/n/post/docid/visible-{number}"),
            &json!({"fields": fields}).to_string(),
        ));
        let sent = Instant::now();
        put.once().await?;
        times.push(sent.elapsed().as_nanos() as u64);
        let yql = format!("select number from post where number = {number}");
        search.set_request(post_json(
            "/search/",
            &json!({"yql": yql, "ranking": "unranked"}).to_string(),
        ));
        let answer: serde_json::Value = serde_json::from_slice(&search.once().await?)?;
        let found = &answer["root"]["children"][0]["fields"]["number"];
        misses += usize::from(found.as_i64() != Some(number));
    }
    Ok((times, misses))
}
