//! What some values come to.

use crate::Histogram;

/// Buckets for each doubling of a value: percentiles are right to a fifth.
const PARTS: f64 = 4.0;

/// The least value that is told from smaller ones, as a power of two.
const LEAST: i32 = -10;

/// Buckets: up to 2^22 they are told apart, which is more than an hour in milliseconds.
const BUCKETS: usize = 128;

/// What some values come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The least; infinite if there are none.
    pub min: f64,
    /// The greatest; 0 if there are none.
    pub max: f64,
    /// The last.
    pub last: f64,
    buckets: Vec<u32>,
}

impl Default for Summary {
    fn default() -> Summary {
        Summary { count: 0, sum: 0.0, min: f64::INFINITY, max: 0.0, last: 0.0, buckets: Vec::new() }
    }
}

impl Summary {
    /// One value.
    #[must_use]
    pub fn one(value: f64) -> Summary {
        let mut of = Summary::default();
        of.add(value);
        of
    }

    /// Adds a value, which is no less than 0.
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.last = value;
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        let at = ((value.log2() - f64::from(LEAST)) * PARTS).max(0.0) as usize;
        if let Some(bucket) = self.buckets.get_mut(at.min(BUCKETS - 1)) {
            *bucket = bucket.saturating_add(1);
        }
    }

    /// These values and later ones together.
    #[must_use]
    pub fn with(&self, later: &Summary) -> Summary {
        let mut buckets = self.buckets.clone();
        buckets.resize(self.buckets.len().max(later.buckets.len()), 0);
        for (bucket, more) in buckets.iter_mut().zip(&later.buckets) {
            *bucket = bucket.saturating_add(*more);
        }
        Summary {
            count: self.count + later.count,
            sum: self.sum + later.sum,
            min: self.min.min(later.min),
            max: self.max.max(later.max),
            last: if later.count > 0 { later.last } else { self.last },
            buckets,
        }
    }

    /// Their mean; 0 if there are none.
    #[must_use]
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The values, milliseconds, as a histogram of microseconds: a bucket for each doubling, from what is below 16 us to what is above a
    /// minute.
    #[must_use]
    pub fn microseconds(&self) -> Histogram {
        /// The first and last bounds in milliseconds as powers of two: 15.625 us and 65.536 s.
        const ENDS: [i32; 2] = [-6, 16];
        let bounds = (ENDS[0]..=ENDS[1]).map(|power| f64::from(power).exp2() * 1000.0);
        let mut histogram = Histogram {
            bounds: bounds.collect(),
            counts: vec![0; (ENDS[1] - ENDS[0]) as usize + 2],
            sum: self.sum * 1000.0,
        };
        let last = histogram.counts.len() - 1;
        for (at, count) in self.buckets.iter().enumerate() {
            // A bucket ends at a power of two or before it.
            let power = LEAST + at as i32 / PARTS as i32 + 1;
            let bucket = usize::try_from(power - ENDS[0]).unwrap_or(0).min(last);
            histogram.counts[bucket] += u64::from(*count);
        }
        histogram
    }

    /// The value that a part of all values does not exceed, to a fifth; 0 if there are none.
    #[must_use]
    pub fn percentile(&self, part: f64) -> f64 {
        let wanted = (self.count as f64 * part).ceil().max(1.0);
        let mut seen = 0.0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += f64::from(*count);
            // The last bucket has no end.
            if seen >= wanted && at + 1 < BUCKETS {
                let end = ((at + 1) as f64 / PARTS + f64::from(LEAST)).exp2();
                return end.clamp(self.min, self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn times_are_counted_by_doublings() {
        let mut times = Summary::default();
        let empty = times.microseconds();
        assert_eq!((empty.bounds.len(), empty.counts.iter().sum::<u64>()), (23, 0));
        assert_eq!((empty.bounds[0], empty.bounds[22]), (15.625, 65_536_000.0));
        for ms in [0.0, 0.001, 0.0155, 0.016, 0.9, 1.1, 1.9, 65_000.0, 70_000.0, 1e9] {
            times.add(ms);
        }
        let found = times.microseconds();
        let counted = |bound: f64| {
            let at = found.bounds.iter().position(|b| *b == bound).unwrap();
            found.counts[at]
        };
        let expected = [(15.625, 3), (31.25, 1), (1000.0, 1), (2000.0, 2), (65_536_000.0, 1)];
        for (bound, count) in expected {
            assert_eq!(counted(bound), count, "{bound}");
        }
        assert_eq!((found.counts[23], found.counts.iter().sum::<u64>()), (2, 10));
    }

    #[test]
    fn values_are_summed_up() {
        let (mut first, mut second) = (Summary::default(), Summary::default());
        assert_eq!((first.average(), first.percentile(0.99)), (0.0, 0.0));
        (1..=90).for_each(|n| first.add(f64::from(n)));
        (91..=100).for_each(|n| second.add(f64::from(n)));
        let all = first.with(&second);
        assert_eq!((all.count, all.sum, all.average()), (100, 5050.0, 50.5));
        assert_eq!((all.min, all.max, all.last), (1.0, 100.0, 100.0));
        for part in [0.05, 0.5, 0.95, 0.99, 1.0] {
            let (found, exact) = (all.percentile(part), part * 100.0);
            assert!(found >= exact && found <= exact * 1.2, "{part}: {found}");
        }
        assert_eq!(second.with(&Summary::default()), second);
    }

    #[test]
    fn values_of_any_size_are_counted() {
        let mut of = Summary::default();
        for value in [0.0, 1e-30, 1e300] {
            of.add(value);
        }
        assert_eq!((of.count, of.percentile(0.1) < 2e-3, of.percentile(1.0)), (3, true, 1e300));
    }
}
