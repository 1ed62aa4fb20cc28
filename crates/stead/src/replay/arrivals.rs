//! When the requests of an open loop are due, and a clock that tells it.

use std::time::{Duration, Instant};

use stead_log::SeededRng;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The times of a Poisson process of some rate, from 0 on: arrivals of many clients that know nothing of each other.
///
/// They are fixed by the seed before the first request is sent: a server that answers late does not slow them down.
#[derive(Debug)]
pub struct Arrivals {
    rate: f64,
    rng: SeededRng,
    now: f64,
}

impl Arrivals {
    /// `rate` a second.
    pub fn new(rate: f64, seed: u64) -> Arrivals {
        Arrivals { rate, rng: SeededRng::new(seed), now: 0.0 }
    }

    /// Those before a time.
    pub fn before(self, end: Duration) -> Vec<Duration> {
        self.take_while(|due| *due < end).collect()
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        // The upper 53 bits, as a number above 0 and up to 1: its logarithm is the gap.
        let uniform = ((self.rng.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        self.now -= uniform.ln() / self.rate;
        Duration::try_from_secs_f64(self.now).ok()
    }
}

/// Tells the numbers of requests when they are due, by a thread of its own: timers of an event loop are a millisecond coarse.
pub fn paced(start: Instant, due: Vec<Duration>) -> UnboundedReceiver<(usize, Duration)> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for (number, due) in due.into_iter().enumerate() {
            std::thread::sleep((start + due).saturating_duration_since(Instant::now()));
            if sender.send((number, due)).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_the_rate_and_gaps_of_a_poisson_process() {
        for (rate, seed) in [(10.0, 0), (1000.0, 1), (40_000.0, 2)] {
            let times: Vec<f64> =
                Arrivals::new(rate, seed).take(20_000).map(|due| due.as_secs_f64()).collect();
            assert!(times.is_sorted(), "{rate}");
            let found = times.len() as f64 / times[times.len() - 1];
            assert!((found / rate - 1.0).abs() < 0.03, "{rate}: {found}");
            // Of exponential gaps a part of 1/e is longer than the mean, and the deviation is the mean.
            let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) * rate).collect();
            let longer = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
            let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
            assert!((longer - (-1f64).exp()).abs() < 0.02, "{rate}: {longer}");
            assert!((square - 2.0).abs() < 0.15, "{rate}: {square}");
        }
    }

    #[test]
    fn seeds_repeat_and_ends_are_kept() {
        let end = Duration::from_secs(2);
        let times = |seed| Arrivals::new(100.0, seed).before(end);
        assert_eq!(times(3), times(3));
        assert_ne!(times(3), times(4));
        assert!(times(3).iter().all(|due| *due < end));
    }

    #[tokio::test]
    async fn nothing_is_told_before_it_is_due() {
        let due: Vec<Duration> = [0, 3, 3, 7].map(Duration::from_millis).to_vec();
        let start = Instant::now();
        let mut told = paced(start, due.clone());
        let mut seen = Vec::new();
        while let Some((number, of)) = told.recv().await {
            assert!(start.elapsed() >= of && due[number] == of, "{number}");
            seen.push(number);
        }
        assert_eq!(seen, [0, 1, 2, 3]);
    }
}
