//! `stead run`: one evaluation of a model.

mod compare;
mod difference;
mod layers;
mod shown;

use std::fs::File;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use stead_engine::{IoSpec, LoadOptions, OwnedOutput, Precision, RunContext, Session, Value};
use stead_tensor::{Tensor, npz};

use super::precision::errors_of;
use super::prepare::{Inputs, ModelArgs, Threads, load_with};
use crate::failure::Failure;

/// Evaluate a model once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stead run model.onnx\n  \
    stead run model.onnx --input x=@x.npy --input sr=16000 --output out.npz\n  \
    stead run model.onnx --input @inputs.npz --dim batch=8 --json\n  \
    stead run model.onnx --input @inputs.npz --precision bf16\n  \
    stead run model.onnx --compare onnxruntime --layers")]
pub struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Write all outputs, which have to be tensors, to this npz file, under the model's names.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Threads that compute.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Print the outputs as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    compare: compare::CompareArgs,
}

/// Runs the command; false when outputs differ from those of another runtime.
pub fn run(args: &RunArgs) -> Result<bool, Failure> {
    args.compare.check()?;
    let specs = args.model.inputs.specs()?;
    let precision = args.model.precision.precision;
    if args.compare.compare.is_some() && precision != Precision::F32 {
        return Err(Failure::usage("--compare: it is f32 that is compared; leave out --precision"));
    }
    let options = LoadOptions { lists: true, ..LoadOptions::default() };
    let session = load_with(&args.model.model, precision, &options)?;
    let inputs = args.model.inputs.tensors(&session, &specs)?;
    let threads = Threads::new(usize::from(args.threads))?;
    let cx = RunContext { parallel: &threads, ..RunContext::default() };
    let names: Vec<&str> = session.model().outputs().iter().map(|o| o.name.as_str()).collect();
    let outputs = all_values(&session, &inputs, &cx)?;

    if let Some(path) = &args.output {
        let named = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
        let file = File::create(path).map_err(|e| named(&e))?;
        let tensors = tensors(&session, &outputs)?;
        let arrays = names.iter().copied().zip(tensors.iter().map(Tensor::view));
        npz::write(file, arrays).map_err(|e| named(&e))?;
    }
    if args.compare.compare.is_some() {
        let outputs = &tensors(&session, &outputs)?;
        let inputs = compare::Given { session: &session, inputs: &inputs, outputs };
        return args.compare.run(&args.model.model, &inputs, &cx, args.json);
    }
    let errors = errors_of(&args.model.model, precision, &session, &inputs, &cx)?;
    if args.json {
        let rows = names.iter().zip(&outputs).map(|(name, value)| {
            let mut row = shown::json(value);
            row["name"] = (*name).into();
            row
        });
        let rows: Vec<Json> = rows.collect();
        let mut report = json!({ "outputs": rows });
        if let Some(errors) = &errors {
            report["error_against_f32"] = errors.json();
        }
        println!("{report}");
    } else {
        for (name, value) in names.iter().zip(&outputs) {
            println!("{name}: {}", shown::text(value));
        }
        if let Some(errors) = &errors {
            print!("{}", errors.text());
        }
    }
    Ok(true)
}

/// Runs a session and copies every output.
pub(super) fn all_outputs(
    session: &Session,
    inputs: &Inputs,
    cx: &RunContext<'_>,
) -> Result<Vec<Tensor>, Failure> {
    tensors(session, &all_values(session, inputs, cx)?)
}

/// Runs a session and copies every output, which may be no tensor.
fn all_values(
    session: &Session,
    inputs: &Inputs,
    cx: &RunContext<'_>,
) -> Result<Vec<Value<Tensor>>, Failure> {
    let views = inputs.views().into_iter();
    let given: Vec<_> = views.map(|view| view.map_or(Value::Nothing, Value::Tensor)).collect();
    let all: Vec<usize> = (0..session.model().outputs().len()).collect();
    let outputs = session.run_values(&given, cx, &all).map_err(Failure::failed)?;
    let made = outputs.into_iter().map(|value| value.try_map(OwnedOutput::into_tensor));
    made.collect::<Result<_, _>>().map_err(Failure::failed)
}

/// The outputs as tensors, which they have to be for what compares them or writes them to a file.
fn tensors(session: &Session, outputs: &[Value<Tensor>]) -> Result<Vec<Tensor>, Failure> {
    let tensor = |(spec, value): (&IoSpec, &Value<Tensor>)| {
        let no_tensor = || format!("output `{}` is {}, no tensor", spec.name, value.noun());
        value.tensor().cloned().ok_or_else(|| Failure::failed(no_tensor()))
    };
    session.model().outputs().iter().zip(outputs).map(tensor).collect()
}
