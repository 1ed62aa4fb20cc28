//! What a load saw.

use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::Schedule;
use super::search::Verdict;
use crate::measure::Times;

/// Answers as they come in.
#[derive(Debug, Default)]
pub struct Record {
    /// From the time when a step was due to its answer.
    times: Vec<Duration>,
    errors: usize,
    mismatches: usize,
    /// The first error or wrong answer, in words.
    first: Option<String>,
    /// From the beginning of the load to the last answer.
    last: Duration,
}

impl Record {
    /// A step was answered at `now`; `wrong` tells how the answer differs from the one expected.
    pub fn answered(&mut self, due: Duration, now: Duration, wrong: Option<String>) {
        self.times.push(now.saturating_sub(due));
        self.last = self.last.max(now);
        if let Some(text) = wrong {
            self.mismatches += 1;
            self.first.get_or_insert(text);
        }
    }

    /// A step failed.
    pub fn failed(&mut self, text: String) {
        self.errors += 1;
        self.first.get_or_insert(text);
    }

    /// The numbers of a load of this schedule.
    pub fn report(self, schedule: &Schedule) -> Report {
        let late = |interval| self.times.iter().filter(|t| **t > interval).count();
        let late = schedule.interval.map(late);
        let answered = self.times.len();
        let times = Times::new(self.times);
        let [p50_ms, p99_ms, p99_9_ms, max_ms] =
            [50.0, 99.0, 99.9, 100.0].map(|percent| times.percentile_ms(percent));
        Report {
            sequences: schedule.sequences,
            planned: schedule.sequences * schedule.steps,
            answered,
            seconds: self.last.as_secs_f64(),
            p50_ms,
            p99_ms,
            p99_9_ms,
            max_ms,
            late,
            errors: self.errors,
            mismatches: self.mismatches,
            first: self.first,
            interval_ms: schedule.interval.map(|interval| interval.as_secs_f64() * 1e3),
        }
    }
}

/// The numbers of one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    sequences: usize,
    planned: usize,
    answered: usize,
    seconds: f64,
    p50_ms: f64,
    p99_ms: f64,
    p99_9_ms: f64,
    max_ms: f64,
    late: Option<usize>,
    errors: usize,
    mismatches: usize,
    first: Option<String>,
    interval_ms: Option<f64>,
}

impl Report {
    /// Whether every step was answered, and rightly.
    pub fn is_right(&self) -> bool {
        self.answered == self.planned && self.errors == 0 && self.mismatches == 0
    }

    /// Whether the server also kept up: 99 of 100 answers came before the next step was due.
    pub fn keeps_up(&self) -> bool {
        self.is_right() && self.interval_ms.is_none_or(|interval| self.p99_ms <= interval)
    }

    /// What a search makes of it. It is borderline when the p99 is not far from the interval, or when half of the
    /// answers came quickly: in an open loop those of an overloaded server all come later and later, while a pause
    /// of the machine delays the answers of a moment.
    pub fn verdict(&self) -> Verdict {
        let interval = self.interval_ms.unwrap_or(f64::INFINITY);
        let is_borderline = self.p99_ms <= 2.0 * interval || self.p50_ms <= interval / 2.0;
        match self.keeps_up() {
            true => Verdict::Fine,
            false if self.is_right() && is_borderline => Verdict::Borderline,
            false => Verdict::Bad,
        }
    }

    /// The first error or wrong answer.
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// As JSON; `is_checked` tells whether answers were compared.
    pub fn to_json(&self, is_checked: bool) -> Value {
        let mut report = json!({
            "steps": self.answered, "planned": self.planned,
            "seconds": self.seconds, "steps_per_s": self.steps_per_s(), "p50_ms": self.p50_ms,
            "p99_ms": self.p99_ms, "p99_9_ms": self.p99_9_ms, "max_ms": self.max_ms, "late": self.late,
            "errors": self.errors, "mismatches": is_checked.then_some(self.mismatches),
            "first_error": self.first, "keeps_up": self.interval_ms.map(|_| self.keeps_up()),
        });
        let load = if self.interval_ms.is_some() { "sequences" } else { "concurrency" };
        report[load] = json!(self.sequences);
        report
    }

    /// For people.
    pub fn lines(&self, is_checked: bool) -> Vec<String> {
        let (load, step) = match self.interval_ms {
            Some(_) => ("sequences", "steps"),
            None => ("at a time", "requests"),
        };
        let late = match (self.interval_ms, self.late) {
            (Some(interval), Some(late)) => format!("  late (> {interval} ms) {late}"),
            _ => String::new(),
        };
        let mut lines = vec![
            format!(
                "{} {load}, {} of {} {step} answered in {:.2} s, {:.1} per second",
                self.sequences,
                self.answered,
                self.planned,
                self.seconds,
                self.steps_per_s()
            ),
            format!(
                "p50 {:.3} ms  p99 {:.3} ms  p99.9 {:.3} ms  max {:.3} ms{late}",
                self.p50_ms, self.p99_ms, self.p99_9_ms, self.max_ms
            ),
            match is_checked {
                true => format!("errors {}  wrong answers {}", self.errors, self.mismatches),
                false => format!("errors {}  (answers were not compared)", self.errors),
            },
        ];
        lines.extend(self.first.as_ref().map(|text| format!("the first: {text}")));
        lines
    }

    fn steps_per_s(&self) -> f64 {
        if self.seconds > 0.0 { self.answered as f64 / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn schedule(sequences: usize, steps: usize) -> Schedule {
        Schedule { sequences, steps, interval: Some(32 * MS) }
    }

    #[test]
    fn narrow_failures_and_spikes_are_borderline() {
        // The times of 95 answers, and of 5 others.
        let cases = [
            ((2, 30), Verdict::Fine),
            ((2, 40), Verdict::Borderline),
            ((30, 60), Verdict::Borderline),
            ((2, 300), Verdict::Borderline),
            ((30, 70), Verdict::Bad),
            ((300, 300), Verdict::Bad),
        ];
        for ((most, some), expected) in cases {
            let mut record = Record::default();
            for i in 0..100u32 {
                record.answered(i * MS, (i + if i < 95 { most } else { some }) * MS, None);
            }
            assert_eq!(record.report(&schedule(10, 10)).verdict(), expected, "{most} {some}");
        }
    }

    #[test]
    fn without_an_interval_nothing_is_late() {
        let mut record = Record::default();
        record.answered(MS, 900 * MS, None);
        let report = record.report(&Schedule { sequences: 1, steps: 1, interval: None });
        let json = report.to_json(false);
        assert_eq!((&json["concurrency"], &json["late"]), (&json!(1), &Value::Null));
        assert!(report.keeps_up() && json.get("sequences").is_none());
    }

    #[test]
    fn time_runs_from_when_a_step_was_due() {
        let mut record = Record::default();
        for i in 0..1000u32 {
            // Every hundredth answer takes 40 ms, the others 2 ms.
            let took = if i % 100 == 0 { 40 } else { 2 };
            record.answered(i * MS, (i + took) * MS, None);
        }
        let report = record.report(&schedule(10, 100));
        assert_eq!((report.p50_ms, report.p99_ms, report.p99_9_ms), (2.0, 2.0, 40.0));
        assert_eq!((report.late, report.max_ms), (Some(10), 40.0));
        assert!(report.keeps_up());
    }

    #[test]
    fn missing_wrong_and_failed_answers_are_not_right() {
        let right = |change: &dyn Fn(&mut Record)| {
            let mut record = Record::default();
            record.answered(MS, 2 * MS, None);
            change(&mut record);
            record.report(&schedule(1, 2)).is_right()
        };
        assert!(right(&|r| r.answered(MS, 2 * MS, None)));
        assert!(!right(&|_| {}));
        assert!(!right(&|r| r.failed("no".into())));
        assert!(!right(&|r| r.answered(MS, 2 * MS, Some("y is 1, expected 2".into()))));
    }
}
