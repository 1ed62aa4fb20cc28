//! `stead run`: one evaluation of a model.

mod compare;
mod difference;
mod layers;

use std::fs::File;
use std::path::PathBuf;

use serde_json::{Value, json};
use stead_engine::{Precision, RunContext, Session};
use stead_tensor::{Tensor, TensorView, npz};

use super::precision::errors_of;
use super::prepare::{Inputs, ModelArgs, Threads, load};
use crate::failure::Failure;
use crate::values::{json_of, preview};

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
    /// Write all outputs to this npz file, under the model's names.
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
    let session = load(&args.model.model, precision)?;
    let inputs = args.model.inputs.tensors(&session, &specs)?;
    let threads = Threads::new(usize::from(args.threads))?;
    let cx = RunContext { parallel: &threads, ..RunContext::default() };
    let names: Vec<&str> = session.model().outputs().iter().map(|o| o.name.as_str()).collect();
    let outputs = all_outputs(&session, &inputs, &cx)?;

    if let Some(path) = &args.output {
        let named = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
        let file = File::create(path).map_err(|e| named(&e))?;
        let arrays = names.iter().copied().zip(outputs.iter().map(Tensor::view));
        npz::write(file, arrays).map_err(|e| named(&e))?;
    }
    if args.compare.compare.is_some() {
        let inputs = compare::Given { session: &session, inputs: &inputs, outputs: &outputs };
        return args.compare.run(&args.model.model, &inputs, &cx, args.json);
    }
    let errors = errors_of(&args.model.model, precision, &session, &inputs, &cx)?;
    if args.json {
        let row = |(name, tensor): (&&str, &Tensor)| {
            json!({
                "name": name,
                "datatype": tensor.dtype().name(),
                "shape": tensor.shape().dims(),
                "data": json_of(tensor.view()),
            })
        };
        let rows: Vec<Value> = names.iter().zip(&outputs).map(row).collect();
        let mut report = json!({ "outputs": rows });
        if let Some(errors) = &errors {
            report["error_against_f32"] = errors.json();
        }
        println!("{report}");
    } else {
        for (name, tensor) in names.iter().zip(&outputs) {
            println!("{name}: {} {:?}", tensor.dtype(), tensor.shape().dims());
            println!("  {}", preview(tensor.view()));
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
    let outputs: Result<Vec<Tensor>, String> = session
        .run_with(&inputs.views(), cx, |outputs| {
            let copy = |i| {
                let view: TensorView<'_> = outputs.get(i).map_err(|e| e.to_string())?;
                view.to_tensor().map_err(|e| e.to_string())
            };
            (0..session.model().outputs().len()).map(copy).collect()
        })
        .map_err(Failure::failed)?;
    outputs.map_err(Failure::failed)
}
