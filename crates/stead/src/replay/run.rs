//! Loads of one kind each: closed, open and at once.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::arrivals::{Arrivals, paced};
use super::report::{Load, Report, Window};
use super::sample::{Outcome, Sample};
use super::send::{Request, Sender};
use crate::failure::Failure;

/// Requests of an open loop that are under way at a time: one more waits, which is part of its latency.
pub const MOST_OPEN: usize = 4096;

/// A client whose connection broke waits before it opens another one: a server that is gone must not be flooded.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a load takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Requests of this time do not count.
    pub warm_up: Duration,
    /// Those of this time, which follows, do.
    pub measured: Duration,
}

impl Length {
    fn window(self) -> Window {
        Window { from: self.warm_up, to: self.warm_up + self.measured }
    }
}

/// So many clients, each of which sends its next request when the one before is answered; all take requests in turn.
pub async fn closed(
    sender: &Sender,
    requests: &[Request],
    clients: usize,
    length: Length,
) -> Report {
    let window = length.window();
    let (start, turn) = (Instant::now(), Cell::new(0));
    let client = |_| async {
        let mut samples = Vec::new();
        while start.elapsed() < window.to {
            let number = turn.replace(turn.get() + 1);
            let due = start.elapsed();
            let Some(sample) = one(sender, requests, number, start, due).await else { break };
            if sample.ending.outcome == Outcome::Broken {
                tokio::time::sleep(PAUSE).await;
            }
            samples.push(sample);
        }
        samples
    };
    let all: FuturesUnordered<_> = (0..clients).map(client).collect();
    let samples: Vec<Vec<Sample>> = all.collect().await;
    Report::new(Load::Clients(clients), window, samples.concat())
}

/// Requests at the times of a Poisson process of a rate, whatever the server does.
pub async fn open(
    sender: &Sender,
    requests: &[Request],
    rate: f64,
    seed: u64,
    length: Length,
) -> Report {
    let window = length.window();
    let start = Instant::now();
    let mut clock = paced(start, Arrivals::new(rate, seed).before(window.to));
    let mut under_way = FuturesUnordered::new();
    let mut samples = Vec::new();
    let mut is_over = false;
    while !(is_over && under_way.is_empty()) {
        tokio::select! {
            due = clock.recv(), if !is_over && under_way.len() < MOST_OPEN => match due {
                Some((number, due)) => under_way.push(one(sender, requests, number, start, due)),
                None => is_over = true,
            },
            Some(sample) = under_way.next() => samples.extend(sample),
        }
    }
    Report::new(Load::Rate(rate), window, samples)
}

/// So many requests at the same moment, each on a connection of its own.
///
/// # Errors
/// When they cannot be opened.
pub async fn burst(sender: &Sender, requests: &[Request], count: usize) -> Result<Report, Failure> {
    sender.prepare(count).await?;
    let start = Instant::now();
    let all: FuturesUnordered<_> =
        (0..count).map(|number| one(sender, requests, number, start, Duration::ZERO)).collect();
    let samples: Vec<Option<Sample>> = all.collect().await;
    let samples: Vec<Sample> = samples.into_iter().flatten().collect();
    // To the last answer, which counts.
    let last = samples.iter().map(|sample| sample.done).max().unwrap_or_default();
    let window = Window { from: Duration::ZERO, to: last + Duration::from_nanos(1) };
    Ok(Report::new(Load::Burst(count), window, samples))
}

/// One request by its number; `None` when there are none.
async fn one(
    sender: &Sender,
    requests: &[Request],
    number: usize,
    start: Instant,
    due: Duration,
) -> Option<Sample> {
    let request = requests.get(number.checked_rem(requests.len())?)?;
    let sent = start.elapsed();
    let ending = sender.send(request).await;
    Some(Sample { due, sent, done: start.elapsed(), ending })
}
