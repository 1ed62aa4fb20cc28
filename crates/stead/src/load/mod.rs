//! `stead bench --target`: real-time sequences against a server, or a number of requests at a time.
//!
//! All steps have their time before the first one is sent ([`schedule`]); what is sent and expected is made before
//! ([`signals`], [`expect`]), but for state that the client carries ([`carry`]); one thread sends ([`http`],
//! [`grpc`]) and notes the answers ([`record`]).

mod args;
pub mod calls;
mod carry;
mod connection;
pub mod describe;
mod expect;
pub mod grpc;
pub mod http;
mod record;
mod schedule;
pub mod search;
pub mod signals;
mod trial;

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::commands::prepare::InputArgs;
use crate::failure::Failure;
use crate::http_client::Target;
use crate::kept_connection::Connections;
pub use args::{LoadArgs, Protocol};
use expect::Reference;
use record::Report;
use schedule::Schedule;
use search::Verdict;
use signals::Signals;
use trial::Trial;

/// The largest load: as many connections are what one address can hold.
const MOST_SEQUENCES: usize = 50_000;

/// Sequences that share a gRPC connection, each with one call at a time; stead works on 1,024 calls of a connection.
pub const PER_CONNECTION: usize = 500;

/// Sequences that share a stream; stead works on 1,000 of its steps at a time.
const PER_STREAM: usize = 500;

/// Between the connections and the first step.
const LEAD: Duration = Duration::from_millis(20);

/// Runs the load and prints what came of it; false when answers are missing or wrong.
pub fn run(args: &LoadArgs, inputs: &InputArgs, is_json: bool) -> Result<bool, Failure> {
    let (Some(target), Some(model)) = (&args.target, &args.name) else {
        return Err(Failure::usage(
            "--target wants --model NAME with --sequences or --concurrency, or what is sent: --clients, --rate, --burst, \
             --slo, --queries (see stead bench --help)",
        ));
    };
    let target = &args.access.reach(target)?;
    let Some(first) = args.sequences.or(args.concurrency) else {
        return Err(Failure::usage(
            "--sequences: how many sequences? Or --clients: how many requests at a time to a model without them?",
        ));
    };
    let waits = args.concurrency.is_some() || !args.carry.is_empty();
    if waits && args.protocol == Protocol::GrpcStream {
        return Err(Failure::usage(
            "--concurrency and --carry need each answer before the next request: --protocol http or grpc",
        ));
    }
    let (specs, dims) = (inputs.specs()?, inputs.dims()?);
    // The generator is one thread, so that it leaves the machine to a server that runs beside it.
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::failed)?;
    let described = match args.protocol {
        Protocol::Http => describe::over_http(target, model)?,
        _ => runtime.block_on(describe::over_grpc(target, model))?,
    };
    let carried: Vec<&str> = args.carry.iter().map(|pair| &*pair.input).collect();
    if let Some(unknown) =
        carried.iter().find(|name| !described.inputs.iter().any(|i| i.spec.name == **name))
    {
        return Err(Failure::usage(format!("--carry: the model has no input `{unknown}`")));
    }
    let mut signals = Signals::new(&described.inputs, &specs, &carried, &dims, inputs.seed)?;
    let steps = args.steps as usize;
    if let Some(path) = &args.expect {
        let has_sequences = args.has_sequences().then_some(&described.parameters);
        let reference = Reference::load(path, model, has_sequences, &args.carry)?;
        signals.expect(steps, |signal, step, frame| {
            runtime.block_on(reference.step(signal, step, steps, frame))
        })?;
    }
    let load = Load { args, target, model, signals: &signals, runtime: &runtime };
    if args.find_largest {
        load.find_largest(first as usize, is_json)
    } else {
        load.once(first as usize, is_json)
    }
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
        let mut trial = |sequences| {
            let report = self.runtime.block_on(self.trial(sequences))?;
            if !is_json {
                report.lines(is_checked).iter().for_each(|line| println!("{line}"));
            }
            complaint = report.first().map(str::to_owned).or(complaint.take());
            trials.push(report.to_json(is_checked));
            Ok::<Verdict, Failure>(report.verdict())
        };
        let largest = search::largest(first, MOST_SEQUENCES, |n| search::is_fine(|| trial(n)))?;
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
        let interval = args.concurrency.is_none().then_some(args.interval);
        let schedule = Schedule { sequences, steps: args.steps as usize, interval };
        let (mut calls, mut clients) = (Vec::new(), Vec::new());
        match args.protocol {
            Protocol::Http => {}
            Protocol::Grpc => {
                for _ in 0..sequences.div_ceil(PER_CONNECTION) {
                    calls.push(grpc::calls(self.target).await?);
                }
            }
            Protocol::GrpcStream => {
                for _ in 0..sequences.div_ceil(PER_STREAM) {
                    clients.push(grpc::connect(self.target).await?);
                }
            }
        }
        let trial = Trial {
            schedule,
            signals: self.signals,
            first_id: args.has_sequences().then(first_id),
            carry: &args.carry,
            model: self.model,
            start: Instant::now() + LEAD,
            record: Mutex::default(),
        };
        let pool = Connections::new(self.target);
        let all = 0..sequences;
        let patience = trial.patience();
        let in_time = match args.protocol {
            Protocol::Http => all_of(all.map(|s| http::sequence(&trial, &pool, s)), patience).await,
            Protocol::Grpc => {
                let shared = calls.iter().cycle().zip(all);
                all_of(shared.map(|(calls, s)| grpc::unary(&trial, calls, s)), patience).await
            }
            Protocol::GrpcStream => {
                let count = clients.len();
                let shares = clients.into_iter().enumerate();
                let streams = shares.map(|(n, c)| grpc::stream(&trial, c, n, count));
                all_of(streams, patience).await
            }
        };
        if !in_time {
            trial.failed("no answer in time");
        }
        Ok(trial.into_record().report(&schedule))
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
    fn ids_fit_into_a_double() {
        assert!(first_id() + MOST_SEQUENCES as u64 <= 1 << 53);
    }
}
