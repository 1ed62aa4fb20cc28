//! Times a model in f32 and in bf16 on one thread, turn by turn, and prints the median of the paired ratios and how far the
//! outputs lie apart.
//!
//! `cargo run --release -p stead-engine --example precision_speed MODEL.onnx [NAME=SIZE ...]`

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::path::Path;
use std::time::Instant;
use stead_engine::{LoadOptions, Model, Precision, RunContext, Session, SessionOptions};
use stead_tensor::{DType, Tensor};

/// Turns after which the medians are steady, and the least time in seconds.
const TURNS: usize = 21;
const SECONDS: f64 = 4.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("the path of a model is missing")?;
    let sizes: Vec<(String, usize)> = args
        .map(|arg| {
            let (name, size) = arg.split_once('=').ok_or("NAME=SIZE expected")?;
            Ok((name.to_owned(), size.parse()?))
        })
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    let session = |precision| -> Result<Session, Box<dyn std::error::Error>> {
        let before = resident();
        let model = Model::load(Path::new(&path), &LoadOptions::default())?;
        let options = SessionOptions { precision, ..SessionOptions::default() };
        let session = Session::new(model, &options)?;
        println!("{precision}: {:.1} MB more in memory", (resident() - before) / 1e6);
        Ok(session)
    };
    let half = session(Precision::Bf16)?;
    let wide = session(Precision::F32)?;
    let mut inputs = Vec::new();
    for input in wide.model().inputs() {
        let dims = input.dims.as_ref().ok_or("an input of unknown rank")?;
        let size = |d: &stead_engine::Dim| {
            let named = sizes.iter().find(|(name, _)| *name == d.to_string());
            d.known().or(named.map(|(_, size)| *size)).unwrap_or(1)
        };
        let dims: Vec<usize> = dims.iter().map(size).collect();
        let count = dims.iter().product();
        let number = |i: usize| ((i * 7919) % 1000) as f32 * 0.002 - 1.0;
        inputs.push(match input.dtype {
            DType::I64 if input.name.contains("ids") && !input.name.contains("type") => {
                let ids: Vec<i64> =
                    (0..count).map(|i: usize| 1000 + (i * 7919 % 9000) as i64).collect();
                Tensor::from_slice(&ids, &dims)?
            }
            DType::I64 if input.name.contains("type") => {
                Tensor::from_slice(&vec![0i64; count], &dims)?
            }
            DType::I64 => Tensor::from_slice(&vec![1i64; count], &dims)?,
            _ => Tensor::from_slice(&(0..count).map(number).collect::<Vec<f32>>(), &dims)?,
        });
    }
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let time = |session: &Session| -> Result<f64, Box<dyn std::error::Error>> {
        let start = Instant::now();
        session.run_with(&views, &RunContext::default(), |_| ())?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    let (mut f32, mut bf16, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let begin = Instant::now();
    while ratios.len() < TURNS || begin.elapsed().as_secs_f64() < SECONDS {
        let (x, y) = (time(&wide)?, time(&half)?);
        f32.push(x);
        bf16.push(y);
        ratios.push(x / y);
    }
    println!(
        "f32 {:.3} ms, bf16 {:.3} ms, {:.2} times as fast",
        middle(f32),
        middle(bf16),
        middle(ratios)
    );
    let outputs = |session: &Session| {
        session.run_with(&views, &RunContext::default(), |outputs| {
            let of =
                |i| Ok(outputs.get(i)?.as_slice::<f32>().map(<[f32]>::to_vec).unwrap_or_default());
            (0..session.model().outputs().len())
                .map(of)
                .collect::<Result<Vec<_>, stead_engine::RunError>>()
        })
    };
    for (i, (x, y)) in outputs(&wide)??.iter().zip(&outputs(&half)??).enumerate() {
        let dot = |x: &[f32], y: &[f32]| -> f64 {
            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let apart = x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        let cosine = dot(x, y) / (dot(x, x) * dot(y, y)).sqrt();
        println!("output {i}: at most {apart:e} apart, cosine {cosine:.7}");
    }
    Ok(())
}

/// Bytes of this process in memory; 0 where the system does not tell.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}

fn middle(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x.get(x.len() / 2).copied().unwrap_or(f64::NAN)
}
