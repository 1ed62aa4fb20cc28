//! Memory that ends.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The most bytes that may be held: a case needs a few megabytes, an arena may have 64, and what a plan may hold beside it some
/// hundreds.
const MAX_BYTES: usize = 1 << 30;

/// An allocator that has no more than [`MAX_BYTES`]: who asks for more without looking whether it is there ends the process.
pub struct Limited {
    held: AtomicUsize,
}

impl Limited {
    pub const fn new() -> Limited {
        Limited { held: AtomicUsize::new(0) }
    }

    /// Counts bytes that are asked for; false if there are not so many left.
    fn take(&self, bytes: usize) -> bool {
        let held = self.held.fetch_add(bytes, Relaxed);
        let fits = held.checked_add(bytes).is_some_and(|held| held <= MAX_BYTES);
        if !fits {
            self.held.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

// SAFETY: every call goes to the system allocator unchanged or gives null, which says that there is no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        self.held.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        let moved = unsafe { System.realloc(ptr, layout, size) };
        self.held.fetch_sub(if moved.is_null() { size } else { layout.size() }, Relaxed);
        moved
    }
}
