//! `stead bench`: how fast a model runs in this process, or a server over the network.

mod ablate;
mod profile;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ArgGroup;
use serde_json::json;
use stead_engine::{Precision, Profile, RunContext, Session, StepRun};

use super::precision::errors_of;
use super::prepare::{InputArgs, Inputs, PrecisionArgs, Threads, load};
use crate::failure::Failure;
use crate::load::{LoadArgs, run as run_load};
use crate::measure::{Times, human_bytes, peak_rss_bytes};
use crate::replay::{Counts, Replay, ReplayArgs, run as run_replay};

/// Runs before the clock starts: plans, caches and branch predictors settle.
const WARM_UP: usize = 3;

/// Measure how fast a model runs in this process, or how many requests or real-time sequences a server keeps up with
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("sent").multiple(true)))]
#[command(after_help = "Examples:\n  stead bench model.onnx\n  \
    stead bench model.onnx --input input_ids:i64:1x128:0:30522 --threads 2 --seconds 5\n  \
    stead bench model.onnx --dim batch=8 --clients 4 --json\n  \
    stead bench model.onnx --dim seq=128 --profile\n  \
    stead bench model.onnx --precision bf16 --dim seq=128\n  \
    stead bench model.onnx --ablate --seconds 20\n  \
    stead bench --target http://127.0.0.1:9000 --model vad --protocol grpc-stream --sequences 500 \\\n      \
    --interval 32ms --expect model.onnx\n  \
    stead bench --target http://127.0.0.1:8080 --model vad --sequences 500 --find-largest\n  \
    stead bench --target http://127.0.0.1:8080 --model vad --sequences 500 --carry state=stateN\n  \
    stead bench --target http://127.0.0.1:8080 --model mlp --clients 1..64 --plot mlp.svg\n  \
    stead bench --target http://127.0.0.1:8080 --queries queries.jsonl --rate 200 --seconds 10\n  \
    stead bench --target http://127.0.0.1:8080 --queries queries.txt --slo p95=50ms,p99=200ms --target-rate 10000")]
pub struct BenchArgs {
    /// The model file.
    #[arg(required_unless_present = "target", conflicts_with = "target")]
    model: Option<PathBuf>,
    #[command(flatten)]
    precision: PrecisionArgs,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    replay: ReplayArgs,
    /// Threads that compute one run.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "target")]
    threads: u16,
    /// How long to measure; with --target each load.
    #[arg(long, default_value_t = 3.0, conflicts_with_all = ["sequences", "concurrency"])]
    seconds: f64,
    /// Callers that run the model at the same time, 1 unless given. With --target clients in a closed loop: a number, a
    /// list or a range: 1..200 doubles from 1 on, 10..50:10 goes in steps of 10.
    #[arg(long, value_name = "N|N,N|A..B", conflicts_with_all = ["sequences", "concurrency"])]
    clients: Option<Counts>,
    /// Show where the time goes: time, calls, GFLOP/s and GB/s of each kernel, and of so many nodes, 20 unless given.
    #[arg(long, value_name = "NODES", num_args = 0..=1, require_equals = true, default_missing_value = "20",
        conflicts_with_all = ["target", "clients"])]
    profile: Option<usize>,
    /// Show nodes, steps and time of a run with each instruction set of the machine, with no, basic and all passes over
    /// the graph, and without each one; `ratio` is the time over that of the best instruction set with all passes.
    #[arg(long, conflicts_with_all = ["target", "clients", "profile"])]
    ablate: bool,
    /// Print JSON: min_ms median_ms p95_ms p99_ms runs throughput_per_s peak_rss_bytes
    /// plan_ms, error_against_f32 with --precision bf16, and profile where it was asked for; isa ladder; of a server: sequences steps steps_per_s p50_ms p99_ms p99_9_ms max_ms late errors ..., or
    /// clients rates bursts highest_rate machines.
    #[arg(long)]
    json: bool,
}

/// Runs the command; false means that a server gave wrong answers or errors.
pub fn run(args: &BenchArgs) -> Result<bool, Failure> {
    match &args.model {
        Some(model) => in_process(args, model).map(|()| true),
        None if args.precision.precision != Precision::F32 => {
            Err(Failure::usage("--precision: a server has the precision that its settings say"))
        }
        None if args.clients.is_some() || args.replay.is_wanted() => {
            let measured = seconds(args)?;
            let BenchArgs { replay, load, inputs, json: is_json, .. } = args;
            let clients = args.clients.as_ref();
            let is_json = *is_json;
            run_replay(&Replay { args: replay, load, inputs, clients, measured, is_json })
        }
        None => run_load(&args.load, &args.inputs, args.json),
    }
}

/// How long to measure.
fn seconds(args: &BenchArgs) -> Result<Duration, Failure> {
    let seconds = Duration::try_from_secs_f64(args.seconds).ok().filter(|s| !s.is_zero());
    seconds.ok_or_else(|| Failure::usage(format!("--seconds: {} is not above 0", args.seconds)))
}

fn in_process(args: &BenchArgs, model: &Path) -> Result<(), Failure> {
    let measured = seconds(args)?;
    let clients = args.clients.as_ref().map_or(Some(1), Counts::one).ok_or_else(|| {
        Failure::usage(
            "--clients: several numbers of clients go with --target; in process it is one",
        )
    })?;
    let specs = args.inputs.specs()?;
    let precision = args.precision.precision;
    if args.ablate && precision != Precision::F32 {
        return Err(Failure::usage("--ablate: the ladder is one of f32; leave out --precision"));
    }
    let threads = Threads::new(usize::from(args.threads))?;
    if args.ablate {
        return ablate::run(model, &args.inputs, &specs, &threads, measured, args.json);
    }
    let session = load(model, precision)?;
    let inputs = args.inputs.tensors(&session, &specs)?;
    for _ in 0..WARM_UP {
        once(&session, &inputs, &threads, None)?;
    }
    let profile = args.profile.map(|nodes| (Profile::default(), nodes));
    let note = |step: StepRun<'_>| {
        if let Some((profile, _)) = &profile {
            profile.note(&step);
        }
    };
    let watch: Option<Watch<'_>> = profile.is_some().then_some(&note);

    let plan_ms = session.plan_stats().planning.as_secs_f64() * 1e3;

    let started = Instant::now();
    let until = started + measured;
    let client = || -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::new();
        while times.is_empty() || Instant::now() < until {
            times.push(once(&session, &inputs, &threads, watch)?);
        }
        Ok(times)
    };
    let times: Result<Vec<Vec<Duration>>, Failure> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        let join = |c: std::thread::ScopedJoinHandle<'_, _>| {
            c.join().unwrap_or_else(|_| Err(Failure::failed("a run panicked")))
        };
        clients.into_iter().map(join).collect()
    });
    let elapsed = started.elapsed().as_secs_f64();
    let times = times?.concat();
    let total = times.iter().sum();
    let times = Times::new(times);
    let per_second = times.len() as f64 / elapsed;
    let rss = peak_rss_bytes();
    let ms = |percent| times.percentile_ms(percent);
    let profile =
        profile.map(|(profile, nodes)| profile::report(&profile, times.len(), total, nodes));
    // Behind the peak of memory: the model in f32 is in memory for this too.
    let cx = RunContext { parallel: &threads, ..RunContext::default() };
    let errors = errors_of(model, precision, &session, &inputs, &cx)?;

    if args.json {
        let mut report = json!({
            "min_ms": times.min_ms(), "median_ms": ms(50.0), "p95_ms": ms(95.0), "p99_ms": ms(99.0),
            "runs": times.len(), "throughput_per_s": per_second, "peak_rss_bytes": rss,
            "plan_ms": plan_ms,
        });
        if let Some(profile) = profile {
            report["profile"] = profile.json();
        }
        if let Some(errors) = &errors {
            report["error_against_f32"] = errors.json();
        }
        println!("{report}");
    } else {
        println!("{} runs in {elapsed:.2} s, {per_second:.1} per second", times.len());
        println!(
            "min {:.4} ms  median {:.4} ms  p95 {:.4} ms  p99 {:.4} ms",
            times.min_ms(),
            ms(50.0),
            ms(95.0),
            ms(99.0)
        );
        println!("plan made in {plan_ms:.2} ms");
        println!("peak memory {}", rss.map_or("unknown".to_owned(), human_bytes));
        if let Some(profile) = profile {
            print!("\n{}", profile.text());
        }
        if let Some(errors) = &errors {
            print!("{}", errors.text());
        }
    }
    Ok(())
}

/// What is told of each step.
type Watch<'a> = &'a (dyn Fn(StepRun<'_>) + Sync);

/// One run, outputs left where they lie.
fn once(
    session: &Session,
    inputs: &Inputs,
    threads: &Threads,
    profile: Option<Watch<'_>>,
) -> Result<Duration, Failure> {
    let views = inputs.views();
    let cx = RunContext { parallel: threads, profile, ..RunContext::default() };
    let started = Instant::now();
    session.run_with(&views, &cx, |_| ()).map_err(Failure::failed)?;
    Ok(started.elapsed())
}
