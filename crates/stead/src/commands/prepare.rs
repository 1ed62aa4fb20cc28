//! What `run`, `bench` and `inspect --plan` have in common: a session and tensors for its inputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stead_engine::{
    Form, LoadError, LoadOptions, Model, Parallel, Precision, Serial, Session, SessionOptions,
};
use stead_pool::{Pool, PoolOptions};
use stead_tensor::{Tensor, TensorView};

use crate::failure::Failure;
use crate::inputs::{self, Spec};

/// Arguments that describe a model and its inputs.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// The model file.
    pub model: PathBuf,
    #[command(flatten)]
    pub precision: PrecisionArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
}

/// How a model is computed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct PrecisionArgs {
    /// How products by the model's weights are computed: f32; bf16, which prints how far the outputs are from those of f32;
    /// f64 or int8 for a file that has them.
    #[arg(long, value_name = "TYPE", default_value_t = Precision::F32)]
    pub precision: Precision,
}

/// Arguments that describe inputs.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// An input: name=@file.npy, name=<literal>, @arrays.npz or name:dtype:AxBxC[:min:max]. Inputs that are
    /// not given get seeded random values in the model's shape.
    #[arg(long, short, value_name = "SPEC")]
    pub input: Vec<String>,
    /// A random input: name:dtype:AxBxC[:min:max], as in x:f32:1x128.
    #[arg(long, value_name = "SPEC")]
    pub random: Vec<String>,
    /// The size of a free dimension, 1 unless given: seq=128.
    #[arg(long, value_name = "NAME=SIZE")]
    pub dim: Vec<String>,
    /// Seed of random values.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

impl InputArgs {
    /// The specs of `--input` and `--random`, checked before the model is read.
    pub fn specs(&self) -> Result<Vec<Spec>, Failure> {
        let inputs = self.input.iter().map(|text| inputs::parse_spec(text));
        let random = self.random.iter().map(|text| inputs::parse_random(text).map(Spec::Random));
        inputs.chain(random).collect()
    }

    /// The sizes of `--dim`.
    pub fn dims(&self) -> Result<BTreeMap<String, usize>, Failure> {
        self.dim.iter().map(|text| inputs::parse_dim(text)).collect()
    }

    /// Tensors for the inputs of `session`.
    pub fn tensors(&self, session: &Session, specs: &[Spec]) -> Result<Inputs, Failure> {
        let declared = session.model().inputs();
        for (at, input) in declared.iter().enumerate() {
            let form = session.model().input_form(at);
            if !form.holds(Form::Tensor) {
                return Err(Failure::failed(format!(
                    "input {} is a {}, for which there is no --input; {IN_PYTHON}",
                    input.name,
                    form.name()
                )));
            }
        }
        let named = inputs::gather(declared, specs, &[], &self.dims()?, self.seed)?;
        let position = |name: &str| declared.iter().position(|input| input.name == name);
        let mut tensors = vec![None; declared.len()];
        for (name, tensor) in named {
            if let Some(at) = position(&name) {
                tensors[at] = Some(tensor);
            }
        }
        Ok(Inputs(tensors))
    }
}

/// Where models run whose values commands have no text for.
const IN_PYTHON: &str = "`import stead` in Python runs models of sequences, optionals and maps";

/// A tensor for each input by position; `None` for an optional one that is left out.
pub struct Inputs(Vec<Option<Tensor>>);

impl Inputs {
    /// The tensors as the engine takes them.
    pub fn views(&self) -> Vec<Option<TensorView<'_>>> {
        self.0.iter().map(|tensor| tensor.as_ref().map(Tensor::view)).collect()
    }
}

/// Reads a model file of any format.
pub fn read(path: &Path, options: &LoadOptions) -> Result<Model, Failure> {
    let model = stead_formats::read(path, &options.limits).map_err(Failure::failed)?;
    Model::from_onnx(model, options).map_err(|error| match error {
        // Values that commands have no text or file for.
        LoadError::Io { .. } => Failure::failed(format!("{error} here; {IN_PYTHON}")),
        error => Failure::failed(error),
    })
}

/// Loads a model file all of whose inputs and outputs are tensors.
pub fn load(path: &Path, precision: Precision) -> Result<Session, Failure> {
    load_with(path, precision, &LoadOptions::default())
}

/// Loads a model file.
pub fn load_with(
    path: &Path,
    precision: Precision,
    options: &LoadOptions,
) -> Result<Session, Failure> {
    let model = read(path, options)?;
    let options = SessionOptions { precision, ..SessionOptions::default() };
    Session::new(model, &options).map_err(Failure::failed)
}

/// Threads for a run: the caller, and idle workers of a pool if there should be more than one.
pub struct Threads {
    pool: Option<Arc<Pool>>,
    count: usize,
}

impl Threads {
    /// `count` threads, the calling one included.
    pub fn new(count: usize) -> Result<Threads, Failure> {
        if count <= 1 {
            return Ok(Threads { pool: None, count: 1 });
        }
        // The caller takes part, so one worker stays idle: a team is never larger than the pool.
        let options = PoolOptions { threads: count, ..PoolOptions::default() };
        Ok(Threads { pool: Some(Pool::new(&options).map_err(Failure::failed)?), count })
    }
}

impl Parallel for Threads {
    fn threads(&self) -> usize {
        self.count
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        match &self.pool {
            Some(pool) => pool.team(self.count).for_each(n, f),
            None => Serial.for_each(n, f),
        }
    }
}
