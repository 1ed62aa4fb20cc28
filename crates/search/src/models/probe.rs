//! The shapes of outputs that only running a model tells.

use stead_app::BackendKind;
use stead_app::application::rank::{ModelBytes, ModelProbe};
use stead_engine::{
    Backends, Hoist, IoSpec, LoadOptions, Model, Outputs, RunContext, RunError, Runnable, Session,
    SessionOptions,
};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Runs models once with zeros and empty texts, as Vespa does
/// (`eval/src/vespa/eval/onnx/onnx_model_cache.cpp` and `onnx_wrapper.cpp`).
#[derive(Debug, Clone, Copy)]
pub struct Probe<'b> {
    /// What runs the models that name a runtime of their own.
    pub backends: &'b Backends,
}

impl Probe<'static> {
    /// Where there is no other runtime.
    pub const PLAIN: Probe<'static> = Probe { backends: Backends::NONE };
}

/// The most bytes of an input that is made up.
const MAX_INPUT: usize = 1 << 28;

impl ModelProbe for Probe<'_> {
    fn output_shapes(
        &self,
        file: &ModelBytes<'_>,
        inputs: &[(String, Vec<usize>)],
    ) -> Result<Vec<(String, Vec<usize>)>, String> {
        let model = self.load(file)?;
        let mut tensors: Vec<(&str, Tensor)> = Vec::with_capacity(inputs.len());
        for (name, shape) in inputs {
            let spec = model.inputs().iter().find(|spec| spec.name == *name);
            let spec = spec.ok_or_else(|| format!("there is no input {name}"))?;
            tensors.push((name, zeros(spec.dtype, shape)?));
        }
        let mut views = Vec::with_capacity(model.inputs().len());
        for spec in model.inputs() {
            let given = tensors.iter().find(|(name, _)| *name == spec.name);
            if given.is_none() && !spec.optional {
                return Err(format!("missing input {:?}", spec.name));
            }
            views.push(given.map(|(_, tensor)| tensor.view()));
        }
        let read = |outputs: Outputs<'_>| {
            let shape = |(at, spec): (usize, &IoSpec)| {
                Ok((spec.name.clone(), outputs.get(at)?.shape().dims().to_vec()))
            };
            model.outputs().iter().enumerate().map(shape).collect::<Result<_, RunError>>()
        };
        let shapes = model.run_with(&views, &RunContext::default(), read);
        shapes.and_then(|shapes| shapes).map_err(|e| e.to_string())
    }
}

impl Probe<'_> {
    fn load(&self, file: &ModelBytes<'_>) -> Result<Runnable, String> {
        if file.backend != BackendKind::Stead {
            let backend = file.backend.name();
            let other = self.backends.load(backend, file.bytes, file.beside);
            return other.map(Runnable::Other).map_err(|e| format!("backend {backend}: {e}"));
        }
        let (options, none) = (LoadOptions::default(), Hoist::default());
        let parts = Model::parts_from_files(file.bytes, file.beside, &options, &none);
        let model = parts.map_err(|e| e.to_string())?.rest;
        let session = Session::new(model, &SessionOptions::default());
        session.map(Runnable::from).map_err(|e| e.to_string())
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
