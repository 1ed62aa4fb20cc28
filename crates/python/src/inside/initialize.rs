//! The start of Python in a namespace.
#![allow(unsafe_code)] // functions of C and fields by offset

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

use super::api::{Api, PyStatus};
use super::config_offsets::{PRECONFIG_INTS, PRECONFIG_UTF8_MODE, config_offsets};
use crate::{Installation, StartError};

/// Initialises Python on the calling thread, which is its main thread from then on and holds its lock.
///
/// Isolated (no variables, no user site, no arguments), in UTF-8 mode (an isolated Python takes ASCII from a C locale),
/// without handlers of signals and without writing bytecode beside the sources of others.
///
/// # Errors
/// [`StartError::Initialize`], [`StartError::Symbol`].
pub(super) fn initialize(api: &Api, python: &Installation) -> Result<(), StartError> {
    let found = version_of(api);
    let expected = format!("{}.{}.", python.version.major, python.version.minor);
    if !found.starts_with(&expected) {
        let text =
            format!("the library is of Python {found} and the program of {}", python.version);
        return Err(StartError::Initialize(text));
    }
    let executable = CString::new(python.executable.as_os_str().as_bytes())
        .map_err(|_| StartError::Initialize("the program's path holds a zero".to_owned()))?;
    if python.version.minor >= 14 {
        by_names(api, &executable)
    } else {
        by_offsets(api, python.version.minor, &executable)
    }
}

/// The version of the library, such as `3.11.2`.
fn version_of(api: &Api) -> String {
    // SAFETY: may be called before the start; gives a text that lives as long as the library.
    let text = unsafe { CStr::from_ptr((api.Py_GetVersion)()) };
    text.to_string_lossy().split(' ').next().unwrap_or_default().to_owned()
}

fn missing<T>(name: &'static str) -> impl Fn() -> Result<T, StartError> {
    move || Err(StartError::Symbol(name))
}

/// 3.10 to 3.13.
fn by_offsets(api: &Api, minor: u32, executable: &CStr) -> Result<(), StartError> {
    let offsets = config_offsets(minor)
        .ok_or_else(|| StartError::Initialize(format!("the layout of 3.{minor} is not known")))?;
    let (
        Some(pre_isolated),
        Some(preinitialize),
        Some(isolated),
        Some(set),
        Some(clear),
        Some(start),
    ) = (
        api.PyPreConfig_InitIsolatedConfig,
        api.Py_PreInitialize,
        api.PyConfig_InitIsolatedConfig,
        api.PyConfig_SetBytesString,
        api.PyConfig_Clear,
        api.Py_InitializeFromConfig,
    )
    else {
        return missing("PyConfig_InitIsolatedConfig")();
    };
    let mut pre = [0 as c_int; PRECONFIG_INTS];
    // SAFETY: `PyPreConfig` is these ints, and nothing else of Python has run.
    unsafe {
        pre_isolated(pre.as_mut_ptr());
        pre[PRECONFIG_UTF8_MODE] = 1;
        check(preinitialize(pre.as_ptr()))?;
    }
    // Aligned as pointers are, and as large as the structure.
    let mut config = vec![0u64; offsets.size.div_ceil(8)];
    let base = config.as_mut_ptr().cast::<u8>();
    let ints = [
        (offsets.install_signal_handlers, 0),
        (offsets.site_import, 1),
        (offsets.write_bytecode, 0),
    ];
    // SAFETY: `base` is memory of the structure's size and alignment; every offset is that of a field of the type that
    // is written there (config_offsets.rs), inside the structure. Texts are copied. `clear` frees what the others made.
    unsafe {
        isolated(base);
        for (offset, value) in ints {
            debug_assert!(offset + 4 <= offsets.size);
            base.add(offset).cast::<c_int>().write(value);
        }
        let strings = [offsets.executable, offsets.program_name];
        let named = strings.into_iter().try_for_each(|offset| {
            debug_assert!(offset + 8 <= offsets.size);
            check(set(base, base.add(offset), executable.as_ptr()))
        });
        let started = named.and_then(|()| check(start(base)));
        clear(base);
        started
    }
}

/// 3.14 and later.
fn by_names(api: &Api, executable: &CStr) -> Result<(), StartError> {
    let (Some(create), Some(free), Some(set_int), Some(set_str), Some(start)) = (
        api.PyInitConfig_Create,
        api.PyInitConfig_Free,
        api.PyInitConfig_SetInt,
        api.PyInitConfig_SetStr,
        api.Py_InitializeFromInitConfig,
    ) else {
        return missing("PyInitConfig_Create")();
    };
    let ints: [(&CStr, i64); 4] = [
        (c"utf8_mode", 1),
        (c"install_signal_handlers", 0),
        (c"site_import", 1),
        (c"write_bytecode", 0),
    ];
    // SAFETY: the functions take a configuration that `create` made (isolated from the start), names that end with a
    // zero, and copy texts. It is freed once, after the text of an error was taken.
    unsafe {
        let config = create();
        if config.is_null() {
            return Err(StartError::Initialize("no memory for the configuration".to_owned()));
        }
        let failed = ints.iter().any(|(name, value)| set_int(config, name.as_ptr(), *value) < 0)
            || set_str(config, c"executable".as_ptr(), executable.as_ptr()) < 0
            || set_str(config, c"program_name".as_ptr(), executable.as_ptr()) < 0
            || start(config) < 0;
        let mut text: *const c_char = std::ptr::null();
        if failed && let Some(error) = api.PyInitConfig_GetError {
            error(config, &raw mut text);
        }
        let text = shown(text);
        free(config);
        if failed { Err(StartError::Initialize(text)) } else { Ok(()) }
    }
}

fn check(status: PyStatus) -> Result<(), StartError> {
    if status.kind == 0 {
        return Ok(());
    }
    // SAFETY: null or a static text.
    Err(StartError::Initialize(unsafe { shown(status.message) }))
}

/// # Safety
/// Null or a text that ends with a zero.
unsafe fn shown(text: *const c_char) -> String {
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
