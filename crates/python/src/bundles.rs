//! Distributions that packages bring along, in folders where interpreters find them.

use std::path::{Path, PathBuf};

use crate::{
    Call, CallError, Deadline, Installation, Interpreter, PackageFile, StartError, StartOptions,
    Value, Worker, WorkerLimits,
};

/// Why the distributions of a package are not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// They are for another Python or machine, or damaged: a sentence that says what to do.
    #[error("{0}")]
    Refused(String),
    /// It took too long.
    #[error("they were not unpacked in time")]
    TimedOut,
    /// The process that unpacks does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It failed.
    #[error(transparent)]
    Failed(CallError),
}

/// Unpacks the distributions that a package bundles into folders of `cache` that are named by their contents,
/// each once, whoever else does so at the same time. Gives the folders, for [`StartOptions::folders`]: an interpreter has
/// one version of a library for all of its life, so packages that bundle different ones are for different interpreters.
///
/// That is done in a worker process, which runs nothing of the package.
///
/// # Errors
/// [`BundleError`].
pub fn unpack_bundles(
    python: &Installation,
    package: &PackageFile,
    cache: &Path,
    deadline: Deadline,
) -> Result<Vec<PathBuf>, BundleError> {
    let text = |path: &Path| {
        let refused = || BundleError::Refused(format!("the path {} is not UTF-8", path.display()));
        path.to_str().map(Value::from).ok_or_else(refused)
    };
    let arguments = vec![text(&package.path)?, text(cache)?, package.name.as_str().into()];
    let mut worker = Worker::start(python, &StartOptions::default(), WorkerLimits::default())?;
    let call = Call::new("stead_package.bundles", "unpack_file", arguments);
    match worker.call(call, deadline) {
        Ok(Value::List(folders)) => Ok(folders.into_iter().filter_map(path).collect()),
        Ok(other) => Err(BundleError::Failed(CallError::Returned(format!("{other:?}")))),
        Err(CallError::TimedOut | CallError::Busy) => Err(BundleError::TimedOut),
        Err(CallError::Raised(error)) if error.kind.starts_with("stead_package.") => {
            Err(BundleError::Refused(error.message))
        }
        Err(error) => Err(BundleError::Failed(error)),
    }
}

fn path(value: Value) -> Option<PathBuf> {
    match value {
        Value::Str(text) => Some(text.into()),
        _ => None,
    }
}
