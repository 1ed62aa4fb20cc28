//! Times a model on one thread with inputs of ones, in blocks of channels and in planes turn by turn, and prints the
//! kernels of its plan with their times.
//!
//! `cargo run --release -p stead-engine --example time_model MODEL.onnx [SECONDS] [SIZES]`
//!
//! Dimensions that the file leaves open have these sizes, in the order in which an input has them: `1x128` for a batch of
//! one text of 128 tokens. Others are 1.

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use stead_engine::{LoadOptions, Model, PassChoice, RunContext, Session, SessionOptions, StepRun};
use stead_tensor::{DType, Tensor};

/// Runs whose kernels are timed.
const RUNS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("the path of a model is missing")?;
    let seconds: f64 = args.next().map_or(Ok(3.0), |s| s.parse())?;
    let sizes = args.next().unwrap_or_default();
    let sizes = sizes.split('x').filter(|s| !s.is_empty()).map(str::parse);
    let sizes = sizes.collect::<Result<Vec<usize>, _>>()?;
    let session = |passes| -> Result<Session, Box<dyn std::error::Error>> {
        let load = LoadOptions { passes, ..LoadOptions::default() };
        let model = Model::load(Path::new(&path), &load)?;
        Ok(Session::new(model, &SessionOptions::default())?)
    };
    let in_planes = PassChoice::AllBut("blocks of channels");
    let (blocks, planes) = (session(PassChoice::All)?, session(in_planes)?);
    let inputs = blocks.model().inputs().iter().map(|input| {
        let dims = input.dims.as_ref().ok_or("an input of unknown rank")?;
        let mut open = sizes.iter().copied();
        let dims = dims.iter().map(|d| d.known().or_else(|| open.next()).unwrap_or(1));
        let dims: Vec<usize> = dims.collect();
        let count = dims.iter().product();
        let number = |i: usize| ((i * 7919) % 1000) as f32 * 0.002 - 1.0;
        Ok(match input.dtype {
            DType::I64 => Tensor::from_slice(&vec![1i64; count], &dims)?,
            _ => Tensor::from_slice(&(0..count).map(number).collect::<Vec<f32>>(), &dims)?,
        })
    });
    let inputs = inputs.collect::<Result<Vec<Tensor>, Box<dyn std::error::Error>>>()?;
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let context = RunContext::default();
    let mut times = [Vec::new(), Vec::new()];
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end {
        for (session, times) in [&blocks, &planes].into_iter().zip(&mut times) {
            let start = Instant::now();
            session.run_with(&views, &context, |_| ())?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    for (label, times) in ["blocks", "planes"].into_iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let middle = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
        let least = times.first().copied().unwrap_or(f64::NAN);
        println!(
            "{label}: {middle:.3} ms in the middle, {least:.3} ms at least, of {}",
            times.len()
        );
    }
    let kernels = Mutex::new(Vec::<(&str, usize, Duration)>::new());
    let count = |step: StepRun<'_>| {
        let Ok(mut kernels) = kernels.lock() else { return };
        match kernels.iter_mut().find(|(name, ..)| *name == step.kernel) {
            Some((_, calls, time)) => (*calls, *time) = (*calls + 1, *time + step.time),
            None => kernels.push((step.kernel, 1, step.time)),
        }
    };
    for _ in 0..RUNS {
        let context = RunContext { profile: Some(&count), ..RunContext::default() };
        blocks.run_with(&views, &context, |_| ())?;
    }
    let mut kernels = kernels.into_inner().unwrap_or_default();
    kernels.sort_by_key(|(_, _, time)| Reverse(*time));
    for (name, calls, time) in kernels {
        let each = time.as_secs_f64() * 1e6 / RUNS as f64;
        println!("{name:>24} {:>5} times {each:>10.1} us", calls / RUNS);
    }
    Ok(())
}
