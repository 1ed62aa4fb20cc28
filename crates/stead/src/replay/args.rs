//! The command line of a replay.

use std::path::PathBuf;
use std::time::Duration;

use hyper::http::{HeaderName, HeaderValue};

use super::objective::Objective;

/// Arguments for requests of a file that are sent again and again.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Requests to replay, in turn: lines of JSON with `method`, `path`, `headers` and `body`, parameters of searches,
    /// KServe or TensorFlow Serving bodies for --model, or a query file of vespa-fbench. Without it --model gets random inputs.
    #[arg(long, value_name = "FILE", requires = "target", group = "sent")]
    pub queries: Option<PathBuf>,
    /// A header of every HTTP request. Repeat it for each.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "target", value_parser = header)]
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Requests a second in an open loop, at seeded random times (Poisson); with --slo where the search begins.
    #[arg(long, value_name = "PER_SECOND", requires = "target", conflicts_with_all = ["clients", "burst"], value_parser = rate)]
    pub rate: Option<f64>,
    /// So many requests at the same moment, each on a connection of its own that is open already.
    #[arg(long, value_name = "N", requires = "target", conflicts_with_all = ["clients", "slo"],
        value_parser = clap::value_parser!(u32).range(1..=super::counts::MOST as i64))]
    pub burst: Option<u32>,
    /// The part of a burst's answers that came within this time is told.
    #[arg(long, value_name = "TIME", requires = "target", value_parser = time)]
    pub deadline: Option<Duration>,
    /// Find the highest rate at which so many of all requests are answered well in time: p95=50ms, or p50=5ms,p99=80ms.
    #[arg(long, value_name = "pPERCENT=TIME", requires = "target", value_delimiter = ',')]
    pub slo: Vec<Objective>,
    /// Tell how many such machines this many requests a second need.
    #[arg(long, value_name = "PER_SECOND", requires = "target", value_parser = rate)]
    pub target_rate: Option<f64>,
    /// The part of each machine, in percent, that --target-rate leaves free.
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0, requires = "target_rate", value_parser = part)]
    pub headroom: f64,
    /// Draw p95 and throughput over --clients.
    #[arg(long, value_name = "FILE.svg", requires = "target")]
    pub plot: Option<PathBuf>,
    /// Before each measurement: answers to requests of this time do not count.
    #[arg(long, value_name = "TIME", default_value = "500ms", requires = "target", value_parser = time)]
    pub warm_up: Duration,
    /// A request that is not answered within this time has failed.
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "target", value_parser = time)]
    pub timeout: Duration,
}

impl ReplayArgs {
    /// Whether any of them asks for a replay; without, `--target` is a load of sequences.
    pub fn is_wanted(&self) -> bool {
        let of_files = self.queries.is_some() || !self.headers.is_empty();
        of_files || self.rate.is_some() || self.burst.is_some() || !self.slo.is_empty()
    }

    /// What is missing beside what was given.
    pub fn missing(&self, has_clients: bool) -> Option<&'static str> {
        let needs = [
            (self.plot.is_some() && !has_clients, "--plot draws what --clients measure"),
            (self.deadline.is_some() && self.burst.is_none(), "--deadline goes with --burst"),
            (
                self.target_rate.is_some() && self.slo.is_empty(),
                "--target-rate wants to know --slo",
            ),
        ];
        needs.into_iter().find_map(|(is_missing, text)| is_missing.then_some(text))
    }
}

/// A time such as `32ms`, up to an hour.
pub fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let seconds = units.iter().find_map(|(unit, scale)| {
        Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * scale)
    });
    let duration = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let sane = |d: &Duration| !d.is_zero() && *d <= Duration::from_secs(3600);
    duration.filter(sane).ok_or_else(|| "expected a time up to an hour: 32ms, 500us, 1s".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate > 0.0 && *rate <= 1e6);
    rate.ok_or_else(|| "expected requests a second, above 0 and up to a million".to_owned())
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.trim_end_matches('%').parse::<f64>().ok().filter(|p| (0.0..=90.0).contains(p));
    part.ok_or_else(|| "expected percent from 0 to 90".to_owned())
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = text.split_once(':').and_then(|(name, value)| {
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value.trim()).ok()?))
    });
    parsed.ok_or_else(|| "expected NAME: VALUE".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ms = |n| Some(Duration::from_millis(n));
        let cases = [
            ("32ms", ms(32)),
            ("1s", ms(1000)),
            ("500us", Some(Duration::from_micros(500))),
            ("0.5 s", ms(500)),
            ("0ms", None),
            ("-1s", None),
            ("32", None),
            ("2000000s", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(time(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn headers_have_a_name_and_a_value() {
        for (text, expected) in [
            ("X-One: 1", Some(("x-one", "1"))),
            ("a:b:c", Some(("a", "b:c"))),
            ("none", None),
            ("a b: c", None),
        ] {
            let found = header(text).ok();
            let found =
                found.as_ref().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
