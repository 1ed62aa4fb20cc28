//! Loops allocate nothing in the steady state.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use stead_pool::{Pool, PoolOptions};

struct Counting;
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is handed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn loops_allocate_nothing() {
    let pool = Pool::new(&PoolOptions { threads: 3, ..PoolOptions::default() }).unwrap();
    let mut data = vec![0u32; 1000];
    let mut run = || {
        for _ in 0..200 {
            pool.team(3).par_chunks_mut(&mut data, 10, &|i, part| part.fill(i as u32));
        }
    };
    run();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    run();
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
}
