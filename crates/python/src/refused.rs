//! Where there are no interpreters in process: each start is refused by name, and worker processes do the work.

use std::sync::Arc;

use crate::interpreter::OwnThread;
use crate::{
    Call, CallError, Deadline, Host, Installation, Interpreter, Mode, ModuleSource, NotInProcess,
    StartError, StartOptions, Value, Version,
};

/// An interpreter inside this process, of which there is none on this machine.
pub enum InProcess {}

impl InProcess {
    /// Refuses.
    ///
    /// # Errors
    /// [`StartError::NotInProcess`].
    pub fn start(python: &Installation, _: &StartOptions) -> Result<InProcess, StartError> {
        let here = NotInProcess::Platform(std::env::consts::ARCH);
        Err(python.library.clone().err().unwrap_or(here).into())
    }

    pub(crate) fn thread(&self) -> &'static dyn OwnThread {
        match *self {}
    }
}

impl Interpreter for InProcess {
    fn mode(&self) -> Mode {
        match *self {}
    }

    fn version(&self) -> Version {
        match *self {}
    }

    fn load(&mut self, _: &ModuleSource, _: Deadline) -> Result<(), CallError> {
        match *self {}
    }

    fn call_with(
        &mut self,
        _: &Arc<Call>,
        _: Option<Arc<dyn Host>>,
        _: Deadline,
    ) -> Result<Value, CallError> {
        match *self {}
    }

    fn output(&self) -> Vec<crate::OutputLine> {
        match *self {}
    }

    fn idle(&mut self, _: &[i64], _: &[String]) -> bool {
        match *self {}
    }

    fn is_free(&self) -> bool {
        match *self {}
    }

    fn wait_free(&self) {
        match *self {}
    }

    fn died(&self) -> Option<String> {
        match *self {}
    }
}

/// Nothing runs here that could crash.
///
/// # Errors
/// None.
pub fn contain_crashes() -> std::io::Result<()> {
    Ok(())
}

/// None.
pub fn crashes_contained() -> usize {
    0
}

/// None.
pub fn namespaces_open() -> usize {
    0
}

/// Refuses.
///
/// # Errors
/// Why there are none.
pub fn self_test_here(python: &Installation) -> Result<(), String> {
    let started = InProcess::start(python, &StartOptions::default());
    started.map(drop).map_err(|e| e.to_string())
}
