//! `stead inspect`: what a model file holds and what the engine makes of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use stead_engine::{Form, IoSpec, LoadOptions, Model, Session, SessionOptions, Typed};
use stead_onnx::{Limits, Node};

use crate::failure::Failure;
use crate::inputs::{self, Spec};
use crate::measure::human_bytes;

/// Show inputs, outputs, operators, memory and plans of a model
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stead inspect model.onnx\n  stead inspect model.onnx --passes\n  \
    stead inspect model.onnx --plan input_ids:1x128 --plan attention_mask:1x128"
)]
pub struct InspectArgs {
    /// The model file.
    model: PathBuf,
    /// Show the number of nodes after each pass.
    #[arg(long)]
    passes: bool,
    /// Show the flat program for these input shapes: name:AxBxC, once for each input; other inputs get their
    /// declared shape with free dimensions of 1.
    #[arg(long, value_name = "NAME:SHAPE", num_args = 0..=1, default_missing_value = "")]
    plan: Vec<String>,
    /// The size of a free dimension for --plan: seq=128.
    #[arg(long, value_name = "NAME=SIZE")]
    dim: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<(), Failure> {
    let options = LoadOptions { lists: true, ..LoadOptions::default() };
    let file = stead_formats::read(&args.model, &options.limits).map_err(Failure::failed)?;
    let model = Model::from_onnx(file, &options)
        .map_err(|e| Failure::failed(with_unsupported(&args.model, e.to_string())))?;
    if args.json {
        println!("{}", report(&model));
    } else {
        show(&model, args.passes);
    }
    if !args.plan.is_empty() {
        plan(model, args)?;
    }
    Ok(())
}

fn show(model: &Model, passes: bool) {
    let info = model.info();
    println!("ir {}, written by {}", info.ir_version, info.written_by());
    let named = |domain: &str| if domain.is_empty() { "ai.onnx" } else { domain }.to_owned();
    let opsets: Vec<String> =
        info.opsets.iter().map(|(d, v)| format!("{} {v}", named(d))).collect();
    println!("opsets: {}", opsets.join(", "));
    println!("parameters: {} ({})", info.parameters, human_bytes(info.parameter_bytes as u64));
    let side = |title: &str, specs: &[IoSpec], form: &dyn Fn(usize) -> Form| {
        println!("{title}:");
        for (at, spec) in specs.iter().enumerate() {
            let optional = if spec.optional { " (optional)" } else { "" };
            let IoSpec { name, dtype, .. } = spec;
            match form(at) {
                Form::Tensor => println!("  {name} {dtype}{}{optional}", spec.dims_text()),
                // The elements of a sequence have shapes of their own.
                form => println!("  {name} {}{optional}", Typed { dtype: *dtype, form }),
            }
        }
    };
    side("inputs", model.inputs(), &|at| model.input_form(at));
    side("outputs", model.outputs(), &|at| model.output_form(at));
    let ops: Vec<String> = info.op_counts.iter().map(|(op, n)| format!("{op} {n}")).collect();
    println!("operators: {}", ops.join(", "));
    println!("unsupported: none");
    if passes {
        println!("{:<28} {:>8} {:>8}", "pass", "changes", "nodes");
        for report in model.pass_reports() {
            println!("{:<28} {:>8} {:>8}", report.pass, report.changes, report.nodes);
        }
    }
}

fn report(model: &Model) -> serde_json::Value {
    let info = model.info();
    let side = |specs: &[IoSpec], form: &dyn Fn(usize) -> Form| -> Vec<serde_json::Value> {
        let dims = |spec: &IoSpec| -> Option<Vec<String>> {
            spec.dims.as_ref().map(|dims| dims.iter().map(ToString::to_string).collect())
        };
        let row = |(at, s): (usize, &IoSpec)| {
            json!({
                "name": s.name, "form": form(at).name(), "datatype": s.dtype.name(), "shape": dims(s),
                "optional": s.optional,
            })
        };
        specs.iter().enumerate().map(row).collect()
    };
    let passes: Vec<serde_json::Value> = model
        .pass_reports()
        .iter()
        .map(|r| json!({"pass": r.pass, "changes": r.changes, "nodes": r.nodes}))
        .collect();
    json!({
        "ir_version": info.ir_version,
        "producer": info.written_by(),
        "opsets": info.opsets.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "parameters": info.parameters,
        "parameter_bytes": info.parameter_bytes,
        "inputs": side(model.inputs(), &|at| model.input_form(at)),
        "outputs": side(model.outputs(), &|at| model.output_form(at)),
        "operators": info.op_counts.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "passes": passes,
    })
}

/// A load error names the first operator that is missing; whoever exports a model wants to know all.
fn with_unsupported(path: &Path, error: String) -> String {
    let Ok(file) = stead_formats::read(path, &Limits::default()) else { return error };
    let mut missing = BTreeSet::new();
    collect_missing(&file, &file.graph.nodes, &mut missing);
    if missing.len() < 2 {
        return error;
    }
    let list: Vec<String> = missing.into_iter().collect();
    format!("{error}\nunsupported operators: {}", list.join(", "))
}

/// Adds the operators of `nodes` and of their bodies for which the engine has no definition.
fn collect_missing(file: &stead_onnx::Model, nodes: &[Node], missing: &mut BTreeSet<String>) {
    for node in nodes {
        let opset = file.opset(&node.domain).unwrap_or(0);
        let local =
            file.functions.iter().any(|f| f.name == node.op_type && f.domain == node.domain);
        if !local && stead_engine::ops::find(&node.domain, &node.op_type, opset).is_err() {
            let domain = if node.domain.is_empty() { "ai.onnx" } else { &node.domain };
            missing.insert(format!("{domain}:{}", node.op_type));
        }
        for (_, body) in node.subgraphs() {
            collect_missing(file, &body.nodes, missing);
        }
    }
}

/// Prints the program for the shapes that `--plan` gives.
fn plan(model: Model, args: &InspectArgs) -> Result<(), Failure> {
    let session = Session::new(model, &SessionOptions::default()).map_err(Failure::failed)?;
    let declared = session.model().inputs();
    let spec = |text: &String| -> Result<Spec, Failure> {
        let (name, shape) = text.rsplit_once(':').unwrap_or((text, ""));
        let input = declared.iter().find(|input| input.name == name);
        let input =
            input.ok_or_else(|| Failure::usage(format!("the model has no input `{name}`")))?;
        inputs::parse_spec(&format!("{name}:{}:{shape}", input.dtype))
    };
    let specs: Result<Vec<Spec>, Failure> =
        args.plan.iter().filter(|text| !text.is_empty()).map(spec).collect();
    let dims: Result<_, Failure> = args.dim.iter().map(|text| inputs::parse_dim(text)).collect();
    let named = inputs::gather(declared, &specs?, &[], &dims?, 0)?;
    let find = |input: &IoSpec| named.iter().find(|(name, _)| *name == input.name);
    let views: Vec<_> = declared.iter().map(|input| find(input).map(|(_, t)| t.view())).collect();
    println!("{}", session.plan_view(&views).map_err(Failure::failed)?);
    Ok(())
}
