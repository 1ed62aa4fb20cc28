//! The library and its one environment.

use crate::NAME;
use crate::model::Pooled;
use ort::environment::{Environment, GlobalThreadPoolOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use stead_engine::{Backend, BackendError, BackendModel, BackendOptions, ModelSource};

/// Where ONNX Runtime is and how it computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its shared library.
    pub library: PathBuf,
    /// Threads that all models share; `None` for sessions that compute on the thread that runs them.
    pub threads: Option<usize>,
}

/// Why ONNX Runtime cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// There is no such file.
    #[error(
        "there is no ONNX Runtime library {}; the onnxruntime wheel has one: onnxruntime/capi/libonnxruntime.so.*",
        .0.display()
    )]
    Missing(PathBuf),
    /// The file is not the library, or is too old.
    #[error("ONNX Runtime: {0}")]
    Load(String),
    /// The library made no environment.
    #[error("ONNX Runtime: {0}")]
    Environment(#[from] ort::Error),
    /// A process has one library and one environment, and they were opened with other options before.
    #[error("ONNX Runtime is open already, from {} with other options", .0.display())]
    Other(PathBuf),
}

/// What is open in this process: ONNX Runtime allows one environment.
static OPEN: Mutex<Option<(Options, Environment)>> = Mutex::new(None);

/// ONNX Runtime, opened.
#[derive(Debug, Clone)]
pub struct OnnxRuntime {
    environment: Environment,
    shares_threads: bool,
}

impl OnnxRuntime {
    /// Opens the library, or gives what is open already with the same options.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn open(options: &Options) -> Result<OnnxRuntime, LibraryError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let shares_threads = options.threads.is_some();
        if let Some((known, environment)) = &*open {
            return match known == options {
                true => Ok(OnnxRuntime { environment: environment.clone(), shares_threads }),
                false => Err(LibraryError::Other(known.library.clone())),
            };
        }
        let environment = environment(&options.library, options.threads)?;
        *open = Some((options.clone(), environment.clone()));
        Ok(OnnxRuntime { environment, shares_threads })
    }
}

fn environment(library: &Path, threads: Option<usize>) -> Result<Environment, LibraryError> {
    // A relative path would be looked for beside the program.
    let path = std::path::absolute(library).unwrap_or_else(|_| library.to_owned());
    if !path.is_file() {
        return Err(LibraryError::Missing(path));
    }
    let builder = ort::init_from(&path).map_err(|e| LibraryError::Load(e.to_string()))?;
    let builder = builder.with_name("stead").with_telemetry(false);
    let builder = match threads {
        None => builder,
        Some(threads) => {
            let pool = GlobalThreadPoolOptions::default().with_intra_threads(threads)?;
            // Threads that look for work all the time would take the cores of stead's own.
            builder.with_global_thread_pool(pool.with_inter_threads(1)?.with_spin_control(false)?)
        }
    };
    Ok(builder.build()?)
}

impl Backend for OnnxRuntime {
    fn name(&self) -> &'static str {
        NAME
    }

    fn load(
        &self,
        source: ModelSource<'_>,
        options: BackendOptions<'_>,
    ) -> Result<Box<dyn BackendModel>, BackendError> {
        let model = Pooled::load(&self.environment, self.shares_threads, source, options)?;
        Ok(Box::new(model))
    }
}
