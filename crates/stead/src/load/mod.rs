//! `stead bench --target`: real-time sequences against a server.
//!
//! All steps have their time before the first one is sent ([`schedule`]); what is sent and expected is made before
//! ([`signals`], [`expect`]); one thread sends ([`http`], [`grpc`]) and notes the answers ([`record`]).

mod describe;
mod expect;
mod grpc;
mod http;
mod record;
mod schedule;
mod search;
mod signals;
mod trial;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::commands::prepare::InputArgs;
use crate::failure::Failure;
use crate::http_client::Target;
use describe::Described;
use expect::Reference;
use record::Report;
use schedule::Schedule;
use signals::Signals;
use trial::Trial;

/// The largest load: as many connections are what one address can hold.
const MOST_SEQUENCES: usize = 50_000;

/// Sequences that share a gRPC connection. Servers allow a limited number of calls on one, 200 in stead's case.
const PER_CONNECTION: usize = 100;

/// Sequences that share a stream; stead works on 1,000 of its steps at a time.
const PER_STREAM: usize = 500;

/// Between the connections and the first step.
const LEAD: Duration = Duration::from_millis(20);

/// Arguments for the load on a server.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// Measure a server instead: http://HOST:PORT of the protocol that is spoken.
    #[arg(long, value_name = "URL", value_parser = target, requires = "name")]
    target: Option<Target>,
    /// The server's model.
    #[arg(long = "model", value_name = "NAME", requires = "target")]
    name: Option<String>,
    /// How requests are sent, in the KServe V2 protocol.
    #[arg(long, value_enum, default_value_t = Protocol::Http, requires = "target")]
    protocol: Protocol,
    /// Sequences at a time; with --find-largest where the search begins.
    #[arg(long, value_name = "N", requires = "target", value_parser = clap::value_parser!(u32).range(1..=MOST_SEQUENCES as i64))]
    sequences: Option<u32>,
    /// Steps of each sequence.
    #[arg(long, value_name = "K", default_value_t = 300, requires = "target", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Time between two steps of a sequence: 32ms, 500us, 1s.
    #[arg(long, value_name = "TIME", default_value = "32ms", requires = "target", value_parser = time)]
    interval: Duration,
    /// Compare every answer with those of this model, run in this process: a model file, or a config.json or
    /// folder that has the model with its options.
    #[arg(long, value_name = "MODEL", requires = "target")]
    expect: Option<PathBuf>,
    /// Search the most sequences with a p99 of at most the interval.
    #[arg(long, requires = "target")]
    find_largest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Protocol {
    /// HTTP/1.1, tensors in binary form.
    Http,
    /// A call for each step.
    Grpc,
    /// Many sequences on one ModelStreamInfer.
    GrpcStream,
}

fn target(text: &str) -> Result<Target, String> {
    text.parse()
}

fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let seconds = units.iter().find_map(|(unit, scale)| {
        Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * scale)
    });
    let duration = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let sane = |d: &Duration| !d.is_zero() && *d <= Duration::from_secs(3600);
    duration.filter(sane).ok_or_else(|| "expected a time up to an hour: 32ms, 500us, 1s".to_owned())
}

/// Runs the load and prints what came of it; false when answers are missing or wrong.
pub fn run(args: &LoadArgs, inputs: &InputArgs, is_json: bool) -> Result<bool, Failure> {
    let (Some(target), Some(model)) = (&args.target, &args.name) else {
        return Err(Failure::usage("--target and --model go together"));
    };
    let Some(first) = args.sequences else {
        return Err(Failure::usage(
            "--sequences: how many sequences? A model without sequences is not measured over the network",
        ));
    };
    let (specs, dims) = (inputs.specs()?, inputs.dims()?);
    // The generator is one thread, so that it leaves the machine to a server that runs beside it.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::failed)?;
    let described = match args.protocol {
        Protocol::Http => describe::over_http(target, model)?,
        _ => runtime.block_on(describe::over_grpc(target, model))?,
    };
    let mut signals = Signals::new(&described.inputs, &specs, &dims, inputs.seed)?;
    let steps = args.steps as usize;
    if let Some(path) = &args.expect {
        expected(&runtime, &mut signals, path, model, &described, steps)?;
    }
    let load = Load { args, target, model, signals: &signals, runtime: &runtime };
    if args.find_largest {
        load.find_largest(first as usize, is_json)
    } else {
        load.once(first as usize, is_json)
    }
}

/// Runs the expected model over all signals.
fn expected(
    runtime: &Runtime,
    signals: &mut Signals,
    path: &std::path::Path,
    model: &str,
    described: &Described,
    steps: usize,
) -> Result<(), Failure> {
    let reference = Reference::load(path, model, &described.parameters)?;
    signals.expect(steps, |signal, step, frame| {
        runtime.block_on(reference.step(signal, step, steps, frame))
    })
}

struct Load<'a> {
    args: &'a LoadArgs,
    target: &'a Target,
    model: &'a str,
    signals: &'a Signals,
    runtime: &'a Runtime,
}

impl Load<'_> {
    fn once(&self, sequences: usize, is_json: bool) -> Result<bool, Failure> {
        let report = self.runtime.block_on(self.trial(sequences))?;
        let is_checked = self.signals.is_checked();
        match is_json {
            true => println!("{}", report.to_json(is_checked)),
            false => report.lines(is_checked).iter().for_each(|line| println!("{line}")),
        }
        Ok(report.is_right())
    }

    fn find_largest(&self, first: usize, is_json: bool) -> Result<bool, Failure> {
        let is_checked = self.signals.is_checked();
        let mut trials = Vec::new();
        let mut complaint = None;
        let largest = search::largest(first, MOST_SEQUENCES, |sequences| {
            let report = self.runtime.block_on(self.trial(sequences))?;
            if !is_json {
                report.lines(is_checked).iter().for_each(|line| println!("{line}"));
            }
            complaint = report.first().map(str::to_owned).or(complaint.take());
            trials.push(report.to_json(is_checked));
            Ok::<bool, Failure>(report.keeps_up())
        })?;
        if is_json {
            let limit = complaint;
            println!("{}", json!({"largest": largest, "limited_by": limit, "trials": trials}));
        } else {
            println!(
                "the most sequences with a p99 of at most {:?}: {largest}",
                self.args.interval
            );
        }
        Ok(largest > 0)
    }

    /// One load.
    async fn trial(&self, sequences: usize) -> Result<Report, Failure> {
        let args = self.args;
        let schedule = Schedule { sequences, steps: args.steps as usize, interval: args.interval };
        let connections = match args.protocol {
            Protocol::Http => 0,
            Protocol::Grpc => sequences.div_ceil(PER_CONNECTION),
            Protocol::GrpcStream => sequences.div_ceil(PER_STREAM),
        };
        let mut clients = Vec::with_capacity(connections);
        for _ in 0..connections {
            clients.push(grpc::connect(self.target).await?);
        }
        let start = Instant::now() + LEAD;
        let trial = Trial::new(schedule, self.signals, self.model, first_id(), start);
        let pool = http::Connections::new(self.target);
        let (all, clients) = (0..sequences, &clients);
        let patience = trial.patience();
        let in_time = match args.protocol {
            Protocol::Http => all_of(all.map(|s| http::sequence(&trial, &pool, s)), patience).await,
            Protocol::Grpc => {
                let client = |s: usize| clients[s % connections].clone();
                all_of(all.map(|s| grpc::unary(&trial, client(s), s)), patience).await
            }
            Protocol::GrpcStream => {
                let shares = clients.iter().cloned().enumerate();
                let streams = shares.map(|(n, c)| grpc::stream(&trial, c, n, connections));
                all_of(streams, patience).await
            }
        };
        if !in_time {
            trial.failed("no answer in time");
        }
        Ok(trial.into_record().report(sequences, sequences * schedule.steps, args.interval))
    }
}

/// Drives all futures; false when they are not done in time.
async fn all_of<F: Future<Output = ()>>(
    futures: impl Iterator<Item = F>,
    patience: Duration,
) -> bool {
    let mut futures: FuturesUnordered<F> = futures.collect();
    let all = async { while futures.next().await.is_some() {} };
    tokio::time::timeout(patience, all).await.is_ok()
}

/// The first of a row of ids that no other load has: microseconds in the upper bits, and small enough for every JSON
/// reader.
fn first_id() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    ((now.as_micros() as u64 % (1 << 35)) << 17) + 1
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
    fn ids_fit_into_a_double() {
        assert!(first_id() + MOST_SEQUENCES as u64 <= 1 << 53);
    }
}
