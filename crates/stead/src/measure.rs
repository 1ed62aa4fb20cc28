//! Numbers about runs: percentiles and memory.

use std::time::Duration;

/// Times of many runs, sorted.
pub struct Times(Vec<Duration>);

impl Times {
    /// Sorts the times of the runs.
    pub fn new(mut times: Vec<Duration>) -> Times {
        times.sort_unstable();
        Times(times)
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The time that `percent` of the runs did not exceed (nearest rank), in milliseconds.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.0.len() as f64).ceil() as usize;
        let at = rank.clamp(1, self.0.len().max(1)) - 1;
        self.0.get(at).map_or(f64::NAN, |t| t.as_secs_f64() * 1e3)
    }

    /// How many runs took at most this time.
    pub fn count_within(&self, limit: Duration) -> usize {
        self.0.partition_point(|time| *time <= limit)
    }

    /// The shortest time in milliseconds.
    pub fn min_ms(&self) -> f64 {
        self.percentile_ms(0.0)
    }
}

/// The most memory that this process ever had resident, in bytes; `None` where the system does not tell.
pub fn peak_rss_bytes() -> Option<u64> {
    status_kib("VmHWM:").map(|kib| kib * 1024)
}

/// A field of `/proc/self/status`.
fn status_kib(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Bytes for people: `1.4 MB`.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: &[&str] = &["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let times = Times::new((1..=100).rev().map(Duration::from_millis).collect());
        let cases = [(0.0, 1.0), (50.0, 50.0), (95.0, 95.0), (99.0, 99.0), (100.0, 100.0)];
        for (percent, expected) in cases {
            assert_eq!(times.percentile_ms(percent), expected, "p{percent}");
        }
        assert_eq!(Times::new(vec![Duration::from_millis(3)]).percentile_ms(99.0), 3.0);
        assert!(Times::new(vec![]).percentile_ms(50.0).is_nan());
    }

    #[test]
    fn bytes_for_people() {
        let cases = [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (90_307_999, "90.3 MB")];
        for (bytes, expected) in cases {
            assert_eq!(human_bytes(bytes), expected);
        }
    }
}
