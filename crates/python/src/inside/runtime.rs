//! stead's own Python code inside an interpreter.

use std::os::fd::RawFd;

use super::buffer;
use super::object::{self, Kept, Object};
use super::python::Attached;
use crate::StartError;

/// The source, the same for workers.
const SOURCE: &str = include_str!("../bootstrap.py");

/// Functions of it, and the type of buffers.
pub(super) struct Runtime {
    pub load: Kept,
    pub find: Kept,
    pub forget: Kept,
    pub tensor: Kept,
    pub owns: Kept,
    pub is_coroutine: Kept,
    pub run: Kept,
    pub describe: Kept,
    pub nothing: Kept,
    pub late: Kept,
    pub buffer: Kept,
}

impl Runtime {
    /// Executes it on the thread that is Python's main thread: what imports `threading` first says which that is. What
    /// code prints goes to `output`, a descriptor.
    ///
    /// # Errors
    /// [`StartError::Bootstrap`].
    pub(super) fn load(at: &Attached, output: RawFd) -> Result<Runtime, StartError> {
        let failed = |e: crate::Exception| StartError::Bootstrap(e.traceback);
        let globals = object::execute(at, c"_stead_runtime", c"<stead>", SOURCE).map_err(failed)?;
        let capture = object::entry(&globals, c"capture");
        let capture =
            capture.ok_or_else(|| StartError::Bootstrap("capture is not there".into()))?;
        let output = object::int(at, output.into()).map_err(failed)?;
        capture.call(vec![output], None).map_err(failed)?;
        let find = |name| {
            let missing = || StartError::Bootstrap(format!("{name:?} is not there"));
            object::entry(&globals, name).map(Object::keep).ok_or_else(missing)
        };
        Ok(Runtime {
            load: find(c"load")?,
            find: find(c"find")?,
            forget: find(c"forget")?,
            tensor: find(c"tensor")?,
            owns: find(c"owns")?,
            is_coroutine: find(c"is_coroutine")?,
            run: find(c"run")?,
            describe: find(c"describe")?,
            nothing: find(c"nothing")?,
            late: find(c"DeadlineExceeded")?,
            buffer: buffer::make_type(at).map_err(failed)?.keep(),
        })
    }
}
