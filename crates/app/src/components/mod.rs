//! Components: those that users write in Python, those that are built in and those of a program around the server. What a package
//! declares of them, how chains of them are put in order, and which requests go to which handler.

mod binding;
mod chain;
mod manifest;
mod native;
mod python;
mod routes;
mod settings;

pub use binding::{BindingError, BindingPattern, Match};
pub use chain::{
    BuiltInChain, Chain, ChainDefinition, ChainKind, ChainPart, Dependencies, Phase, resolve_chains,
};
pub use manifest::ArchiveWishes;
pub use native::{
    BuiltIn, BuiltInParameter, NativeComponent, NativeKind, NativeRole, ParameterKind,
    ParameterValue, Parameters,
};
pub use python::{
    ClassError, Isolation, PythonClass, PythonComponent, PythonKind, PythonOptions, PythonPackage,
    PythonSource, python_packages,
};
pub use routes::{BUILT_IN_ROUTES, BuiltInRoute, built_in_route, hidden_route};
pub use settings::{Setting, Settings};
