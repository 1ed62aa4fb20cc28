//! `stead bench --target` with `--clients`, `--rate`, `--slo` or `--burst`: requests replayed against a server of any
//! protocol that stead's clients speak.
//!
//! What is sent is made before ([`source`]); one thread sends it ([`run`], [`send`]), in a closed loop, at the times of an
//! [open one](arrivals) or at once, and what became of each request ([`sample`]) makes the numbers ([`report`]).

mod args;
mod arrivals;
mod capacity;
mod counts;
mod objective;
mod report;
mod run;
mod sample;
mod send;
mod show;
mod source;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub use args::{ReplayArgs, time};
pub use counts::Counts;
use objective::Objective;
use report::Report;
use run::{Length, MOST_OPEN};
use sample::Outcome;
use send::{Request, Sender};
use show::Point;
use source::Source;

use crate::commands::prepare::InputArgs;
use crate::failure::Failure;
use crate::load::search::Verdict;
use crate::load::{LoadArgs, Protocol};

/// A trial of the search takes as long as so many requests, so that there are some behind a percentile ...
const FEWEST: f64 = 100.0;

/// ... but at most so many times as long as was asked for.
const LONGEST: u32 = 10;

/// What a replay is told.
pub struct Replay<'a> {
    pub args: &'a ReplayArgs,
    pub load: &'a LoadArgs,
    pub inputs: &'a InputArgs,
    pub clients: Option<&'a Counts>,
    /// How long each load is measured.
    pub measured: Duration,
    pub is_json: bool,
}

/// Runs the loads that are asked for and prints what came of them; false when requests had no good answer, or no rate meets
/// the objectives.
pub fn run(replay: &Replay<'_>) -> Result<bool, Failure> {
    let Replay { args, load, .. } = replay;
    let Some(target) = &load.target else {
        return Err(Failure::usage("--target URL: which server?"));
    };
    if load.protocol == Protocol::GrpcStream {
        return Err(Failure::usage(
            "a replay has a call for each request: --protocol http or grpc",
        ));
    }
    if load.protocol == Protocol::Grpc && !args.headers.is_empty() {
        return Err(Failure::usage("--header goes with --protocol http"));
    }
    if let Some(missing) = args.missing(replay.clients.is_some()) {
        return Err(Failure::usage(missing));
    }
    let is_load = replay.clients.is_some() || args.rate.is_some() || args.burst.is_some();
    if !is_load && args.slo.is_empty() {
        return Err(Failure::usage("how much? --clients, --rate, --burst or --slo"));
    }
    let target = &load.access.reach(target)?;
    let model = load.name.as_deref();
    let source = Source { args, inputs: replay.inputs, model, protocol: load.protocol, target };
    let requests = source.requests()?;
    // One thread, so that the machine is left to a server that runs beside it.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::failed)?;
    let clients =
        replay.clients.map_or(0, |counts| counts.all().iter().copied().max().unwrap_or(0));
    let most = match args.burst {
        Some(burst) => burst as usize,
        None if replay.clients.is_some() && args.slo.is_empty() => clients,
        None => clients.max(MOST_OPEN),
    };
    let sender = runtime.block_on(async {
        let sender = Sender::open(target, load.protocol, most, args.timeout).await?;
        // A server that is not there is one message instead of a thousand failures.
        if let Some(first) = requests.first() {
            let ending = sender.send(first).await;
            if ending.outcome == Outcome::Broken {
                let text = ending.text.unwrap_or_default();
                return Err(Failure::failed(format!("{target}: {text}; is the server running?")));
            }
        }
        Ok(sender)
    })?;
    Measurement { replay, requests: &requests, sender: &sender, runtime: &runtime }.all()
}

struct Measurement<'a> {
    replay: &'a Replay<'a>,
    requests: &'a [Request],
    sender: &'a Sender,
    runtime: &'a Runtime,
}

impl Measurement<'_> {
    fn all(&self) -> Result<bool, Failure> {
        let args = self.replay.args;
        let mut json = json!({});
        let is_fine = if let Some(burst) = args.burst {
            self.burst(burst as usize, &mut json)?
        } else {
            let curve = match self.replay.clients {
                Some(counts) => self.curve(counts, &mut json)?,
                None => Vec::new(),
            };
            match (&args.slo[..], args.rate) {
                ([], Some(rate)) => {
                    let report = self.rate(rate, self.replay.measured);
                    json["rates"] = json!([report.to_json()]);
                    report.is_right()
                }
                ([], None) => curve.iter().all(Report::is_right),
                (objectives, rate) => {
                    let best = curve.iter().map(|report| report.per_second).fold(0.0, f64::max);
                    let first = match rate {
                        Some(rate) => rate,
                        None if curve.is_empty() => self.closed(1).per_second,
                        None => best,
                    };
                    self.highest(objectives, first, &mut json)?
                }
            }
        };
        if self.replay.is_json {
            println!("{json}");
        }
        Ok(is_fine)
    }

    fn curve(&self, counts: &Counts, json: &mut Value) -> Result<Vec<Report>, Failure> {
        let reports: Vec<Report> =
            counts.all().iter().map(|clients| self.closed(*clients)).collect();
        json["clients"] = reports.iter().map(Report::to_json).collect();
        let point = |(clients, report): (&usize, &Report)| {
            let (per_second, p95_ms) = (report.per_second, report.percentile_ms(95.0));
            Point { clients: *clients, per_second, p95_ms }
        };
        let points: Vec<Point> = counts.all().iter().zip(&reports).map(point).collect();
        if counts.one().is_none() && !self.replay.is_json {
            print!("{}", show::text(&points));
        }
        if let Some(file) = &self.replay.args.plot {
            std::fs::write(file, show::svg(&points))
                .map_err(|e| Failure::failed(format!("--plot: {}: {e}", file.display())))?;
        }
        Ok(reports)
    }

    fn highest(
        &self,
        objectives: &[Objective],
        first: f64,
        json: &mut Value,
    ) -> Result<bool, Failure> {
        let args = self.replay.args;
        let (mut trials, mut complaint) = (Vec::new(), None);
        let measured = self.replay.measured;
        let highest = capacity::highest(first, |rate| {
            let needed = Duration::from_secs_f64(FEWEST / rate);
            let report = self.rate(rate, measured.max(needed.min(measured * LONGEST)));
            complaint = report.first_error.clone().or(complaint.take());
            let verdict = report.verdict(objectives);
            let mut trial = report.to_json();
            trial["meets"] = json!(verdict == Verdict::Fine);
            trials.push(trial);
            Ok::<Verdict, Failure>(verdict)
        })?;
        let machines =
            args.target_rate.map(|target| capacity::machines(target, highest, args.headroom));
        json["rates"] = json!(trials);
        json["highest_rate"] = json!(highest);
        json["limited_by"] = json!(complaint);
        if let (Some(target), Some(machines)) = (args.target_rate, machines) {
            json["target_rate"] = json!(target);
            json["headroom_percent"] = json!(args.headroom);
            json["machines"] = json!(machines);
        }
        if !self.replay.is_json {
            let told: Vec<String> = objectives.iter().map(Objective::to_string).collect();
            println!(
                "the highest rate that meets {}: {highest} requests a second",
                told.join(", ")
            );
            match (args.target_rate, machines.flatten()) {
                (Some(target), Some(machines)) => println!(
                    "{target} requests a second need {machines} such machines, {} % of each left free",
                    args.headroom
                ),
                (Some(_), None) => println!("no number of such machines is enough"),
                (None, _) => {}
            }
        }
        Ok(highest > 0)
    }

    fn burst(&self, count: usize, json: &mut Value) -> Result<bool, Failure> {
        let report = self.runtime.block_on(run::burst(self.sender, self.requests, count))?;
        let mut told = report.to_json();
        self.print(&report);
        if let Some(deadline) = self.replay.args.deadline {
            let part = report.within(deadline);
            told["within_deadline"] = json!(part);
            if !self.replay.is_json {
                println!("  {:.1} % answered well within {deadline:?}", part * 100.0);
            }
        }
        json["bursts"] = json!([told]);
        Ok(report.is_right())
    }

    fn closed(&self, clients: usize) -> Report {
        let length = self.length(self.replay.measured);
        let work = run::closed(self.sender, self.requests, clients, length);
        let report = self.runtime.block_on(work);
        self.print(&report);
        report
    }

    fn rate(&self, rate: f64, measured: Duration) -> Report {
        let (length, seed) = (self.length(measured), self.replay.inputs.seed);
        let report =
            self.runtime.block_on(run::open(self.sender, self.requests, rate, seed, length));
        self.print(&report);
        report
    }

    fn length(&self, measured: Duration) -> Length {
        Length { warm_up: self.replay.args.warm_up, measured }
    }

    fn print(&self, report: &Report) {
        if !self.replay.is_json {
            report.lines().iter().for_each(|line| println!("{line}"));
        }
    }
}
