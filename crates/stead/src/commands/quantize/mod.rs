//! `stead quantize`: a model with smaller weights, and what that costs.

mod report;
mod runs;
mod speed;

use std::path::{Path, PathBuf};

use stead_engine::{LoadOptions, Model as Loaded, RunContext, Session, SessionOptions};
use stead_onnx::{Limits, Model, Weights};
use stead_quantize::{Bits, Report, calibrate, compare, dynamic, fixed, fold_weights, weight_only};

use super::prepare::Threads;
use crate::failure::Failure;
use report::Outcome;

/// Write a model with smaller weights, and tell what that costs and brings
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stead quantize model.onnx --mode dynamic -o small.onnx\n  \
    stead quantize model.onnx --mode static --calibrate first.npz --calibrate second.npz -o small.onnx\n  \
    stead quantize model.onnx --mode weight-only --bits 8 --dim seq=128 -o small.onnx --json\n\n\
    Files of every mode are standard ones that ONNX Runtime loads too.")]
pub struct QuantizeArgs {
    /// The model file, of any format. What is written is ONNX.
    model: PathBuf,
    /// dynamic: bytes, inputs quantised by what they are in each run. static: bytes, inputs quantised by the ranges that
    /// --calibrate shows. weight-only: weights of 4 or 8 bits, those of recurrent layers always 8, inputs as they are.
    #[arg(long)]
    mode: Mode,
    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Inputs by name, for ranges and for the comparison. Arrays with one dimension more than the model's inputs hold a run
    /// in each of their rows. Several files are several runs.
    #[arg(long, value_name = "NPZ")]
    calibrate: Vec<PathBuf>,
    /// dynamic: a scale for each column of a matrix, or row of an LSTM's weights, instead of one for all.
    #[arg(long)]
    per_channel: bool,
    /// weight-only: bits of a weight, 4 unless given.
    #[arg(long, value_parser = ["4", "8"])]
    bits: Option<String>,
    /// weight-only: weights that share a scale, 32 unless given.
    #[arg(long, value_name = "SIZE")]
    block_size: Option<usize>,
    /// Weights in a file beside the model, as they are in any case above 2 GB.
    #[arg(long)]
    external_data: bool,
    /// The size of a free dimension of random inputs, 1 unless given: seq=128.
    #[arg(long, value_name = "NAME=SIZE", conflicts_with = "calibrate")]
    dim: Vec<String>,
    /// Seed of random inputs, which are taken for the comparison where there is no --calibrate.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads that compute.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Print JSON: mode quantized left bytes outputs speed_up inputs.
    #[arg(long)]
    json: bool,
}

/// How a model is quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "kebab-case")]
enum Mode {
    Dynamic,
    Static,
    WeightOnly,
}

/// Runs the command.
pub fn run(args: &QuantizeArgs) -> Result<(), Failure> {
    check(args)?;
    let (bits, block_size) = blocks(args)?;
    let read = stead_formats::read(&args.model, &Limits::default());
    let mut model = read.map_err(Failure::failed)?;
    fold_weights(&mut model);
    let original = session(model.clone())?;
    let runs = runs::of(&original, args)?;
    let threads = Threads::new(usize::from(args.threads))?;
    let context = RunContext { parallel: &threads, ..RunContext::default() };
    let bar = bar(args, runs.len());
    let changed = match args.mode {
        Mode::Dynamic => dynamic(&mut model, args.per_channel),
        Mode::WeightOnly => weight_only(&mut model, bits, block_size),
        Mode::Static => calibrate(&model, &runs, &context, || bar.inc(1))
            .and_then(|ranges| fixed(&mut model, &ranges)),
    };
    let changed: Report = changed.map_err(Failure::failed)?;
    let weights = if args.external_data { Weights::Beside } else { Weights::of(&model) };
    let bytes = model.write(&args.output, weights);
    let named = |e| Failure::failed(format!("{}: {e}", args.output.display()));
    let bytes = [size_of(&args.model, &original)?, bytes.map_err(named)?];
    drop(model);
    // What is measured is what the file says.
    let loaded = Loaded::load(&args.output, &LoadOptions::default()).map_err(Failure::failed)?;
    let quantized = Session::new(loaded, &SessionOptions::default()).map_err(Failure::failed)?;
    let outputs = compare(&original, &quantized, &runs, &context, || bar.inc(1));
    let outputs = outputs.map_err(Failure::failed)?;
    let speed = speed::measured(&original, &quantized, &runs[0], &context, || bar.inc(1))?;
    bar.finish_and_clear();
    Outcome { args, changed, bytes, runs: runs.len(), outputs, speed }.print();
    Ok(())
}

fn session(model: Model) -> Result<Session, Failure> {
    let loaded = Loaded::from_onnx(model, &LoadOptions::default()).map_err(Failure::failed)?;
    Session::new(loaded, &SessionOptions::default()).map_err(Failure::failed)
}

/// Refuses options that the mode does not have, and an output that would be an input.
fn check(args: &QuantizeArgs) -> Result<(), Failure> {
    let refused = [
        ("--per-channel", args.per_channel, Mode::Dynamic),
        ("--bits", args.bits.is_some(), Mode::WeightOnly),
        ("--block-size", args.block_size.is_some(), Mode::WeightOnly),
    ];
    for (option, given, mode) in refused {
        if given && args.mode != mode {
            let mode = clap::ValueEnum::to_possible_value(&mode);
            let mode = mode.map_or_else(String::new, |m| m.get_name().to_owned());
            return Err(Failure::usage(format!("{option} goes with --mode {mode}")));
        }
    }
    if args.mode == Mode::Static && args.calibrate.is_empty() {
        return Err(Failure::usage(
            "--mode static needs the ranges of values: --calibrate inputs.npz, inputs as the model will get them",
        ));
    }
    let real = |path: &Path| path.canonicalize().ok();
    if real(&args.output).is_some_and(|output| Some(output) == real(&args.model)) {
        return Err(Failure::usage("--output is the model itself: name another file"));
    }
    Ok(())
}

/// Bits and weights of a block.
fn blocks(args: &QuantizeArgs) -> Result<(Bits, usize), Failure> {
    let size = args.block_size.unwrap_or(32);
    if !size.is_power_of_two() || !(16..=256).contains(&size) {
        return Err(Failure::usage(format!(
            "--block-size: {size} is no power of two from 16 to 256"
        )));
    }
    Ok((if args.bits.as_deref() == Some("8") { Bits::Eight } else { Bits::Four }, size))
}

/// The bytes of a model on disk: its file, and the weights that lie beside it.
fn size_of(path: &Path, session: &Session) -> Result<u64, Failure> {
    let named = |e: std::io::Error| Failure::failed(format!("{}: {e}", path.display()));
    let mut file = 0;
    for path in stead_formats::files(path) {
        file += std::fs::metadata(path).map_err(named)?.len();
    }
    let weights = session.model().info().parameter_bytes as u64;
    // A file smaller than its weights has them elsewhere.
    Ok(if file < weights { file + weights } else { file })
}

fn bar(args: &QuantizeArgs, runs: usize) -> indicatif::ProgressBar {
    let passes = if args.mode == Mode::Static { 2 } else { 1 };
    let steps = (passes * runs + speed::PAIRS) as u64;
    match !args.json && std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        true => indicatif::ProgressBar::new(steps),
        false => indicatif::ProgressBar::hidden(),
    }
}
