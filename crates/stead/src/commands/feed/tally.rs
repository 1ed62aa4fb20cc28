//! What has become of the operations of a feed.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::latency::Latency;
use super::position::Position;

/// The counts of a feed, its bar and how far it came. All connections share it.
pub struct Tally {
    bar: ProgressBar,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    position: Position,
    /// Operations that were read, those that were done before not counted.
    operations: u64,
    ok: u64,
    /// Requests without an answer.
    exceptions: u64,
    requests: u64,
    request_bytes: u64,
    response_bytes: u64,
    /// Answers by status.
    codes: BTreeMap<u16, u64>,
    /// Operations that were refused for good.
    refused: u64,
    latency: Latency,
    /// When a server last said something else than that it is busy.
    answered: Option<Instant>,
}

impl Tally {
    /// Of these files, from a position on.
    pub fn new(files: &[PathBuf], position: Position) -> Tally {
        let sizes = files.iter().map(|f| std::fs::metadata(f).map(|m| m.len()).ok());
        // How much comes from standard input is not known.
        let length: Option<u64> = sizes.sum();
        let bar = match (std::io::stderr().is_terminal(), length) {
            (false, _) => ProgressBar::hidden(),
            (true, Some(length)) => ProgressBar::new(length),
            (true, None) => ProgressBar::no_length(),
        };
        let style = "{wide_bar} {bytes}/{total_bytes} {msg} {eta}";
        bar.set_style(
            ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let state = State { position, ..State::default() };
        Tally { bar, began: Instant::now(), state: Mutex::new(state) }
    }

    /// No code under the lock panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bar, which follows the files.
    pub fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub fn finish_bar(&self) {
        self.bar.finish_and_clear();
    }

    /// Whether an operation was done in a feed before this one.
    pub fn was_done(&self, number: u64) -> bool {
        let mut state = self.state();
        let was_done = state.position.has(number);
        state.operations += u64::from(!was_done);
        was_done
    }

    pub fn position(&self) -> Position {
        self.state().position.clone()
    }

    /// A request is sent.
    pub fn sent(&self, bytes: usize) {
        let mut state = self.state();
        state.requests += 1;
        state.request_bytes += bytes as u64;
    }

    /// A request got no answer.
    pub fn broken(&self) {
        self.state().exceptions += 1;
    }

    /// A request was answered; whether for good or only that it should be sent again.
    pub fn answered(&self, status: u16, bytes: usize, is_busy: bool) {
        let mut state = self.state();
        *state.codes.entry(status).or_insert(0) += 1;
        state.response_bytes += bytes as u64;
        if !is_busy {
            state.answered = Some(Instant::now());
        }
    }

    /// How long nothing but "busy" was heard.
    pub fn silence(&self) -> Duration {
        self.state().answered.unwrap_or(self.began).elapsed()
    }

    /// An operation is done.
    pub fn done(&self, number: u64, latency: Duration) {
        let mut state = self.state();
        state.position.done(number);
        state.ok += 1;
        state.latency.add(latency);
        if state.ok.is_multiple_of(1024) && !self.bar.is_hidden() {
            let rate = state.ok as f64 / self.began.elapsed().as_secs_f64();
            self.bar.set_message(format!("{} documents, {rate:.0}/s", state.ok));
        }
    }

    /// An operation was refused for good.
    pub fn refused(&self, number: u64, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
        let mut state = self.state();
        state.position.done(number);
        state.refused += 1;
    }

    /// Whether nothing was refused.
    pub fn is_clean(&self) -> bool {
        self.state().refused == 0
    }

    /// For people.
    pub fn text(&self) -> String {
        let state = self.state();
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = state.ok as f64 / seconds.max(1e-9);
        let again = state.requests.saturating_sub(state.ok + state.codes_of_refused());
        format!(
            "{} operations done in {seconds:.2} s, {rate:.0} a second, 99 % of them within {:.1} ms; {} refused; {again} requests sent again",
            state.ok,
            state.latency.quantile_ms(0.99),
            state.refused
        )
    }

    /// With the keys of `vespa feed`, and quantiles, which it does not have.
    pub fn json(&self) -> Value {
        let state = self.state();
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = |count: f64| (count / seconds.max(1e-9) * 1000.0).round() / 1000.0;
        let millis = |time: Duration| time.as_millis() as u64;
        let responses: u64 = state.codes.values().sum();
        let codes = state.codes.iter().map(|(code, count)| (code.to_string(), json!(count)));
        json!({
            "feeder.operation.count": state.operations,
            "feeder.seconds": (seconds * 1000.0).round() / 1000.0,
            "feeder.ok.count": state.ok,
            "feeder.ok.rate": rate(state.ok as f64),
            "feeder.error.count": state.exceptions,
            "feeder.inflight.count": state.requests.saturating_sub(responses + state.exceptions),
            "http.request.count": state.requests,
            "http.request.bytes": state.request_bytes,
            "http.request.MBps": rate(state.request_bytes as f64 / 1e6),
            "http.exception.count": state.exceptions,
            "http.response.count": responses,
            "http.response.bytes": state.response_bytes,
            "http.response.MBps": rate(state.response_bytes as f64 / 1e6),
            "http.response.error.count": responses - state.codes.get(&200).copied().unwrap_or(0),
            "http.response.latency.millis.min": millis(state.latency.min()),
            "http.response.latency.millis.avg": millis(state.latency.mean()),
            "http.response.latency.millis.max": millis(state.latency.max()),
            "http.response.latency.millis.p50": state.latency.quantile_ms(0.5),
            "http.response.latency.millis.p99": state.latency.quantile_ms(0.99),
            "http.response.code.counts": codes.collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl State {
    /// Answers with which operations were refused for good.
    fn codes_of_refused(&self) -> u64 {
        let is_final = |code: &&u16| **code != 200 && !super::send::is_busy(**code);
        let codes = self.codes.iter().filter(|(code, _)| is_final(code));
        codes.map(|(_, count)| count).sum()
    }
}
