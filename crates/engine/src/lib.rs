//! The engine: ONNX graphs become plans for concrete shapes, and plans run without allocating.
//!
//! ```text
//! bytes --stead_onnx--> Graph --lower--> Ir --passes--> Model --compile--> Session
//!                                                                             | input shapes
//!                                                                             v
//!                                                    run  <---------------- Plan
//! ```
//!
//! A [`Model`] is a graph after the passes that do not depend on shapes. A [`Session`] holds its compiled
//! nodes, its packed weights (once, for any number of callers) and a bounded cache of plans. A plan is a flat
//! list of steps with arena offsets, made for one set of input shapes. Where the shape of a result depends
//! on the *value* of a tensor (a reshape whose target is computed, the condition of an `If`), the plan ends in
//! a branch: the value is read at run time and selects, or makes, the plan that continues. No operand ever
//! has to be a constant.
//!
//! The engine knows files only as models and knows no protocol; threads are lent to it by the caller.

#![forbid(unsafe_code)]

mod backend;
mod backends;
mod compile;
mod error;
mod hoist;
mod ir;
mod lift;
mod model;
pub mod ops;
mod passes;
mod plan;
mod precision;
mod runnable;
mod session;
mod untie;

pub use backend::{Backend, BackendError, BackendModel, BackendOptions, ModelSource, Provider};
pub use backends::Backends;
pub use error::{BuildError, LoadError, PlanError, RunError};
pub use hoist::{Hoist, JoinedInput};
pub use ir::{Form, Typed};
pub use lift::{Lift, LiftedState, StateInit, Unlifted};
pub use model::{Dim, IoSpec, LoadOptions, Model, ModelInfo, Parts};
pub use passes::{PassChoice, PassReport};
pub use plan::{Growing, PlanView, Profile, ProfileRow, StepRun, StepView, Work};
pub use runnable::{OtherModel, Runnable};
pub use session::{
    Elements, FREED, FreeError, OutputBuf, Outputs, OwnedOutput, PlanStats, RunContext, Session,
    SessionOptions, Value,
};
pub use stead_kernels::Isa;
pub use stead_kernels::{Parallel, Serial};
pub use stead_onnx::FindFile;
pub use stead_tensor::{Precision, UnknownPrecision};
pub use untie::Tied;
