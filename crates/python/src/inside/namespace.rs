//! A namespace of the dynamic loader with its own copy of libpython and of everything that it needs.
#![allow(unsafe_code)] // the dynamic loader

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use super::budget::Slot;
use super::elf;
use super::interpose::{self, Table};
use crate::StartError;
use crate::memory::file_of;

/// An open namespace. It is never closed: the loader does not unmap one in which an extension module was loaded.
pub(super) struct Namespace {
    handle: NonNull<c_void>,
    pub(super) table: &'static Table,
}

// SAFETY: the handle is a token of the loader, which locks for itself.
unsafe impl Send for Namespace {}
// SAFETY: as above.
unsafe impl Sync for Namespace {}

impl Namespace {
    /// Opens a namespace with `library`, an absolute path, on the calling thread.
    ///
    /// # Errors
    /// [`StartError::Load`] and [`StartError::System`].
    pub(super) fn open(library: &Path, slot: Slot) -> Result<Namespace, StartError> {
        let table = Table::leaked();
        let bytes =
            elf::interposer(library.as_os_str().as_bytes(), &interpose::exports(), table.address());
        let file = file_of(c"stead-interposer", [bytes.as_slice()], None);
        let file = file.map_err(StartError::system("memory for the interposer"))?;
        let path = format!("/proc/self/fd/{}\0", file.as_raw_fd());
        // So that nobody who closes what `dlopen(NULL)` gave unloads it.
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE;
        // SAFETY: the path ends with a zero. The code that the load runs is that of libpython and what it needs.
        let handle = unsafe { libc::dlmopen(libc::LM_ID_NEWLM, path.as_ptr().cast(), flags) };
        let handle = NonNull::new(handle).ok_or_else(load_error)?;
        // What has been loaded stays, so its place is gone whatever comes.
        slot.keep();
        let namespace = Namespace { handle, table };
        let libc = namespace.libc()?;
        let own = |name: &'static CStr| find(libc, name);
        let functions = [own(c"dlopen")?, own(c"uselocale")?, own(c"exit")?];
        table.complete(handle.as_ptr(), functions);
        Ok(namespace)
    }

    /// The namespace's own copy of libc.
    fn libc(&self) -> Result<NonNull<c_void>, StartError> {
        let mut id: libc::Lmid_t = 0;
        let to = (&raw mut id).cast::<c_void>();
        // SAFETY: the handle is open, and the request writes one `Lmid_t`.
        if unsafe { libc::dlinfo(self.handle.as_ptr(), libc::RTLD_DI_LMID, to) } != 0 {
            return Err(load_error());
        }
        debug_assert!(id > 0, "a namespace of its own");
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        // SAFETY: a name that ends with a zero, in a namespace that is open.
        let libc = unsafe { libc::dlmopen(id, c"libc.so.6".as_ptr(), flags) };
        NonNull::new(libc).ok_or_else(load_error)
    }

    /// The address of a function or object of libpython.
    ///
    /// # Errors
    /// [`StartError::Symbol`].
    pub(super) fn symbol(&self, name: &'static CStr) -> Result<NonNull<c_void>, StartError> {
        find(self.handle, name)
    }

    /// Sets a variable in the namespace's own environment. Before threads of it run.
    pub(super) fn set_variable(&self, name: &CStr, value: &CStr) -> Result<(), StartError> {
        let set = find(self.libc()?, c"setenv")?;
        // SAFETY: the address is that of `setenv` with this signature; it copies both texts. No other thread runs code
        // of the namespace yet.
        let result = unsafe {
            let set: unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int =
                std::mem::transmute(set);
            set(name.as_ptr(), value.as_ptr(), 1)
        };
        let failed = || StartError::system("setenv")(std::io::Error::last_os_error());
        if result == 0 { Ok(()) } else { Err(failed()) }
    }

    /// Removes all variables of the namespace's own environment. Before threads of it run.
    pub(super) fn clear_variables(&self) -> Result<(), StartError> {
        let clear = find(self.libc()?, c"clearenv")?;
        // SAFETY: the address is that of `clearenv`, which has no argument. As in `set_variable`.
        unsafe {
            let clear: unsafe extern "C" fn() -> c_int = std::mem::transmute(clear);
            clear();
        }
        Ok(())
    }
}

fn find(handle: NonNull<c_void>, name: &'static CStr) -> Result<NonNull<c_void>, StartError> {
    // SAFETY: the handle is open for ever, and the name ends with a zero.
    let found = unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) };
    NonNull::new(found).ok_or(StartError::Symbol(name.to_str().unwrap_or("(no text)")))
}

/// What the loader says of the last failure on this thread.
fn load_error() -> StartError {
    // SAFETY: gives null or a text that is valid until the next call of the loader on this thread.
    let text = unsafe {
        let text = libc::dlerror();
        if text.is_null() { c"no reason given".into() } else { CString::from(CStr::from_ptr(text)) }
    };
    StartError::Load(text.to_string_lossy().into_owned())
}
