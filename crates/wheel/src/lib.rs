//! The native half of the Python wheel `stead`: the module `stead._engine`.
//!
//! `python/stead/src/stead/inference` is the other half, with the names of ONNX Runtime's Python API; `docs/python-wheel.md`
//! describes both. Here is what must not be slow: arrays of numpy are borrowed as inputs, outputs are handed over as arrays
//! over the memory that the kernels wrote to, and the interpreter's lock is released while a model is loaded or runs.
//!
//! The crate is empty without its feature `extension`, with which maturin builds it.
#![cfg_attr(not(feature = "extension"), forbid(unsafe_code))]

#[cfg(feature = "extension")]
mod arrays;
#[cfg(feature = "extension")]
mod errors;
#[cfg(feature = "extension")]
mod feeds;
#[cfg(feature = "extension")]
mod maps;
#[cfg(feature = "extension")]
mod session;
#[cfg(feature = "extension")]
mod threads;
#[cfg(feature = "extension")]
mod types;

/// What `stead.inference` is made of.
#[cfg(feature = "extension")]
#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use crate::session::{Session, Stop};
}
