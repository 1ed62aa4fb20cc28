//! The numbers of one load.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::objective::Objective;
use super::sample::{Outcome, Sample};
use crate::load::search::Verdict;
use crate::measure::Times;

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// So many clients, each with one request at a time.
    Clients(usize),
    /// So many requests a second.
    Rate(f64),
    /// So many at once.
    Burst(usize),
}

/// The part of a load that counts, from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Requests that were due before this time do not count.
    pub from: Duration,
    /// Nor do those from here on.
    pub to: Duration,
}

/// The numbers.
pub struct Report {
    pub load: Load,
    /// The length of the window in seconds.
    pub seconds: f64,
    /// Requests that were due in it.
    pub requests: usize,
    /// Good answers a second, of those that came in the window.
    pub per_second: f64,
    /// How the requests ended, of each ending how many.
    pub endings: BTreeMap<Outcome, usize>,
    /// What was said first where it was not good.
    pub first_error: Option<String>,
    /// How late the load tool itself was.
    sent_late: Times,
    /// Of good answers, from when the request was due.
    times: Times,
}

impl Report {
    /// The numbers of those samples that were due in a window.
    pub fn new(load: Load, window: Window, samples: Vec<Sample>) -> Report {
        let inside = |at: Duration| window.from <= at && at < window.to;
        let seconds = window.to.saturating_sub(window.from).as_secs_f64();
        let answers = samples.iter().filter(|s| s.ending.outcome.is_good() && inside(s.done));
        let per_second = answers.count() as f64 / seconds;
        let mut due: Vec<Sample> = samples.into_iter().filter(|s| inside(s.due)).collect();
        due.sort_by_key(|sample| sample.done);
        let mut endings = BTreeMap::new();
        for sample in &due {
            *endings.entry(sample.ending.outcome).or_insert(0) += 1;
        }
        let first = due.iter().find(|sample| !sample.ending.outcome.is_good());
        let first_error = first.map(|sample| {
            let text = sample.ending.text.as_deref().unwrap_or_default();
            format!("{}: {text}", sample.ending.outcome)
        });
        let sent_late = due.iter().map(|s| s.sent.saturating_sub(s.due)).collect();
        let good = due.iter().filter(|sample| sample.ending.outcome.is_good());
        let times = good.map(|sample| sample.done.saturating_sub(sample.due)).collect();
        Report {
            load,
            seconds,
            requests: due.len(),
            per_second,
            endings,
            first_error,
            sent_late: Times::new(sent_late),
            times: Times::new(times),
        }
    }

    /// Good answers to requests that were due in the window.
    pub fn good(&self) -> usize {
        self.times.len()
    }

    /// The milliseconds that so many of a hundred good answers did not exceed; not a number without any.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.times.percentile_ms(percent)
    }

    /// The milliseconds within which so many of a hundred requests were answered well; infinite when fewer ever were.
    pub fn answered_ms(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.requests as f64).ceil() as usize;
        if self.requests == 0 || rank > self.good() {
            return f64::INFINITY;
        }
        self.percentile_ms(rank as f64 / self.good() as f64 * 100.0)
    }

    /// The part of all requests that was answered well within a time.
    pub fn within(&self, limit: Duration) -> f64 {
        self.times.count_within(limit) as f64 / self.requests as f64
    }

    /// Whether an objective is met. A failed request counts as one that takes forever.
    pub fn meets(&self, objective: &Objective) -> bool {
        self.answered_ms(objective.percent) <= objective.limit.as_secs_f64() * 1e3
    }

    /// What a search for the highest rate makes of it. It is borderline when latencies are not far above the objectives, or
    /// when half of the answers came quickly: those of an overloaded server all come later and later, while a pause of the
    /// machine delays the answers of a moment.
    pub fn verdict(&self, objectives: &[Objective]) -> Verdict {
        let near = |objective: &Objective| {
            let limit = objective.limit.as_secs_f64() * 1e3;
            self.answered_ms(objective.percent) <= 2.0 * limit
                || (self.good() == self.requests && self.percentile_ms(50.0) <= limit / 2.0)
        };
        match objectives.iter().all(|objective| self.meets(objective)) {
            true => Verdict::Fine,
            false if objectives.iter().all(near) => Verdict::Borderline,
            false => Verdict::Bad,
        }
    }

    /// Whether every request had a good answer.
    pub fn is_right(&self) -> bool {
        self.requests > 0 && self.good() == self.requests
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let [p50, p90, p95, p99, p99_9, max] =
            [50.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(|percent| self.percentile_ms(percent));
        let endings: BTreeMap<String, usize> =
            self.endings.iter().map(|(outcome, count)| (outcome.to_string(), *count)).collect();
        let mut report = json!({
            "seconds": self.seconds, "requests": self.requests, "good": self.good(), "good_per_s": self.per_second,
            "min_ms": self.times.min_ms(), "p50_ms": p50, "p90_ms": p90, "p95_ms": p95, "p99_ms": p99, "p99_9_ms": p99_9,
            "max_ms": max, "endings": endings, "first_error": self.first_error,
        });
        match self.load {
            Load::Clients(clients) => report["clients"] = json!(clients),
            Load::Rate(rate) => {
                report["rate"] = json!(rate);
                report["sent_late_p99_ms"] = json!(self.sent_late.percentile_ms(99.0));
            }
            Load::Burst(burst) => report["burst"] = json!(burst),
        }
        report
    }

    /// For people.
    pub fn lines(&self) -> Vec<String> {
        let load = match self.load {
            Load::Clients(1) => "1 client".to_owned(),
            Load::Clients(clients) => format!("{clients} clients"),
            Load::Rate(rate) => format!("{rate:.1} requests a second"),
            Load::Burst(burst) => format!("{burst} requests at once"),
        };
        let ms = |percent| self.percentile_ms(percent);
        let mut lines = vec![
            format!(
                "{load}: {} requests in {:.2} s, {} answered well, {:.1} per second",
                self.requests,
                self.seconds,
                self.good(),
                self.per_second
            ),
            format!(
                "  min {:.3} ms  p50 {:.3} ms  p95 {:.3} ms  p99 {:.3} ms  max {:.3} ms",
                self.times.min_ms(),
                ms(50.0),
                ms(95.0),
                ms(99.0),
                ms(100.0)
            ),
        ];
        let bad = self.endings.iter().filter(|(outcome, _)| !outcome.is_good());
        let bad: Vec<String> = bad.map(|(outcome, count)| format!("{outcome} x {count}")).collect();
        if !bad.is_empty() {
            lines.push(format!("  not answered well: {}", bad.join(", ")));
        }
        lines.extend(self.first_error.iter().map(|text| format!("  the first: {text}")));
        let late = self.sent_late.percentile_ms(99.0);
        if matches!(self.load, Load::Rate(_)) && late > ms(99.0) / 2.0 {
            lines.push(format!(
                "  the load tool itself was late: 1 of 100 requests was sent {late:.3} ms after its time"
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Ending;
    use super::*;

    const WINDOW: Window = Window { from: Duration::from_millis(100), to: Duration::from_secs(1) };

    fn sample(due: u64, took: u64, outcome: Outcome) -> Sample {
        let [due, done] = [due, due + took].map(Duration::from_millis);
        let ending = match outcome.is_good() {
            true => Ending::good(outcome),
            false => Ending::bad(outcome, "no"),
        };
        Sample { due, sent: due, done, ending }
    }

    fn report(samples: Vec<Sample>) -> Report {
        Report::new(Load::Rate(10.0), WINDOW, samples)
    }

    #[test]
    fn only_the_window_counts() {
        let good = Outcome::Http(200);
        let found = report(vec![
            sample(0, 10, good),    // warm-up
            sample(50, 100, good),  // due in it, answered behind it
            sample(100, 20, good),  // counts
            sample(999, 500, good), // counts, but its answer came behind the window
            sample(1000, 1, good),  // behind the window
        ]);
        assert_eq!((found.requests, found.good()), (2, 2));
        assert!((found.per_second - 2.0 / 0.9).abs() < 1e-9, "{}", found.per_second);
        assert_eq!((found.percentile_ms(50.0), found.percentile_ms(100.0)), (20.0, 500.0));
    }

    #[test]
    fn time_runs_from_when_a_request_was_due() {
        // A server stalls for 300 ms: requests that had to wait until they could be sent were late all the same.
        let stalled = |at: u64| Sample {
            sent: Duration::from_millis(500),
            ..sample(at, 510 - at, Outcome::Http(200))
        };
        let found = report((200..500).step_by(10).map(stalled).collect());
        assert_eq!((found.percentile_ms(100.0), found.percentile_ms(50.0)), (310.0, 160.0));
        assert_eq!(found.to_json()["sent_late_p99_ms"], 300.0);
        let text = found.lines().join("\n");
        assert!(text.contains("the load tool itself was late"), "{text}");
    }

    #[test]
    fn errors_are_counted_by_status_and_are_never_good() {
        let found = report(vec![
            sample(200, 5, Outcome::Http(200)),
            sample(300, 1, Outcome::Http(503)),
            sample(310, 1, Outcome::Http(503)),
            sample(320, 1, Outcome::Http(201)),
            sample(330, 1, Outcome::Grpc(14)),
            sample(340, 1, Outcome::Broken),
            sample(350, 900, Outcome::Late),
        ]);
        assert_eq!((found.requests, found.good(), found.is_right()), (7, 1, false));
        assert!((found.per_second - 1.0 / 0.9).abs() < 1e-9);
        let json = found.to_json();
        let expected = json!({"200": 1, "201": 1, "503": 2, "Unavailable": 1, "no connection": 1, "no answer in time": 1});
        assert_eq!(json["endings"], expected);
        assert_eq!(json["first_error"], "503: no");
        let text = found.lines().join("\n");
        assert!(text.contains("503 x 2") && text.contains("the first: 503: no"), "{text}");
    }

    #[test]
    fn failed_requests_take_forever() {
        let quick = |n: u64| (0..n).map(|i| sample(100 + i, 10, Outcome::Http(200)));
        let failed = |n: u64| (0..n).map(|i| sample(500 + i, 1, Outcome::Http(503)));
        // Requests, failures, the percentile and whether it is met by answers of 10 ms.
        for (good, bad, percent, expected) in
            [(100, 0, 100.0, true), (95, 5, 95.0, true), (94, 6, 95.0, false), (0, 3, 50.0, false)]
        {
            let found = report(quick(good).chain(failed(bad)).collect());
            let objective = Objective { percent, limit: Duration::from_millis(10) };
            assert_eq!(found.meets(&objective), expected, "{good} {bad} {percent}");
        }
        assert!(!report(Vec::new()).is_right());
        let half = report(quick(1).chain(failed(1)).collect());
        assert_eq!(half.within(Duration::from_millis(10)), 0.5);
        assert_eq!(half.within(Duration::from_millis(9)), 0.0);
    }

    #[test]
    fn narrow_failures_and_spikes_are_borderline() {
        let objectives = [Objective { percent: 95.0, limit: Duration::from_millis(50) }];
        // The times of 90 answers and of 10 others, and how many failed beside.
        for ((most, some, failed), expected) in [
            ((2, 30, 0), Verdict::Fine),
            ((2, 60, 0), Verdict::Borderline),
            ((2, 400, 0), Verdict::Borderline),
            ((40, 400, 0), Verdict::Bad),
            ((400, 400, 0), Verdict::Bad),
            ((2, 2, 30), Verdict::Bad),
        ] {
            let times = (0..100)
                .map(|i| sample(100 + i, if i < 90 { most } else { some }, Outcome::Http(200)));
            let failed = (0..failed).map(|i| sample(300 + i, 1, Outcome::Http(503)));
            let found = report(times.chain(failed).collect()).verdict(&objectives);
            assert_eq!(found, expected, "{most} {some}");
        }
    }
}
