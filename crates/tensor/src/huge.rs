//! Memory on huge pages: 2 MiB behind one entry of the processor's address cache instead of 512.
//!
//! Weights stream through a product once a run. A page of 4 KiB ends each run of the hardware's prefetcher and costs a walk
//! of the page tables, which is four times as long in a virtual machine. Linux gives huge pages to who asks (its usual
//! setting, `madvise`); where it has none to give, the memory is what it would have been.
#![allow(unsafe_code)] // memory with a chosen alignment, handed out in parts

use crate::buffer::ALIGNMENT;
use crate::{Aside, TensorError, pages};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// Bytes of a huge page on x86-64, and on 64-bit ARM with pages of 4 KiB.
pub(crate) const PAGE: usize = 2 << 20;

/// Bytes of a [`Chunk`]. What stays unused at its end is never touched, so that it costs addresses and not memory.
const CHUNK: usize = 8 * PAGE;

/// Bytes from which memory is allocated by itself; what is smaller shares a chunk.
const ALONE: usize = 2 * PAGE;

/// Bytes from which what is read from a file goes into memory of its own, which is the [system's](pages) again once it is let go. It ends
/// within a page, so that less than a thirtieth is lost.
const READ_ALONE: usize = 128 << 10;

/// Zeroed memory from the [system](pages).
#[derive(Debug)]
pub(crate) struct Chunk {
    ptr: NonNull<u8>,
    len: usize,
    align: usize,
}

impl Chunk {
    /// `len` bytes on huge pages.
    fn new(len: usize) -> Result<Chunk, TensorError> {
        let chunk = Chunk::plain(len)?;
        advise(chunk.ptr.as_ptr(), chunk.len);
        Ok(chunk)
    }

    /// `len` bytes that could lie on huge pages and do not.
    pub(crate) fn plain(len: usize) -> Result<Chunk, TensorError> {
        Chunk::at(len, PAGE)
    }

    fn at(len: usize, align: usize) -> Result<Chunk, TensorError> {
        let len = len.max(1);
        Ok(Chunk { ptr: pages::take(len, align)?, len, align })
    }

    /// The first `len` bytes of a file that nobody else has: to be read here and there.
    pub(crate) fn of_file(file: &Aside, len: usize) -> std::io::Result<Chunk> {
        // SAFETY: the file has no name, and who filled it has done so.
        let ptr = unsafe { pages::map(file.file(), len) }?;
        Ok(Chunk { ptr, len, align: ALIGNMENT })
    }

    /// Where it begins.
    pub(crate) const fn begin(&self) -> NonNull<u8> {
        self.ptr
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: taken with these, and who has a part of it has the chunk too.
        unsafe { pages::give_back(self.ptr, self.len, self.align) };
    }
}

// SAFETY: the chunk itself is never read or written; its parts are handed out once each.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

/// Asks for huge pages behind `len` bytes that are allocated. Whole pages only: half of one would be 2 MiB of memory for less than that.
fn advise(begin: *mut u8, len: usize) {
    let before = begin.align_offset(PAGE).min(len);
    let whole = (len - before) / PAGE * PAGE;
    #[cfg(target_os = "linux")]
    if whole > 0 {
        use rustix::mm::{Advice, madvise};
        debug_assert!(before + whole <= len);
        debug_assert!(begin.wrapping_add(before).addr().is_multiple_of(PAGE));
        // SAFETY: the advice changes neither content nor access of this memory, which is allocated and starts at a page.
        // A kernel without huge pages refuses it, and nothing is lost.
        let _ = unsafe { madvise(begin.wrapping_add(before).cast(), whole, Advice::LinuxHugepage) };
    }
    let _ = whole;
}

/// `MADV_COLLAPSE`, which the headers of some C libraries do not have.
#[cfg(target_os = "linux")]
const COLLAPSE: libc::c_int = 25;

/// Puts `len` bytes that are allocated, and written for the most part, together on huge pages: now where the system can (Linux from 6.1 on),
/// else in its own time.
pub(crate) fn gather(begin: *mut u8, len: usize) {
    #[cfg(target_os = "linux")]
    {
        debug_assert!(begin.addr().is_multiple_of(PAGE));
        let whole = len / PAGE * PAGE;
        // SAFETY: the call moves the content of this memory, which is allocated and starts at a page, and changes neither it nor who may
        // read and write it meanwhile.
        let is_done = unsafe { libc::madvise(begin.cast(), whole, COLLAPSE) } == 0;
        if is_done {
            return;
        }
    }
    advise(begin, len);
}

/// Asks for huge pages behind the memory of a list, also where nothing lies in it yet: for a large one that is read here and there, after
/// room was made and before it is filled, since what was written once stays on the pages that it is on. Such reads would
/// walk the page tables each time.
pub fn on_huge_pages<T>(list: &mut Vec<T>) {
    advise(list.as_mut_ptr().cast(), list.capacity().saturating_mul(size_of::<T>()));
}

thread_local! {
    /// The chunk that this thread took a part of last, and where the next part begins. A thread loads one model after the
    /// other, so that what shares a chunk is let go together.
    static LAST: RefCell<(Weak<Chunk>, usize)> = const { RefCell::new((Weak::new(), 0)) };
}

/// `len` zeroed bytes at a multiple of [`ALIGNMENT`], which nobody else has and which live as long as the chunk that holds
/// them. Small amounts that one thread asks for lie beside each other.
///
/// # Errors
/// [`TensorError::OutOfMemory`] when the system refuses.
pub(crate) fn part(len: usize) -> Result<(NonNull<u8>, Arc<Chunk>), TensorError> {
    let (chunk, at) = if len >= ALONE {
        (Arc::new(Chunk::new(len)?), 0)
    } else {
        shared(len.next_multiple_of(ALIGNMENT))?
    };
    debug_assert!(at + len <= chunk.len);
    // SAFETY: the bytes lie inside the chunk, and only this call got them. The chunk was zeroed, and no part is handed out twice.
    let ptr = unsafe { chunk.ptr.add(at) };
    Ok((ptr, chunk))
}

/// `len` bytes in a chunk of their own, on huge pages where they are many; `None` where they are few.
///
/// # Errors
/// [`TensorError::OutOfMemory`] when the system refuses.
pub(crate) fn alone(len: usize) -> Option<Result<(NonNull<u8>, Arc<Chunk>), TensorError>> {
    let chunk = match len {
        0..READ_ALONE => return None,
        READ_ALONE..ALONE => Chunk::at(len, ALIGNMENT),
        ALONE.. => Chunk::new(len),
    };
    Some(chunk.map(|chunk| (chunk.ptr, Arc::new(chunk))))
}

/// The next `len < ALONE` bytes of the thread's chunk, or the first of a new one.
fn shared(len: usize) -> Result<(Arc<Chunk>, usize), TensorError> {
    LAST.with_borrow_mut(|(last, next)| {
        if let Some(chunk) = last.upgrade()
            && CHUNK - *next >= len
        {
            let at = *next;
            *next += len;
            return Ok((chunk, at));
        }
        let chunk = Arc::new(Chunk::new(CHUNK)?);
        (*last, *next) = (Arc::downgrade(&chunk), len);
        Ok((chunk, 0))
    })
}

#[cfg(test)]
mod tests {
    use super::on_huge_pages;
    use crate::{ALIGNMENT, AlignedBuf};

    #[test]
    fn parts_are_zeroed_aligned_and_apart() {
        let sizes = [1, 64, 65, 4096, 1 << 20, 3 << 20, (4 << 20) - 1, 4 << 20, (5 << 20) + 3, 0];
        let mut buffers: Vec<AlignedBuf> =
            sizes.iter().chain(&sizes).map(|&len| AlignedBuf::lasting(len).unwrap()).collect();
        for (i, buf) in buffers.iter_mut().enumerate() {
            assert_eq!(buf.len(), sizes[i % sizes.len()]);
            assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buf.iter().all(|&b| b == 0), "part {i} overlaps one before it");
            buf.fill(0xff);
        }
    }

    #[test]
    fn a_chunk_outlives_the_thread_and_ends_with_its_last_part() {
        let make = || [AlignedBuf::lasting(100).unwrap(), AlignedBuf::lasting(100).unwrap()];
        let [first, mut second] = std::thread::spawn(make).join().unwrap();
        drop(first);
        second.fill(7);
        assert!(second.iter().all(|&b| b == 7));
        drop(second);
        // What is asked for now is zeroed, even where the allocator gives the same memory again.
        assert!(AlignedBuf::lasting(200).unwrap().iter().all(|&b| b == 0));
    }

    #[test]
    fn lists_keep_what_is_in_them() {
        for room in [0, 1, 600_000, 3_000_000] {
            let mut list: Vec<u32> = Vec::with_capacity(room);
            list.extend(0..room as u32 / 2);
            on_huge_pages(&mut list);
            list.extend(room as u32 / 2..room as u32);
            assert!(list.iter().copied().eq(0..room as u32), "{room}");
        }
    }

    #[test]
    fn an_absurd_size_is_an_error() {
        assert!(AlignedBuf::lasting(usize::MAX / 2).is_err());
        assert!(AlignedBuf::lasting(usize::MAX).is_err());
    }
}
