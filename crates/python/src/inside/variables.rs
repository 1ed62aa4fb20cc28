//! The environment of a namespace: its libc knows that of the start of the program only.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;

use super::namespace::Namespace;
use crate::StartError;

/// Gives the namespace the environment that this process has now, and `more`.
///
/// # Errors
/// [`StartError`], and names or values that hold a zero.
pub(super) fn copy_to(namespace: &Namespace, more: &[(String, String)]) -> Result<(), StartError> {
    let text = |bytes: Vec<u8>| {
        CString::new(bytes).map_err(|_| StartError::Bootstrap("a variable holds a zero".into()))
    };
    namespace.clear_variables()?;
    let own = std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    let more =
        more.iter().map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()));
    for (name, value) in own.chain(more) {
        namespace.set_variable(&text(name)?, &text(value)?)?;
    }
    Ok(())
}
