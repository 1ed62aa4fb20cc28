//! Counting values in buckets.

use crate::Histogram;
use std::sync::LazyLock;
use std::time::Duration;

/// Upper bounds of times in microseconds: those of OpenVINO Model Server's histograms, floor(10 * 1.8^i).
static TIME_BOUNDS: LazyLock<[f64; 33]> =
    LazyLock::new(|| std::array::from_fn(|i| (10.0 * 1.8f64.powi(i as i32)).floor()));

/// Upper bounds of numbers of rows and requests: powers of two up to 1024.
const SIZE_BOUNDS: usize = 11;

/// Values counted in `N` buckets, the last without an upper bound. The bounds stand once for all: a request adds to
/// half a dozen of these when its model has just driven everything else out of the caches.
pub(crate) struct Buckets<const N: usize> {
    counts: [u64; N],
    sum: f64,
}

/// Times.
pub(crate) type Times = Buckets<34>;
/// Sizes of batches.
pub(crate) type Sizes = Buckets<{ SIZE_BOUNDS + 1 }>;

impl<const N: usize> Default for Buckets<N> {
    fn default() -> Self {
        Buckets { counts: [0; N], sum: 0.0 }
    }
}

impl<const N: usize> Buckets<N> {
    fn add(&mut self, bucket: usize, value: f64) {
        if let Some(count) = self.counts.get_mut(bucket.min(N - 1)) {
            *count += 1;
        }
        self.sum += value;
    }

    fn with(&self, bounds: Vec<f64>) -> Histogram {
        Histogram { bounds, counts: self.counts.to_vec(), sum: self.sum }
    }
}

impl Times {
    pub(crate) fn observe(&mut self, time: Duration) {
        let micros = time.as_secs_f64() * 1e6;
        self.add(TIME_BOUNDS.partition_point(|bound| *bound < micros), micros);
    }

    /// As metrics show it.
    pub(crate) fn histogram(&self) -> Histogram {
        self.with(TIME_BOUNDS.to_vec())
    }
}

impl Sizes {
    pub(crate) fn observe(&mut self, size: u64) {
        let bucket = size.max(1).checked_next_power_of_two().map_or(u32::MAX, u64::trailing_zeros);
        self.add(bucket as usize, size as f64);
    }

    /// As metrics show it.
    pub(crate) fn histogram(&self) -> Histogram {
        self.with((0..SIZE_BOUNDS).map(|i| f64::from(1u32 << i)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds belong to the bucket below them.
    fn counted(histogram: &Histogram) -> Vec<(f64, u64)> {
        let bounds = histogram.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(histogram.counts.iter().copied()).filter(|(_, n)| *n > 0).collect()
    }

    #[test]
    fn times_have_the_buckets_of_ovms() {
        let mut times = Times::default();
        for nanos in [0, 10_000, 10_100, 18_000, 1_000_000_000_000_000] {
            times.observe(Duration::from_nanos(nanos));
        }
        let histogram = times.histogram();
        assert_eq!(histogram.bounds[..6], [10.0, 18.0, 32.0, 58.0, 104.0, 188.0]);
        assert_eq!(counted(&histogram), [(10.0, 2), (18.0, 2), (f64::INFINITY, 1)]);
        assert!((histogram.sum - 1_000_000_000_038.1).abs() < 1e-3);
    }

    #[test]
    fn sizes_have_powers_of_two() {
        let mut sizes = Sizes::default();
        [0, 1, 2, 3, 4, 5, 1024, 1025, u64::MAX].into_iter().for_each(|n| sizes.observe(n));
        let expected = [(1.0, 2), (2.0, 1), (4.0, 2), (8.0, 1), (1024.0, 1), (f64::INFINITY, 2)];
        assert_eq!(counted(&sizes.histogram()), expected);
    }
}
