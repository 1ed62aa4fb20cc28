//! Memory that is taken from the system itself, and is the system's again as soon as it is let go.
//!
//! An allocator keeps what is freed for a while, because the same amount is mostly asked for again soon. What the weights of a model
//! are read into is freed when they are packed, and nobody asks for it again: kept, it would be as much as all weights, for as long as the process
//! allocates little.
#![allow(unsafe_code)] // memory from the system

use crate::TensorError;
use std::ptr::NonNull;

/// The least pages that a system has, in bytes: mappings begin at a multiple of it.
#[cfg(target_os = "linux")]
const SMALL: usize = 4096;

/// `len` zeroed bytes, above 0, at a multiple of `align`, a power of two. None of them takes memory before it is written.
///
/// # Errors
/// [`TensorError::OutOfMemory`] when the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn take(len: usize, align: usize) -> Result<NonNull<u8>, TensorError> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    debug_assert!(len > 0 && align.is_power_of_two());
    let short = || TensorError::OutOfMemory(len);
    let wanted = len.checked_next_multiple_of(SMALL).ok_or_else(short)?;
    // Whatever address the system gives, there is a multiple of `align` before this much behind it.
    let spare = align.saturating_sub(SMALL);
    let all = wanted.checked_add(spare).ok_or_else(short)?;
    // SAFETY: a new mapping at an address that the system chooses.
    let begin = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            all,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    let begin = NonNull::new(begin.map_err(|_| short())?.cast::<u8>()).ok_or_else(short)?;
    let before = begin.as_ptr().align_offset(align);
    debug_assert!(before <= spare);
    // SAFETY: `before + wanted` lies inside the mapping; what is around it is given back, whole pages that nobody has seen. A system that
    // refuses keeps addresses without memory.
    unsafe {
        let at = begin.add(before);
        if before > 0 {
            let _ = munmap(begin.as_ptr().cast(), before);
        }
        if spare > before {
            let _ = munmap(at.add(wanted).as_ptr().cast(), spare - before);
        }
        Ok(at)
    }
}

/// The first `len` bytes, above 0, of a file, at a multiple of a page: what is written to them is memory, and the file stays as it is.
///
/// # Errors
/// Those of the system, and that the file is shorter.
///
/// # Safety
/// Nobody cuts the file off or writes to it any more.
#[cfg(target_os = "linux")]
pub(crate) unsafe fn map(file: &std::fs::File, len: usize) -> std::io::Result<NonNull<u8>> {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    debug_assert!(len > 0);
    if file.metadata()?.len() < len as u64 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address that the system chooses, of bytes that the file has; the caller's promise.
    let begin = unsafe { mmap(std::ptr::null_mut(), len, access, MapFlags::PRIVATE, file, 0) }?
        .cast::<u8>();
    NonNull::new(begin).ok_or_else(|| std::io::ErrorKind::OutOfMemory.into())
}

/// No system but Linux is asked.
///
/// # Errors
/// Always.
///
/// # Safety
/// Nothing is done.
#[cfg(not(target_os = "linux"))]
pub(crate) unsafe fn map(_: &std::fs::File, _: usize) -> std::io::Result<NonNull<u8>> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Gives back what was [taken](take) with the same `len` and `align`, or [mapped](map).
///
/// # Safety
/// Nothing points into it any more.
#[cfg(target_os = "linux")]
pub(crate) unsafe fn give_back(at: NonNull<u8>, len: usize, align: usize) {
    debug_assert!(at.as_ptr().addr().is_multiple_of(align.min(SMALL)));
    // SAFETY: the mapping that was made for it; the caller's promise.
    let done = unsafe { rustix::mm::munmap(at.as_ptr().cast(), len.next_multiple_of(SMALL)) };
    debug_assert!(done.is_ok());
}

/// As above, from the allocator, where the system is asked in another way.
#[cfg(not(target_os = "linux"))]
pub(crate) fn take(len: usize, align: usize) -> Result<NonNull<u8>, TensorError> {
    let layout = layout(len, align).ok_or(TensorError::OutOfMemory(len))?;
    debug_assert!(len > 0);
    // SAFETY: the layout has a non-zero size.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or(TensorError::OutOfMemory(len))
}

/// As above.
///
/// # Safety
/// Nothing points into it any more.
#[cfg(not(target_os = "linux"))]
pub(crate) unsafe fn give_back(at: NonNull<u8>, len: usize, align: usize) {
    if let Some(layout) = layout(len, align) {
        // SAFETY: taken with this layout; the caller's promise.
        unsafe { std::alloc::dealloc(at.as_ptr(), layout) };
    }
}

#[cfg(not(target_os = "linux"))]
fn layout(len: usize, align: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(len, align.max(crate::ALIGNMENT)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_zeroed_aligned_and_apart() {
        let cases: Vec<(usize, usize)> = [1, 4095, 4096, 4097, 1 << 20, (2 << 20) + 1]
            .into_iter()
            .flat_map(|len| [64, 4096, 8192, 2 << 20].map(|align| (len, align)))
            .collect();
        let taken: Vec<_> = cases.iter().map(|&(len, align)| take(len, align).unwrap()).collect();
        for (at, &(len, align)) in taken.iter().zip(&cases) {
            assert!(at.as_ptr().addr().is_multiple_of(align), "{len} at {align}");
            // SAFETY: taken above, and nobody else has it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(at.as_ptr(), len) };
            assert!(bytes.iter().all(|&b| b == 0), "{len} at {align}");
            bytes.fill(0xff);
        }
        for (at, (len, align)) in taken.into_iter().zip(cases) {
            // SAFETY: nothing points into it any more.
            unsafe { give_back(at, len, align) };
        }
    }

    #[test]
    fn an_absurd_size_is_an_error() {
        for len in [usize::MAX, usize::MAX / 2] {
            assert_eq!(take(len, 64), Err(TensorError::OutOfMemory(len)));
            assert_eq!(take(len, 2 << 20), Err(TensorError::OutOfMemory(len)));
        }
    }
}
