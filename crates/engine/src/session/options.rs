//! What a session is made with, and what a run may use.

use crate::error::LoadError;
use crate::plan::StepRun;
use std::time::Duration;
use stead_kernels::{Isa, Parallel, Serial};
use stead_tensor::Precision;

/// How a session is made.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The instruction set; `None` for the one in the variable `STEAD_ISA`, or else the best that the machine
    /// has.
    pub isa: Option<Isa>,
    /// How products by constant weights are computed.
    pub precision: Precision,
    /// How many plans are kept: one for each set of input shapes seen lately.
    pub max_plans: usize,
    /// The most bytes that one segment of a plan may take for intermediate values.
    pub max_arena_bytes: usize,
    /// Whether outputs lie in blocks of their own, which [`Session::run_owned`] hands over. Otherwise they lie where
    /// earlier values of the run did, which takes less memory.
    pub outputs_apart: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        // 256 plans cover every length of a padded batch of sentences; 16 GiB is more than any model that a
        // CPU serves needs, and less than what an absurd shape asks for.
        SessionOptions {
            isa: None,
            precision: Precision::F32,
            max_plans: 256,
            max_arena_bytes: 16 << 30,
            outputs_apart: false,
        }
    }
}

/// What a run may use.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Threads that may help.
    pub parallel: &'a dyn Parallel,
    /// Asked between steps; `true` ends the run with [`RunError::Cancelled`].
    pub cancelled: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// Runs only if the last run on inputs of these shapes took no longer, and ends with [`RunError::NotQuick`] before it
    /// has begun otherwise.
    pub within: Option<Duration>,
    /// Called between steps: the calling thread may do something more urgent there, runs of the same session among it.
    /// How long such a run took is not remembered.
    pub pause: Option<&'a (dyn Fn() + Sync)>,
    /// Told of each step when it has run, with its time. Without one no clock is read.
    pub profile: Option<&'a (dyn Fn(StepRun<'_>) + Sync)>,
}

impl Default for RunContext<'_> {
    fn default() -> Self {
        RunContext { parallel: &Serial, cancelled: None, within: None, pause: None, profile: None }
    }
}

/// The instruction set to use: the caller's choice, else `STEAD_ISA`, else the best of the machine.
pub(super) fn choose_isa(choice: Option<Isa>) -> Result<Isa, LoadError> {
    let isa = match (choice, std::env::var("STEAD_ISA")) {
        (Some(isa), _) => isa,
        (None, Ok(name)) => Isa::from_name(&name).ok_or(LoadError::Isa(name))?,
        (None, Err(_)) => return Ok(Isa::detect()),
    };
    if isa.is_available() {
        Ok(isa)
    } else {
        Err(LoadError::Isa(format!("{isa:?}").to_lowercase()))
    }
}
