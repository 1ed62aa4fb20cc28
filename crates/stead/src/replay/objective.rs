//! What is wanted of latencies.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::args::time;

/// So many of a hundred requests are to be answered well within a time: `p95=50ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// Above 0, up to 100.
    pub percent: f64,
    /// The time.
    pub limit: Duration,
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Objective, String> {
        let parsed = text.trim().split_once('=').and_then(|(percent, limit)| {
            let percent: f64 = percent.strip_prefix('p')?.parse().ok()?;
            let is_percent = percent > 0.0 && percent <= 100.0;
            Some(Objective { percent: is_percent.then_some(percent)?, limit: time(limit).ok()? })
        });
        parsed.ok_or_else(|| format!("`{text}`: expected pPERCENT=TIME, such as p95=50ms"))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}={:?}", self.percent, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_times() {
        let cases = [
            ("p95=50ms", Some((95.0, 50_000))),
            ("p99.9=1s", Some((99.9, 1_000_000))),
            ("p100=500us", Some((100.0, 500))),
            ("p0=1ms", None),
            ("p101=1ms", None),
            ("95=50ms", None),
            ("p95", None),
            ("p95=50", None),
            ("p95=0ms", None),
            ("pNaN=1ms", None),
        ];
        for (text, expected) in cases {
            let objective = text.parse::<Objective>().ok();
            let found = objective.map(|o| (o.percent, o.limit.as_micros()));
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!("p99.9=1s".parse::<Objective>().unwrap().to_string(), "p99.9=1s");
    }
}
