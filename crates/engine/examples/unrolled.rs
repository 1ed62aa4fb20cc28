//! What rolling up recurrences that were unrolled is worth: kernel calls and time with and without it, turn by turn.
//!
//! ```text
//! cargo run --release -p stead-engine --example unrolled -- MODEL.onnx [BATCH [PAIRS [FOLDER]]]
//! ```
//!
//! Free dimensions are BATCH. Inputs are seeded numbers, or those of `FOLDER/<input>.npy`; then the largest difference
//! from `FOLDER/<output>.npy` is printed too.
#![allow(clippy::print_stdout, reason = "what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::Instant;
use stead_engine::{LoadOptions, Model, PassChoice, Session, SessionOptions};
use stead_tensor::{DType, Tensor, npy};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args.first().ok_or("a model file is needed")?;
    let number = |at: usize, or: usize| args.get(at).map_or(Ok(or), |v| v.parse());
    let (batch, pairs) = (number(1, 1)?, number(2, 10)?);
    let folder = args.get(3).map(Path::new);
    let session = |passes: PassChoice| -> Result<Session, Box<dyn Error>> {
        let options = LoadOptions { passes, ..LoadOptions::default() };
        let model = Model::load(path.as_ref(), &options)?;
        for report in model.pass_reports().iter().filter(|r| r.changes > 0 || r.pass == "file") {
            println!("{:24} {:5} changes, {:5} nodes", report.pass, report.changes, report.nodes);
        }
        Ok(Session::new(model, &SessionOptions::default())?)
    };
    let sessions =
        [session(PassChoice::AllBut("unrolled recurrences"))?, session(PassChoice::All)?];
    let mut inputs = Vec::new();
    for (at, spec) in sessions[0].model().inputs().iter().enumerate() {
        let dims = spec.dims.iter().flatten().map(|d| d.known().unwrap_or(batch));
        let dims: Vec<usize> = dims.collect();
        inputs.push(match folder {
            Some(folder) => read(folder, &spec.name)?,
            None => seeded(spec.dtype, &dims, at)?,
        });
    }
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let cx = stead_engine::RunContext::default();
    let mut results = Vec::new();
    for session in &sessions {
        let outputs = session.run_with(&views, &cx, |outputs| {
            (0..outputs.len()).map(|i| Ok(outputs.get(i)?.to_tensor()?)).collect()
        })?;
        let outputs: Result<Vec<Tensor>, Box<dyn Error>> = outputs;
        results.push(outputs?);
        let plan = session.plan_view(&views)?;
        let mut kernels: BTreeMap<&str, usize> = BTreeMap::new();
        plan.steps.iter().for_each(|step| *kernels.entry(step.kernel).or_default() += 1);
        println!("{} kernel calls: {kernels:?}", plan.steps.len());
    }
    println!("the two differ by {:e}", difference(&results[0], &results[1])?);
    if let Some(folder) = folder {
        let names = sessions[1].model().outputs().iter().map(|spec| read(folder, &spec.name));
        let expected = names.collect::<Result<Vec<_>, _>>()?;
        println!("the folder differs by {:e}", difference(&expected, &results[1])?);
    }
    let mut times = [Vec::new(), Vec::new()];
    let mut ratios = Vec::new();
    for _ in 0..pairs {
        let mut pair = [0.0; 2];
        for (at, session) in sessions.iter().enumerate() {
            let started = Instant::now();
            session.run_with(&views, &cx, |_| ())?;
            pair[at] = started.elapsed().as_secs_f64() * 1e3;
            times[at].push(pair[at]);
        }
        ratios.push(pair[0] / pair[1]);
    }
    for (label, times) in ["unrolled", "rolled up"].into_iter().zip(&mut times) {
        let best = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{:9.3} ms, at best {best:.3} ms, {label}", median(times));
    }
    println!("{:9.2} times as fast", median(&mut ratios));
    Ok(())
}

fn read(folder: &Path, name: &str) -> Result<Tensor, Box<dyn Error>> {
    let path = folder.join(format!("{name}.npy"));
    Ok(npy::read(&mut File::open(path)?, 1 << 30)?)
}

/// Floats between -1 and 1, and small integers.
fn seeded(dtype: DType, dims: &[usize], seed: usize) -> Result<Tensor, Box<dyn Error>> {
    let n: usize = dims.iter().product();
    let draws = (0..n).map(|i| (i * 7919 + seed * 104_729) % 2001);
    Ok(match dtype {
        DType::I64 => Tensor::from_slice(&draws.map(|v| v as i64).collect::<Vec<_>>(), dims)?,
        _ => {
            let values: Vec<f32> = draws.map(|v| v as f32 / 1000.0 - 1.0).collect();
            Tensor::from_slice(&values, dims)?
        }
    })
}

/// The largest difference between the floats of two sets of outputs, relative to the larger of 1 and the number.
fn difference(a: &[Tensor], b: &[Tensor]) -> Result<f32, Box<dyn Error>> {
    let mut largest = 0.0f32;
    for (a, b) in a.iter().zip(b).filter(|(a, _)| a.dtype() == DType::F32) {
        if a.shape() != b.shape() {
            return Err(format!("shapes {} and {}", a.shape(), b.shape()).into());
        }
        for (a, b) in a.as_slice::<f32>()?.iter().zip(b.as_slice::<f32>()?) {
            largest = largest.max((a - b).abs() / a.abs().max(1.0));
        }
    }
    Ok(largest)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
