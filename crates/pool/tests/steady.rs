//! Loops allocate nothing in the steady state.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use stead_pool::{Pool, PoolOptions};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is handed to the system's allocator; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

/// What a thread had allocated when it first and when it last worked in a loop. Counted for each thread, since
/// a worker that the machine starts late, and the thread that waits for this test, allocate on their own.
struct Seen {
    thread: ThreadId,
    first: usize,
    last: usize,
}

#[test]
fn loops_allocate_nothing() {
    let pool = Pool::new(&PoolOptions { threads: 3, ..PoolOptions::default() }).unwrap();
    let seen: Mutex<Vec<Seen>> = Mutex::new(Vec::with_capacity(16));
    let record = || {
        let thread = thread::current().id();
        let now = ALLOCATIONS.get();
        let mut seen = seen.lock().unwrap();
        match seen.iter_mut().find(|s| s.thread == thread) {
            Some(entry) => entry.last = now,
            None => seen.push(Seen { thread, first: now, last: now }),
        }
    };
    let mut data = vec![0u32; 1000];
    let mut run = || {
        for _ in 0..200 {
            pool.team(3).par_chunks_mut(&mut data, 10, &|i, part| {
                record();
                part.fill(i as u32);
            });
        }
    };
    run();
    for entry in seen.lock().unwrap().iter_mut() {
        entry.first = entry.last;
    }
    run();
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty());
    let allocated: Vec<usize> = seen.iter().map(|s| s.last - s.first).collect();
    assert!(allocated.iter().all(|&n| n == 0), "allocations by thread: {allocated:?}");
}
