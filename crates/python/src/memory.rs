//! Files without names, which lie in memory.
#![allow(unsafe_code)] // they are made by the system

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::FromRawFd;

/// Seals that keep everybody from changing a file.
pub(crate) const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;

/// Parts behind each other in a file, at whose begin it stands. With seals nobody changes it any more.
///
/// # Errors
/// Those of the system.
pub(crate) fn file_of<'a>(
    name: &CStr,
    parts: impl IntoIterator<Item = &'a [u8]>,
    seals: Option<libc::c_int>,
) -> io::Result<File> {
    // SAFETY: a name that ends with a zero.
    let fd =
        unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    let mut file = unsafe { File::from_raw_fd(fd) };
    parts.into_iter().try_for_each(|part| file.write_all(part))?;
    file.rewind()?;
    if let Some(seals) = seals {
        // SAFETY: a descriptor that is open.
        if unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(file)
}
