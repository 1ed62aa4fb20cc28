//! How long operations took, in counts that do not grow with their number.

use std::time::Duration;

/// Times by powers of two, each in so many parts: a quantile is off by at most a thirty-second.
const PARTS: u64 = 32;

/// Times up to 2^40 us, twelve days.
const BUCKETS: usize = (PARTS as usize) * 37;

/// Counts of times.
pub struct Latency {
    min: Option<Duration>,
    max: Duration,
    sum: Duration,
    count: u64,
    buckets: Vec<u64>,
}

impl Default for Latency {
    fn default() -> Latency {
        let (min, max, sum) = (None, Duration::ZERO, Duration::ZERO);
        Latency { min, max, sum, count: 0, buckets: vec![0; BUCKETS] }
    }
}

impl Latency {
    pub fn add(&mut self, time: Duration) {
        self.min = Some(self.min.unwrap_or(time).min(time));
        self.max = self.max.max(time);
        self.sum += time;
        self.count += 1;
        let at = bucket(time.as_micros() as u64).min(BUCKETS - 1);
        if let Some(count) = self.buckets.get_mut(at) {
            *count += 1;
        }
    }

    pub fn min(&self) -> Duration {
        self.min.unwrap_or_default()
    }

    pub fn max(&self) -> Duration {
        self.max
    }

    pub fn mean(&self) -> Duration {
        self.sum.checked_div(u32::try_from(self.count).unwrap_or(u32::MAX)).unwrap_or_default()
    }

    /// The milliseconds that a fraction of the times did not exceed, rounded up to the next bound between buckets; 0 without times.
    pub fn quantile_ms(&self, fraction: f64) -> f64 {
        let rank = ((self.count as f64 * fraction).ceil() as u64).max(1);
        let mut seen = 0;
        let at = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let bound = at.map_or(0, |at| end(at as u64));
        // No time is above the longest.
        Duration::from_micros(bound).min(self.max).as_micros() as f64 / 1e3
    }
}

/// The bucket of a time in microseconds.
fn bucket(us: u64) -> usize {
    let power = us.max(1).ilog2().saturating_sub(PARTS.ilog2()) as u64;
    (power * PARTS + (us >> power)) as usize
}

/// The longest time of a bucket in microseconds.
fn end(bucket: u64) -> u64 {
    let power = (bucket / PARTS).saturating_sub(1);
    ((bucket - power * PARTS + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_within_its_bucket() {
        let near = |power: u32| [(1 << power) - 1, 1 << power, (1 << power) + 1, 3 << (power - 1)];
        for us in (0..100).chain((1..39).flat_map(near)) {
            let at = bucket(us);
            assert!(at < BUCKETS, "{us}");
            assert!(end(at as u64) >= us, "{us}");
            assert!(at == 0 || end(at as u64 - 1) < us, "{us}");
            assert!(end(at as u64) - us <= us / PARTS, "{us}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_times() {
        let mut latency = Latency::default();
        assert_eq!((latency.quantile_ms(0.5), latency.mean()), (0.0, Duration::ZERO));
        (1..=100).for_each(|at| latency.add(Duration::from_millis(at)));
        for (fraction, expected) in [(0.0, 1.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            let found = latency.quantile_ms(fraction);
            let is_near = found >= expected && found <= expected * (1.0 + 1.0 / PARTS as f64);
            assert!(is_near, "{fraction}: {found}");
        }
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        assert_eq!(millis(latency.mean()), 50.5);
        assert_eq!((millis(latency.min()), millis(latency.max())), (1.0, 100.0));
    }
}
