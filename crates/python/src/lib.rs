//! Private Python interpreters: several of them inside one process, each with its own lock, or in worker processes
//! behind the same [trait](Interpreter).
//!
//! ```no_run
//! use std::time::Duration;
//! use stead_python::{Call, Deadline, InProcess, Installation, Interpreter, ModuleSource, StartOptions};
//!
//! let python = Installation::of("python3".as_ref())?;
//! let mut interpreter = InProcess::start(&python, &StartOptions::default())?;
//! let source = "def twice(x): return 2 * x".to_owned();
//! interpreter.load(&ModuleSource { name: "net".into(), source }, Deadline::NEVER)?;
//! let call = Call::new("net", "twice", vec![21.into()]);
//! assert_eq!(interpreter.call(call, Deadline::after(Duration::from_secs(1)))?, 42.into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! libpython is never linked: an [`Installation`] is found and opened at run time, and a machine without Python runs
//! everything else. Nothing here knows a protocol or a package format.

mod bundles;
mod component;
mod doctor;
mod error;
mod host;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod inside;
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
#[path = "refused.rs"]
mod inside;
mod installation;
mod interpreter;
mod libraries;
mod library;
mod manager;
mod memory;
mod options;
mod output;
mod pace;
mod search;
mod tunables;
mod value;
mod worker;

pub use bundles::{BundleError, unpack_bundles};
pub use component::{Component, ComponentKind, call_components};
pub use doctor::{Choice, PythonReport, Report, SelfTest, choose, doctor};
pub use error::{CallError, Exception, StartError};
pub use host::{Host, HostCall, HostCode, HostError};
pub use inside::{InProcess, contain_crashes, crashes_contained, namespaces_open, self_test_here};
pub use installation::{Installation, NotInProcess, ProbeError, Version};
pub use interpreter::{Call, Deadline, Interpreter, Mode, ModuleSource, PackageFile};
pub use libraries::library_in_sight;
pub use manager::{
    AcquireError, Argument, Counts, InterpreterManager, InterpreterSession, Isolation,
    ManagerOptions, MovableObject, Object, ObjectError, Package, PackageSource, Pending, Session,
    TaskError,
};
pub use options::StartOptions;
pub use output::OutputLine;
pub use search::{find_all, find_default};
pub use tunables::{REEXEC_GUARD, Reexec, reexec_wanted};
pub use value::{MAX_DEPTH, Value, from_numpy_name, numpy_name};
pub use worker::{Worker, WorkerLimits};
