//! stead's index of words beside tantivy's: what both find, and how soon.

mod own;
mod peer;
mod queries;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::median::median;
use own::Own;
use peer::Peer;

/// How many documents a query asks for.
const WANTED: usize = 10;

/// The most terms of a query.
const MOST_TERMS: usize = 5;

/// Queries of each number of terms.
const QUERIES: usize = 100;

/// The ranks, counted from 0, of words that are asked for: all as texts have them, and without those that people leave out.
const RANKS: [(&str, (f64, f64)); 2] =
    [("of any rank", (1.0, 50_000.0)), ("from rank 20 on", (20.0, 50_000.0))];

/// Scores of tantivy are sums of `f32`.
const NEAR: f64 = 1e-4;

/// A document and its score.
type Scored = (u32, f64);

/// Feeds and asks both.
pub fn measured(texts: &[String], rounds: usize, sweeps: usize) -> Result<Value> {
    let (mut feeds, mut peer_feeds, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let rate = |time: Duration| texts.len() as f64 / time.as_secs_f64();
    let mut last = None;
    for round in 0..rounds.max(1) {
        // One goes before the next comes.
        drop(last.take());
        let (own, peer);
        match round % 2 {
            0 => {
                own = Own::fed(texts);
                peer = Peer::fed(texts)?;
            }
            _ => {
                peer = Peer::fed(texts)?;
                own = Own::fed(texts);
            }
        }
        let ((own, time), (peer, peer_time)) = (own, peer);
        feeds.push(rate(time));
        peer_feeds.push(rate(peer_time));
        ratios.push(rate(time) / rate(peer_time));
        last = Some((own, peer));
    }
    let (own, peer) = last.ok_or("nothing was fed")?;
    if own.words() != peer.words()? {
        return Err(format!("{} words, tantivy {}", own.words(), peer.words()?).into());
    }
    let ranked = queries::ranked(texts);
    let mut rows = Vec::new();
    for (name, ranks) in RANKS {
        for terms in 1..=MOST_TERMS {
            let queries = queries::of(&ranked, ranks, terms, QUERIES);
            let mut row = compared(&own, &peer, &queries, sweeps)?;
            row["terms"] = terms.into();
            row["ranks"] = name.into();
            rows.push(row);
        }
    }
    Ok(json!({"documents": texts.len(), "words": own.words(), "different": ranked.len(),
        "segments": own.segments(), "peer_segments": peer.segments(),
        "memory": own.memory(), "peer_memory": peer.memory()?,
        "feed": median(&mut feeds), "peer_feed": median(&mut peer_feeds), "feed_ratio": median(&mut ratios),
        "rows": rows}))
}

/// Both sides answer all queries in turn; what they find is compared first.
fn compared(own: &Own, peer: &Peer, queries: &[Vec<String>], sweeps: usize) -> Result<Value> {
    let mut equal = 0;
    for query in queries {
        equal += usize::from(are_equal(&own.top(query, WANTED), &peer.scored(query, WANTED)?));
    }
    let (mut times, mut peer_times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for sweep in 0..sweeps {
        let mut of = [0.0; 2];
        // Each begins as often as the other.
        for side in [sweep % 2, 1 - sweep % 2] {
            let started = Instant::now();
            for query in queries {
                match side {
                    0 => drop(std::hint::black_box(own.top(query, WANTED))),
                    _ => drop(std::hint::black_box(peer.top(query, WANTED)?)),
                }
            }
            of[side] = started.elapsed().as_secs_f64() / queries.len() as f64;
        }
        times.push(of[0]);
        peer_times.push(of[1]);
        ratios.push(of[1] / of[0]);
    }
    Ok(json!({"equal": equal, "queries": queries.len(), "per_second": 1.0 / median(&mut times),
        "peer_per_second": 1.0 / median(&mut peer_times), "ratio": median(&mut ratios)}))
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= NEAR * a.abs().max(b.abs())
}

/// Whether both have the same scores, the best first, of the same documents: those apart whose score is that of the last, since which of these
/// are left out nobody has said.
fn are_equal(ours: &[Scored], theirs: &[Scored]) -> bool {
    let Some((_, last)) = ours.last() else { return theirs.is_empty() };
    let is_there = |(document, score): &Scored| {
        theirs.iter().any(|(other, its)| document == other && is_near(*score, *its))
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| is_near(a.1, b.1))
        && ours.iter().all(|scored| is_near(scored.1, *last) || is_there(scored))
}
