//! Runs a model for the inputs of a `.npz` file and writes all outputs as `.npz`, by their names.
//!
//!     cargo run -p stead-engine --example outputs -- model.onnx inputs.npz outputs.npz

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::process::ExitCode;

use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_tensor::npz;

/// Bytes that the arrays of a file may have.
const MAX_BYTES: u64 = 1 << 30;

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
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, inputs, outputs] = &words[..] else {
        return Err("usage: outputs MODEL INPUTS.npz OUTPUTS.npz".into());
    };
    let model = Model::load(std::path::Path::new(model), &LoadOptions::default())?;
    let session = Session::new(model, &SessionOptions::default())?;
    let given = npz::read(BufReader::new(File::open(inputs)?), MAX_BYTES)?;
    let views: Vec<_> = given.iter().map(|(name, tensor)| (name.as_str(), tensor.view())).collect();
    let names: Vec<String> =
        session.model().outputs().iter().map(|output| output.name.clone()).collect();
    let results = session.run(&views, &[])?;
    let named = names.iter().zip(&results).map(|(name, tensor)| (name.as_str(), tensor.view()));
    npz::write(BufWriter::new(File::create(outputs)?), named)?;
    Ok(())
}
