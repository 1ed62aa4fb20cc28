//! `stead run`: one evaluation of a model.

use std::fs::File;
use std::path::PathBuf;

use serde_json::{Value, json};
use stead_engine::RunContext;
use stead_tensor::{Tensor, TensorView, npz};

use super::prepare::{ModelArgs, Threads, load};
use crate::failure::Failure;
use crate::values::{json_of, preview};

/// Evaluate a model once
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  stead run model.onnx\n  \
    stead run model.onnx --input x=@x.npy --input sr=16000 --output out.npz\n  \
    stead run model.onnx --input @inputs.npz --dim batch=8 --json")]
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
}

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let specs = args.model.inputs.specs()?;
    let session = load(&args.model.model)?;
    let inputs = args.model.inputs.tensors(&session, &specs)?;
    let threads = Threads::new(usize::from(args.threads))?;
    let cx = RunContext { parallel: &threads, ..RunContext::default() };
    let names: Vec<&str> = session.model().outputs().iter().map(|o| o.name.as_str()).collect();
    let outputs: Result<Vec<Tensor>, String> = session
        .run_with(&inputs.views(), &cx, |outputs| {
            let copy = |i| {
                let view: TensorView<'_> = outputs.get(i).map_err(|e| e.to_string())?;
                view.to_tensor().map_err(|e| e.to_string())
            };
            (0..names.len()).map(copy).collect()
        })
        .map_err(Failure::failed)?;
    let outputs = outputs.map_err(Failure::failed)?;

    if let Some(path) = &args.output {
        let named = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
        let file = File::create(path).map_err(|e| named(&e))?;
        let arrays = names.iter().copied().zip(outputs.iter().map(Tensor::view));
        npz::write(file, arrays).map_err(|e| named(&e))?;
    }
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
        println!("{}", json!({ "outputs": rows }));
    } else {
        for (name, tensor) in names.iter().zip(&outputs) {
            println!("{name}: {} {:?}", tensor.dtype(), tensor.shape().dims());
            println!("  {}", preview(tensor.view()));
        }
    }
    Ok(())
}
