//! ONNX Runtime as a back end, if this program was built with it.

use std::path::PathBuf;
use std::sync::Arc;

use stead_engine::{Backend, BackendError, BackendModel, BackendOptions, Backends, ModelSource};

/// The library when no flag names one, as in other programs.
pub const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

/// ONNX Runtime, whose library is opened when the first model wants it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnDemand {
    /// The library; `None` for the one in [`LIBRARY_VARIABLE`].
    pub library: Option<PathBuf>,
    /// Threads that all models share; `None` for none.
    pub threads: Option<usize>,
}

impl OnDemand {
    /// What models of a package may name, where a command reads it: the library of the environment, for runs on these threads.
    pub fn of_package(threads: usize) -> Backends {
        Backends::new(vec![Arc::new(OnDemand::default())], threads)
    }

    /// Opens the library.
    ///
    /// # Errors
    /// In words that say what to do, with the path of the library.
    pub fn open(&self) -> Result<Arc<dyn Backend>, String> {
        let variable = || std::env::var_os(LIBRARY_VARIABLE).filter(|v| !v.is_empty());
        let library = self.library.clone().or_else(|| variable().map(PathBuf::from));
        opened(library, self.threads)
    }
}

#[cfg(feature = "onnxruntime")]
fn opened(library: Option<PathBuf>, threads: Option<usize>) -> Result<Arc<dyn Backend>, String> {
    let Some(library) = library else {
        return Err(format!(
            "the library of ONNX Runtime is not known: name it with --onnxruntime_library (of `run` \
             --onnxruntime-library) or {LIBRARY_VARIABLE}; the onnxruntime wheel has it in its folder capi"
        ));
    };
    let options = stead_onnxruntime::Options { library, threads };
    let opened = stead_onnxruntime::OnnxRuntime::open(&options).map_err(|e| e.to_string())?;
    Ok(Arc::new(opened))
}

#[cfg(not(feature = "onnxruntime"))]
fn opened(_: Option<PathBuf>, _: Option<usize>) -> Result<Arc<dyn Backend>, String> {
    Err("this stead was built without ONNX Runtime: build it with `cargo build --release --features onnxruntime`"
        .to_owned())
}

impl Backend for OnDemand {
    fn name(&self) -> &'static str {
        "onnxruntime"
    }

    fn ready(&self) -> Result<(), BackendError> {
        self.open().map(drop).map_err(BackendError::Library)
    }

    fn load(
        &self,
        source: ModelSource<'_>,
        options: BackendOptions<'_>,
    ) -> Result<Box<dyn BackendModel>, BackendError> {
        self.open().map_err(BackendError::Library)?.load(source, options)
    }
}
