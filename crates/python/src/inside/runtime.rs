//! stead's own Python code inside an interpreter.

use std::ffi::CStr;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, PoisonError};

use stead_tensor::{DType, Shape, SharedBytes, Tensor};

use super::object::{self, Kept, Object};
use super::python::Attached;
use super::{buffer, host};
use crate::library::LIBRARY;
use crate::{Call, Exception, StartError};

/// The source, the same for workers.
const SOURCE: &str = concat!(
    include_str!("../bootstrap.py"),
    include_str!("../garbage.py"),
    include_str!("../objects.py")
);

/// The modules that it finds, where they lie in this program.
fn library() -> Result<Tensor, StartError> {
    let failed = |e: String| StartError::Bootstrap(e);
    let shape = Shape::new(&[LIBRARY.len()]).map_err(|e| failed(e.to_string()))?;
    let bytes = SharedBytes::new(Arc::new(LIBRARY), 0..LIBRARY.len());
    let bytes = bytes.ok_or_else(|| failed("the library is not there".to_owned()))?;
    Tensor::from_shared(DType::U8, shape, bytes).map_err(|e| failed(e.to_string()))
}

/// Functions of it, and the type of buffers.
pub(super) struct Runtime {
    pub load: Kept,
    pub find: Kept,
    pub forget: Kept,
    pub tensor: Kept,
    pub strings: Kept,
    pub exotic: Kept,
    pub owns: Kept,
    pub origin: Kept,
    pub is_coroutine: Kept,
    pub run: Kept,
    pub describe: Kept,
    pub nothing: Kept,
    pub late: Kept,
    pub buffer: Kept,
    /// Functions of stead itself that were called, by their names.
    own: Mutex<Vec<(String, Kept)>>,
}

impl Runtime {
    /// Executes it on the thread that is Python's main thread: what imports `threading` first says which that is. What
    /// code prints goes to `output`, a descriptor.
    ///
    /// # Errors
    /// [`StartError::Bootstrap`].
    pub(super) fn load(at: &Attached, output: RawFd) -> Result<Runtime, StartError> {
        let failed = |e: Exception| StartError::Bootstrap(e.traceback);
        let globals = object::execute(at, c"_stead_runtime", c"<stead>", SOURCE).map_err(failed)?;
        let entry = |name: &CStr| {
            let missing = || StartError::Bootstrap(format!("{name:?} is not there"));
            object::entry(&globals, name).ok_or_else(missing)
        };
        let output = object::int(at, output.into()).map_err(failed)?;
        entry(c"capture")?.call(vec![output], None).map_err(failed)?;
        let buffer = buffer::make_type(at).map_err(failed)?;
        let library = buffer::make(at, &buffer, &library()?).map_err(failed)?;
        entry(c"library")?.call(vec![library], None).map_err(failed)?;
        let host = host::make(at).map_err(failed)?;
        entry(c"ask_with")?.call(vec![host], None).map_err(failed)?;
        let find = |name| entry(name).map(Object::keep);
        Ok(Runtime {
            load: find(c"load")?,
            find: find(c"find")?,
            forget: find(c"forget")?,
            tensor: find(c"tensor")?,
            strings: find(c"strings")?,
            exotic: find(c"exotic")?,
            owns: find(c"owns")?,
            origin: find(c"origin")?,
            is_coroutine: find(c"is_coroutine")?,
            run: find(c"run")?,
            describe: find(c"describe")?,
            nothing: find(c"nothing")?,
            late: find(c"DeadlineExceeded")?,
            buffer: buffer.keep(),
            own: Mutex::default(),
        })
    }

    /// What a call names, and whether it is a function of stead itself: those are looked for once, and give no
    /// coroutines.
    pub(super) fn function<'a>(
        &self,
        at: &'a Attached,
        call: &Call,
    ) -> Result<(Object<'a>, bool), Exception> {
        let is_own = call.is_own();
        let own = || self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let known = is_own.then(|| {
            let own = own();
            let known = own.iter().find(|(name, _)| *name == call.name);
            known.map(|(_, function)| function.get(at))
        });
        if let Some(function) = known.flatten() {
            return Ok((function, true));
        }
        let package = call.package.as_deref().unwrap_or_default();
        let names = [package, &call.module, &call.name].map(|name| object::text(at, name));
        let names = names.into_iter().collect::<Result<_, _>>()?;
        let found = self.find.get(at).call(names, None)?;
        if is_own {
            own().push((call.name.clone(), found.again().keep()));
        }
        Ok((found, is_own))
    }
}
