//! Scores the rows of a `.npy` file with a tree model and writes the scores as `.npy`.
//!
//!     cargo run -p stead-trees --example predict -- exact model.ubj rows.npy scores.npy
//!
//! A dump of XGBoost needs three words more for exact scores: objective, base_score and outputs.
//! `--names a,b,c` as the last two words gives the names of all features.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::process::ExitCode;

use stead_tensor::{Tensor, npy};
use stead_trees::{DumpFacts, Forest, Mode, ReadOptions, Rows, read};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut options = ReadOptions::default();
    if words.len() > 2 && words[words.len() - 2] == "--names" {
        options.feature_names = words.pop().map(|n| n.split(',').map(str::to_owned).collect());
        words.pop();
    }
    let [mode, model, rows, scores, facts @ ..] = &words[..] else {
        return Err(
            "usage: predict compat|exact MODEL ROWS.npy SCORES.npy [OBJECTIVE BASE OUTPUTS]".into(),
        );
    };
    if let [objective, base, outputs] = facts {
        let (base_score, outputs) = (Some(base.parse()?), outputs.parse()?);
        options.dump = DumpFacts { objective: Some(objective.clone()), base_score, outputs };
    }
    let mode = if mode == "compat" { Mode::Compat } else { Mode::Exact };
    let model = read(&std::fs::read(model)?, &options)?;
    for difference in model.differences() {
        println!("compat: {difference}");
    }
    let forest = Forest::new(&model, mode);
    let tensor = npy::read(&mut BufReader::new(File::open(rows)?), u64::MAX)?;
    let [count, features] = *tensor.shape().dims() else {
        return Err("rows have two dimensions".into());
    };
    let mut out = vec![0.0; count * forest.outputs()];
    if let Ok(values) = tensor.as_slice::<f32>() {
        forest.predict(&Rows::of_f32(values, features), &mut out)?;
    } else {
        forest.predict(&Rows::of_f64(tensor.as_slice::<f64>()?, features), &mut out)?;
    }
    let out = Tensor::from_slice(&out, &[count, forest.outputs()])?;
    npy::write(&mut BufWriter::new(File::create(scores)?), &out.view())?;
    Ok(())
}
