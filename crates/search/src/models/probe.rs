//! The shapes of outputs that only running a model tells.

use stead_app::application::rank::{ModelBytes, ModelProbe};
use stead_engine::{Hoist, LoadOptions, Model, Session, SessionOptions};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Runs models once with zeros and empty texts, as Vespa does
/// (`eval/src/vespa/eval/onnx/onnx_model_cache.cpp` and `onnx_wrapper.cpp`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Probe;

/// The most bytes of an input that is made up.
const MAX_INPUT: usize = 1 << 28;

impl ModelProbe for Probe {
    fn output_shapes(
        &self,
        file: &ModelBytes<'_>,
        inputs: &[(String, Vec<usize>)],
    ) -> Result<Vec<(String, Vec<usize>)>, String> {
        let (options, none) = (LoadOptions::default(), Hoist::default());
        let parts = Model::parts_from_files(file.bytes, file.beside, &options, &none);
        let model = parts.map_err(|e| e.to_string())?.rest;
        let mut tensors: Vec<(&str, Tensor)> = Vec::with_capacity(inputs.len());
        for (name, shape) in inputs {
            let spec = model.inputs().iter().find(|spec| spec.name == *name);
            let spec = spec.ok_or_else(|| format!("there is no input {name}"))?;
            tensors.push((name, zeros(spec.dtype, shape)?));
        }
        let names: Vec<String> = model.outputs().iter().map(|o| o.name.clone()).collect();
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let session = Session::new(model, &SessionOptions::default()).map_err(|e| e.to_string())?;
        let views: Vec<_> = tensors.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
        let outputs = session.run(&views, &wanted).map_err(|e| e.to_string())?;
        let shapes = outputs.iter().map(|output| output.shape().dims().to_vec());
        Ok(names.into_iter().zip(shapes).collect())
    }
}

fn zeros(dtype: DType, dims: &[usize]) -> Result<Tensor, String> {
    let shape = Shape::new(dims).map_err(|e| e.to_string())?;
    if dtype == DType::String {
        return Tensor::from_strings(vec![Vec::new(); shape.len()], dims)
            .map_err(|e| e.to_string());
    }
    let len = shape.byte_len(dtype);
    if len > MAX_INPUT {
        return Err(format!("an input of {len} bytes is more than {MAX_INPUT}"));
    }
    let buf = AlignedBuf::zeroed(len).map_err(|e| e.to_string())?;
    Tensor::from_buffer(dtype, shape, buf).map_err(|e| e.to_string())
}
