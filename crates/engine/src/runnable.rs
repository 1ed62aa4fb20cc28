//! Models that are ready to run, in this engine or in another runtime.

use crate::backend::{BackendError, BackendModel};
use crate::error::RunError;
use crate::model::IoSpec;
use crate::session::{Outputs, RunContext, Session};
use std::sync::Arc;
use stead_tensor::TensorView;

/// A model that any number of threads may run, whatever computes it.
pub enum Runnable {
    /// The engine.
    Own(Box<Session>),
    /// Another runtime.
    Other(OtherModel),
}

/// A model of another runtime. Clones share it.
#[derive(Clone)]
pub struct OtherModel {
    /// What the runtime is called.
    backend: &'static str,
    model: Arc<dyn BackendModel>,
}

impl OtherModel {
    /// A model that the runtime of this name has loaded.
    #[must_use]
    pub fn new(backend: &'static str, model: Box<dyn BackendModel>) -> OtherModel {
        OtherModel { backend, model: model.into() }
    }

    /// What the runtime is called.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// The model itself.
    #[must_use]
    pub fn model(&self) -> &dyn BackendModel {
        &*self.model
    }

    /// As [`Session::run_with`], on the calling thread alone. The outputs are copies.
    fn run_with<R>(
        &self,
        inputs: &[Option<TensorView<'_>>],
        cx: &RunContext<'_>,
        f: impl FnOnce(Outputs<'_>) -> R,
    ) -> Result<R, RunError> {
        // How long it takes is not known before.
        if cx.within.is_some() {
            return Err(RunError::NotQuick);
        }
        if let Some(pause) = cx.pause {
            pause();
        }
        let wanted: Vec<usize> = (0..self.model.outputs().len()).collect();
        let cancelled = || cx.cancelled.is_some_and(|cancelled| cancelled());
        let mut tensors = Vec::with_capacity(wanted.len());
        let mut copied = Ok(());
        self.model
            .run(inputs, &wanted, &cancelled, &mut |_, view| match view.to_tensor() {
                Ok(tensor) => tensors.push(tensor),
                Err(error) => copied = Err(error),
            })
            .map_err(failed)?;
        copied?;
        Ok(f(Outputs::of_tensors(&tensors)))
    }
}

fn failed(error: BackendError) -> RunError {
    match error {
        BackendError::Cancelled => RunError::Cancelled,
        BackendError::Tensor(error) => RunError::Tensor(error),
        other => RunError::Backend(other),
    }
}

impl From<Session> for Runnable {
    fn from(session: Session) -> Runnable {
        Runnable::Own(Box::new(session))
    }
}

impl Runnable {
    /// The inputs in order.
    #[must_use]
    pub fn inputs(&self) -> &[IoSpec] {
        match self {
            Runnable::Own(session) => session.model().inputs(),
            Runnable::Other(other) => other.model.inputs(),
        }
    }

    /// The outputs in order.
    #[must_use]
    pub fn outputs(&self) -> &[IoSpec] {
        match self {
            Runnable::Own(session) => session.model().outputs(),
            Runnable::Other(other) => other.model.outputs(),
        }
    }

    /// As [`Session::free_batch`]; whether it could be done. Another runtime leaves a file as it is.
    pub fn free_batch(&mut self, axes: &[(usize, usize)]) -> bool {
        match self {
            Runnable::Own(session) => session.free_batch(axes).is_ok(),
            Runnable::Other(_) => false,
        }
    }

    /// As [`Session::run_with`]. Another runtime computes on the calling thread alone, and copies what it gives.
    ///
    /// # Errors
    /// [`RunError`]; the model stays usable.
    pub fn run_with<R>(
        &self,
        inputs: &[Option<TensorView<'_>>],
        cx: &RunContext<'_>,
        f: impl FnOnce(Outputs<'_>) -> R,
    ) -> Result<R, RunError> {
        match self {
            Runnable::Own(session) => session.run_with(inputs, cx, f),
            Runnable::Other(other) => other.run_with(inputs, cx, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Backend, BackendOptions, ModelSource};
    use crate::backends::Backends;
    use crate::model::Dim;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    /// A runtime that gives an input back and tells what it was given.
    #[derive(Debug)]
    struct Echo;

    struct EchoModel([IoSpec; 1]);

    impl Backend for Echo {
        fn name(&self) -> &'static str {
            "echo"
        }

        fn load(
            &self,
            source: ModelSource<'_>,
            options: BackendOptions<'_>,
        ) -> Result<Box<dyn BackendModel>, BackendError> {
            let ModelSource::Bytes(bytes) = source else {
                return Err(BackendError::Model("no bytes".to_owned()));
            };
            // External data has become a part of it.
            let none = |_: &str| Err("no file".to_owned());
            let limits = stead_onnx::Limits::default();
            let model = stead_onnx::Model::from_files(bytes, &none, &limits);
            let model = model.map_err(|e| BackendError::Model(e.to_string()))?;
            let name = format!("{} runs, {} weights", options.runs, model.graph.initializers.len());
            let dims = Some(vec![Dim::Unknown]);
            Ok(Box::new(EchoModel([IoSpec { name, dtype: DType::F32, dims, optional: false }])))
        }
    }

    impl BackendModel for EchoModel {
        fn inputs(&self) -> &[IoSpec] {
            &self.0
        }

        fn outputs(&self) -> &[IoSpec] {
            &self.0
        }

        fn run(
            &self,
            inputs: &[Option<TensorView<'_>>],
            wanted: &[usize],
            cancelled: &(dyn Fn() -> bool + Sync),
            sink: &mut dyn FnMut(usize, TensorView<'_>),
        ) -> Result<(), BackendError> {
            if cancelled() {
                return Err(BackendError::Cancelled);
            }
            let [Some(view)] = inputs else {
                return Err(BackendError::Input("one input".to_owned()));
            };
            wanted.iter().for_each(|_| sink(0, *view));
            Ok(())
        }
    }

    #[test]
    fn a_model_of_another_runtime_runs_as_one_of_the_engine() {
        let bytes = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .init("w", Tensor::from_slice(&[1.0f32], &[1]).unwrap())
            .node("Add", &["x", "w"], &["y"])
            .output("y", DType::F32)
            .bytes();
        let none = |_: &str| Err("none".to_owned());
        let backends = Backends::new(vec![Arc::new(Echo)], 3);
        assert_eq!(backends.ready("echo"), Ok(()));
        let unknown = BackendError::Library("it is not known here".to_owned());
        assert_eq!(backends.ready("other"), Err(unknown.clone()));
        assert_eq!(Backends::NONE.load("echo", &bytes, &none).err(), Some(unknown));
        let mut model = Runnable::Other(backends.load("echo", &bytes, &none).unwrap());
        assert_eq!(model.inputs()[0].name, "3 runs, 1 weights");
        assert!(!model.free_batch(&[(0, 0)]));

        let tensor = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        let read = |outputs: Outputs<'_>| {
            assert_eq!((outputs.len(), outputs.grown(0)), (1, None));
            assert_eq!(outputs.get(1).err(), Some(RunError::UnknownOutput("1".to_owned())));
            outputs.get(0).unwrap().as_slice::<f32>().unwrap().to_vec()
        };
        let given = [Some(tensor.view())];
        assert_eq!(model.run_with(&given, &RunContext::default(), read), Ok(vec![1.0, 2.0]));
        let stopped = RunContext { cancelled: Some(&|| true), ..RunContext::default() };
        assert_eq!(model.run_with(&given, &stopped, read), Err(RunError::Cancelled));
        let within = Some(std::time::Duration::from_secs(1));
        let quick = RunContext { within, ..RunContext::default() };
        assert_eq!(model.run_with(&given, &quick, read), Err(RunError::NotQuick));
        let error = RunError::Backend(BackendError::Input("one input".to_owned()));
        assert_eq!(model.run_with(&[], &RunContext::default(), read), Err(error));
    }
}
