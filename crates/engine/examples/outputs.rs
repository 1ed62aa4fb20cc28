//! Runs a model for the inputs of a `.npz` file and writes all outputs as `.npz`, by their names. A map is two arrays, its
//! keys under its name and `/keys`, and its values under its name and `/values`; so are maps in a sequence, whose values are a
//! table.
//!
//!     cargo run -p stead-engine --example outputs -- model.onnx inputs.npz outputs.npz

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::process::ExitCode;

use stead_engine::{
    Form, LoadOptions, Model, OwnedOutput, RunContext, Session, SessionOptions, Value,
};
use stead_tensor::{Tensor, npz};

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
    let load = LoadOptions { lists: true, ..LoadOptions::default() };
    let model = Model::load(std::path::Path::new(model), &load)?;
    let session = Session::new(model, &SessionOptions::default())?;
    let given = npz::read(BufReader::new(File::open(inputs)?), MAX_BYTES)?;
    let view = |name: &str| given.iter().find(|(n, _)| n == name).map(|(_, tensor)| tensor.view());
    let model = session.model();
    let value = |(at, spec): (usize, &stead_engine::IoSpec)| match model.input_form(at) {
        Form::MapByInt | Form::MapByString => {
            let part = |part: &str| view(&format!("{}/{part}", spec.name));
            let pairs = part("keys").zip(part("values"));
            pairs.map_or(Value::Nothing, |(keys, values)| Value::Map { keys, values })
        }
        _ => view(&spec.name).map_or(Value::Nothing, Value::Tensor),
    };
    let values: Vec<_> = model.inputs().iter().enumerate().map(value).collect();
    let all: Vec<usize> = (0..model.outputs().len()).collect();
    let results = session.run_values(&values, &RunContext::default(), &all)?;
    let mut made: Vec<(String, Tensor)> = Vec::new();
    for (spec, result) in model.outputs().iter().zip(results) {
        match result.try_map(OwnedOutput::into_tensor)? {
            Value::Tensor(tensor) => made.push((spec.name.clone(), tensor)),
            Value::Map { keys, values } | Value::Maps { keys, values } => {
                made.push((format!("{}/keys", spec.name), keys));
                made.push((format!("{}/values", spec.name), values));
            }
            other => return Err(format!("output {} is {}", spec.name, other.noun()).into()),
        }
    }
    let named = made.iter().map(|(name, tensor)| (name.as_str(), tensor.view()));
    npz::write(BufWriter::new(File::create(outputs)?), named)?;
    Ok(())
}
