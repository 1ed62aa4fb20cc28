//! stead and ONNX Runtime, loaded for a case.

use std::path::Path;
use std::sync::Arc;

use ort::environment::Environment;
use ort::memory::MemoryInfo;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::session::{IoBinding, Session as OrtSession};
use ort::value::{DynTensor, Tensor as OrtTensor};
use stead_engine::{LoadOptions, Model, Parallel, RunContext, Serial, Session, SessionOptions};
use stead_pool::{Pool, PoolOptions};
use stead_tensor::{DType, Precision, Tensor};

use super::case::Case;
use crate::rust_peers::{Inputs, Outputs};
use crate::{Result, variable};

/// stead with a model, its inputs and the threads that may help.
pub struct Stead {
    session: Session,
    inputs: Vec<(String, Tensor)>,
    pool: Option<Arc<Pool>>,
}

impl Stead {
    /// Loads a model. The error is why stead refuses it.
    pub fn load(case: &Case, inputs: &Inputs) -> Result<Stead> {
        let model = Model::load(&case.model, &LoadOptions::default())?;
        let precision = case.precision.as_deref().map_or(Ok(Precision::F32), str::parse)?;
        let session =
            Session::new(model, &SessionOptions { precision, ..SessionOptions::default() })?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = || Pool::new(&PoolOptions { threads, ..PoolOptions::default() });
        let pool = if case.all_cores { Some(pool()?) } else { None };
        Ok(Stead { session, inputs: inputs.to_vec(), pool })
    }

    /// One run, outputs left where they lie.
    pub fn run(&self) -> Result<()> {
        let find = |name: &str| self.inputs.iter().find(|(n, _)| n == name).map(|(_, t)| t.view());
        let views: Vec<_> = self.session.model().inputs().iter().map(|i| find(&i.name)).collect();
        let team = self.pool.as_deref().map(Team);
        let parallel: &dyn Parallel = team.as_ref().map_or(&Serial, |team| team);
        let cx = RunContext { parallel, ..RunContext::default() };
        Ok(self.session.run_with(&views, &cx, |_| ())?)
    }

    /// The outputs of a run.
    pub fn outputs(&self) -> Result<Outputs> {
        let feed: Vec<_> = self.inputs.iter().map(|(n, t)| (n.as_str(), t.view())).collect();
        let outputs = self.session.run(&feed, &[])?;
        outputs.iter().map(|t| Ok(t.as_slice::<f32>()?.to_vec())).collect()
    }
}

/// All threads of a pool for one run.
struct Team<'a>(&'a Pool);

impl Parallel for Team<'_> {
    fn threads(&self) -> usize {
        self.0.stats().threads
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        // The calling thread is none of the pool's: with all of its threads there would be one more than cores.
        self.0.team(self.threads()).for_each(n, f);
    }
}

/// ONNX Runtime with bound inputs and outputs, its quickest form.
pub struct OnnxRuntime {
    session: OrtSession,
    binding: IoBinding,
    names: Vec<String>,
}

impl OnnxRuntime {
    /// The library that `cargo xtask bench` names.
    pub fn environment() -> Result<Environment> {
        Ok(ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?)
    }

    /// Loads a model with all optimisations, which are its default, for one thread, or its default number of them.
    pub fn load(env: &Environment, path: &Path, inputs: &Inputs, all: bool) -> Result<OnnxRuntime> {
        let builder = OrtSession::builder(env)?;
        let builder = if all {
            builder
        } else {
            let one = builder.with_intra_threads(1).map_err(|e| e.to_string())?;
            one.with_inter_threads(1).map_err(|e| e.to_string())?
        };
        OnnxRuntime::bound(builder, path, inputs)
    }

    /// Loads a model without any optimisation, for one thread.
    pub fn load_plain(env: &Environment, path: &Path, inputs: &Inputs) -> Result<OnnxRuntime> {
        let builder = OrtSession::builder(env)?;
        let one = builder.with_intra_threads(1).map_err(|e| e.to_string())?;
        let none = GraphOptimizationLevel::Disable;
        let plain = one.with_optimization_level(none).map_err(|e| e.to_string())?;
        OnnxRuntime::bound(plain, path, inputs)
    }

    fn bound(mut builder: SessionBuilder, path: &Path, inputs: &Inputs) -> Result<OnnxRuntime> {
        let session = builder.commit_from_file(path)?;
        let mut binding = session.create_binding()?;
        for (name, tensor) in inputs {
            binding.bind_input(name.as_str(), &ort_tensor(tensor)?)?;
        }
        let names: Vec<String> = session.outputs().iter().map(|o| o.name().to_owned()).collect();
        for name in &names {
            binding.bind_output_to_device(name.as_str(), &MemoryInfo::default())?;
        }
        Ok(OnnxRuntime { session, binding, names })
    }

    /// One run, outputs left where they lie.
    pub fn run(&mut self) -> Result<()> {
        Ok(self.session.run_binding(&self.binding).map(drop)?)
    }

    /// The outputs of a run in the model's order.
    pub fn outputs(&mut self) -> Result<Outputs> {
        let outputs = self.session.run_binding(&self.binding)?;
        let values =
            |name: &String| Ok(outputs[name.as_str()].try_extract_tensor::<f32>()?.1.to_vec());
        self.names.iter().map(values).collect()
    }
}

fn ort_tensor(tensor: &Tensor) -> Result<DynTensor> {
    let dims: Vec<i64> = tensor.shape().iter().map(|&d| d as i64).collect();
    Ok(match tensor.dtype() {
        DType::F32 => OrtTensor::from_array((dims, tensor.as_slice::<f32>()?.to_vec()))?.upcast(),
        DType::I64 => OrtTensor::from_array((dims, tensor.as_slice::<i64>()?.to_vec()))?.upcast(),
        other => return Err(format!("no ONNX Runtime tensor of type {other}").into()),
    })
}
