//! What is measured: a model with inputs, as `cargo xtask bench engine` writes it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stead_tensor::Tensor;

use crate::Result;

/// A model, its inputs and how it is run.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// The file that stead, rten and tract read.
    pub model: PathBuf,
    /// The file that ONNX Runtime reads, where it is another one with the same inputs and outputs.
    pub runtime_model: Option<PathBuf>,
    pub inputs: Vec<Input>,
    /// One run takes all cores on both sides.
    #[serde(default)]
    pub all_cores: bool,
    /// What stead's session is asked for.
    #[serde(default)]
    pub precision: Option<String>,
    /// Outputs that differ from ONNX Runtime's by more than this part of the largest are wrong.
    pub agree: f32,
    /// The pairs of turns to measure.
    pub pairs: usize,
}

/// An input of uniform numbers from `low` up to but not `high`.
#[derive(Debug, Deserialize)]
pub struct Input {
    pub name: String,
    /// `f32` or `i64`.
    pub dtype: String,
    pub shape: Vec<usize>,
    pub low: f64,
    pub high: f64,
}

impl Case {
    /// Reads one.
    pub fn read(path: &Path) -> Result<Case> {
        Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
    }

    /// The file that ONNX Runtime reads.
    pub fn runtime_model(&self) -> &Path {
        self.runtime_model.as_ref().unwrap_or(&self.model)
    }

    /// Inputs by name, the same in every run.
    pub fn tensors(&self) -> Result<Vec<(String, Tensor)>> {
        let mut state = 1u64;
        self.inputs
            .iter()
            .map(|input| Ok((input.name.clone(), input.tensor(&mut state)?)))
            .collect()
    }
}

impl Input {
    fn tensor(&self, state: &mut u64) -> Result<Tensor> {
        let n = self.shape.iter().product::<usize>();
        let mut number = || self.low + unit(state) * (self.high - self.low);
        Ok(match self.dtype.as_str() {
            "f32" => {
                let values: Vec<f32> = (0..n).map(|_| number() as f32).collect();
                Tensor::from_slice(&values, &self.shape)?
            }
            "i64" => {
                let values: Vec<i64> = (0..n).map(|_| number().floor() as i64).collect();
                Tensor::from_slice(&values, &self.shape)?
            }
            other => return Err(format!("input {}: no type {other}", self.name).into()),
        })
    }
}

/// The next number in 0..1 (splitmix64).
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
