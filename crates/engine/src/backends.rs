//! The runtimes that models of an application may name.

use crate::backend::{Backend, BackendError, BackendOptions, ModelSource};
use crate::runnable::OtherModel;
use std::sync::Arc;
use stead_onnx::{FindFile, Limits, OnnxError};

/// The runtimes that models may name beside the engine, and how many runs of each model may go on at a time.
#[derive(Debug, Clone, Default)]
pub struct Backends {
    list: Vec<Arc<dyn Backend>>,
    runs: usize,
}

impl Backends {
    /// None but the engine.
    pub const NONE: &'static Backends = &NONE;

    /// These; a model of one of them is loaded for so many runs at a time.
    #[must_use]
    pub fn new(list: Vec<Arc<dyn Backend>>, runs: usize) -> Backends {
        Backends { list, runs }
    }

    /// Whether the one of a name can load models.
    ///
    /// # Errors
    /// [`BackendError::Library`] that says what is missing.
    pub fn ready(&self, name: &str) -> Result<(), BackendError> {
        self.find(name)?.ready()
    }

    /// Loads a model from the bytes of its file in the runtime of a name; files of external data are those that `find` gives, and become
    /// a part of the bytes.
    ///
    /// # Errors
    /// [`BackendError::Library`] where there is no such runtime, and those of [`Backend::load`].
    pub fn load(
        &self,
        name: &str,
        bytes: &[u8],
        find: &FindFile<'_>,
    ) -> Result<OtherModel, BackendError> {
        let backend = self.find(name)?;
        let wrong = |error: OnnxError| BackendError::Model(error.to_string());
        let limits = Limits::default();
        let joined = match stead_onnx::external_files(bytes, &limits).map_err(wrong)? {
            files if files.is_empty() => None,
            _ => {
                let model = stead_onnx::Model::from_files(bytes, find, &limits).map_err(wrong)?;
                Some(model.to_bytes())
            }
        };
        let source = ModelSource::Bytes(joined.as_deref().unwrap_or(bytes));
        let options = BackendOptions { runs: self.runs.max(1), optimize: true, providers: &[] };
        Ok(OtherModel::new(backend.name(), backend.load(source, options)?))
    }

    fn find(&self, name: &str) -> Result<&Arc<dyn Backend>, BackendError> {
        let found = self.list.iter().find(|backend| backend.name() == name);
        found.ok_or_else(|| BackendError::Library("it is not known here".to_owned()))
    }
}

static NONE: Backends = Backends { list: Vec::new(), runs: 1 };
