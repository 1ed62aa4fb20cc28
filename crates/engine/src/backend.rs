//! The seam to other runtimes, which may evaluate a model file in the engine's place.
//!
//! Such a runtime is a crate of its own on a floor above this one. Who serves or compares models is given one as a
//! [`Backend`] and needs to know nothing else of it.

use crate::model::IoSpec;
use std::fmt::Debug;
use std::path::Path;
use stead_tensor::{TensorError, TensorView};

/// Why another runtime did not do what it was asked for. The texts are its own.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BackendError {
    /// Its library cannot be used; the text may hold a path.
    #[error("{0}")]
    Library(String),
    /// It does not take the model; the text may hold the path of the file.
    #[error("{0}")]
    Model(String),
    /// An input or output has a type that it or stead has not.
    #[error("{direction} {name:?} is of type {actual}, which stead cannot exchange with {backend}")]
    Type {
        /// `input` or `output`.
        direction: &'static str,
        /// Its name.
        name: String,
        /// The type.
        actual: String,
        /// The runtime.
        backend: &'static str,
    },
    /// The inputs do not fit the model or each other.
    #[error("{0}")]
    Input(String),
    /// The run failed.
    #[error("{0}")]
    Run(String),
    /// It was told to stop, before it had begun or while it ran.
    #[error("cancelled")]
    Cancelled,
    /// A tensor could not be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Where a model comes from.
#[derive(Debug, Clone, Copy)]
pub enum ModelSource<'a> {
    /// A file, with external data beside it.
    File(&'a Path),
    /// The bytes of a file that has all its weights inside.
    Bytes(&'a [u8]),
}

/// How another runtime loads a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendOptions<'a> {
    /// The most runs that go on at a time, at least 1.
    pub runs: usize,
    /// Whether it may change the graph, as to fuse nodes.
    pub optimize: bool,
    /// What of the runtime computes nodes, the preferred first; without any what it takes by itself.
    pub providers: &'a [Provider<'a>],
}

/// A part of a runtime that computes nodes, by the name that the runtime has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its options, which only it knows.
    pub options: &'a [(String, String)],
}

/// Another runtime for model files.
pub trait Backend: Debug + Send + Sync {
    /// What it is called where people choose it.
    fn name(&self) -> &'static str;

    /// Whether it can load models at all.
    ///
    /// # Errors
    /// [`BackendError::Library`] that says what is missing.
    fn ready(&self) -> Result<(), BackendError> {
        Ok(())
    }

    /// Loads a model.
    ///
    /// # Errors
    /// [`BackendError::Library`], [`BackendError::Model`] and [`BackendError::Type`].
    fn load(
        &self,
        source: ModelSource<'_>,
        options: BackendOptions<'_>,
    ) -> Result<Box<dyn BackendModel>, BackendError>;
}

/// A model that another runtime has loaded. Any number of threads may run it; those beyond
/// [`BackendOptions::runs`] wait.
pub trait BackendModel: Send + Sync {
    /// The inputs in order.
    fn inputs(&self) -> &[IoSpec];

    /// The outputs in order.
    fn outputs(&self) -> &[IoSpec];

    /// Runs on inputs by position, `None` for an optional one that is absent, and shows `sink` each wanted output, in the
    /// order of `wanted`: the place in that list, and the value. `cancelled` is asked while the run waits for others, and while it
    /// goes on, if the runtime can end it then.
    ///
    /// # Errors
    /// Every [`BackendError`]; the model stays usable.
    fn run(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        cancelled: &(dyn Fn() -> bool + Sync),
        sink: &mut dyn FnMut(usize, TensorView<'_>),
    ) -> Result<(), BackendError>;
}
