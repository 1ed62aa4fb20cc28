//! Loops that idle workers join.
//!
//! A [`Loop`] lives on the stack of the thread that runs it. While it is listed in the pool, workers may hold
//! a pointer to it; the owner takes it off the list and waits until the last helper has left before the loop
//! goes out of scope. Every read and write of the list and of `helpers` for joining happens under the pool's
//! lock, so no worker can join after the loop was taken off.

#![allow(unsafe_code)]

use crate::cores::current;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

type Body<'a> = &'a (dyn Fn(usize) + Sync);

pub(crate) struct Loop<'a> {
    body: Body<'a>,
    rounds: usize,
    next: AtomicUsize,
    /// Workers inside. Raised under the pool's lock; lowering it is a helper's last touch of the loop.
    helpers: AtomicUsize,
    max_helpers: usize,
    /// The CPU on which the owner began, where the system tells.
    cpu: Option<usize>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Loop<'a> {
    pub(crate) fn new(rounds: usize, max_helpers: usize, body: Body<'a>) -> Loop<'a> {
        Loop {
            body,
            rounds,
            next: AtomicUsize::new(0),
            helpers: AtomicUsize::new(0),
            max_helpers,
            cpu: current(),
            panic: Mutex::new(None),
        }
    }

    /// Runs rounds until none is left or `leave` says so.
    pub(crate) fn work(&self, leave: impl Fn() -> bool) {
        let run = || {
            while !leave() {
                let round = self.next.fetch_add(1, Ordering::Relaxed);
                if round >= self.rounds {
                    break;
                }
                (self.body)(round);
            }
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            // The other rounds are of no more use.
            self.next.store(self.rounds, Ordering::Relaxed);
            if let Ok(mut first) = self.panic.lock() {
                first.get_or_insert(payload);
            }
        }
    }

    /// Workers that may still join.
    fn room(&self) -> usize {
        match self.next.load(Ordering::Relaxed) < self.rounds {
            true => self.max_helpers.saturating_sub(self.helpers.load(Ordering::Relaxed)),
            false => 0,
        }
    }

    /// Whether no worker is inside. What helpers wrote is visible after it said yes.
    pub(crate) fn is_left(&self) -> bool {
        self.helpers.load(Ordering::Acquire) == 0
    }

    /// The panic of a round, if there was one.
    pub(crate) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.lock().map_or(None, |mut p| p.take())
    }

    /// A pointer that the pool may list.
    pub(crate) fn pointer(&self) -> LoopPointer {
        LoopPointer(std::ptr::from_ref(self).cast())
    }
}

/// A listed loop. It is valid as long as it is listed or a helper is inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoopPointer(*const Loop<'static>);

// SAFETY: a `Loop` is `Sync`: its body is, and the rest are atomics and a mutex. The pointer is only followed
// while the loop is valid, see `join`.
unsafe impl Send for LoopPointer {}

impl LoopPointer {
    /// Helpers that may still join. Call it under the pool's lock with a listed loop.
    pub(crate) fn room(self) -> usize {
        // SAFETY: the loop is listed and the lock is held, so its owner has not left `Team::for_each`.
        unsafe { &*self.0 }.room()
    }

    /// Whether a helper may join. Call it under the pool's lock with a listed loop.
    pub(crate) fn has_room(self) -> bool {
        self.room() > 0
    }

    /// Enters the loop. Call it under the pool's lock with a listed loop, and [`leave`](Joined::leave) later.
    pub(crate) fn join(self) -> Joined {
        // SAFETY: as in `room`. From here on the owner waits for `helpers` to fall to zero.
        unsafe { &*self.0 }.helpers.fetch_add(1, Ordering::Relaxed);
        Joined(self)
    }
}

/// A helper's stay in a loop; it keeps the loop alive.
pub(crate) struct Joined(LoopPointer);

impl Joined {
    /// The CPU on which the owner began, where the system tells.
    pub(crate) fn cpu(&self) -> Option<usize> {
        // SAFETY: this helper is counted in `helpers`, and the owner waits for it.
        unsafe { &*self.0.0 }.cpu
    }

    /// Works in the loop.
    pub(crate) fn work(&self, leave: impl Fn() -> bool) {
        // SAFETY: this helper is counted in `helpers`, and the owner waits for it.
        unsafe { &*self.0.0 }.work(leave);
    }

    /// Leaves the loop; `true` when this was the last helper. The loop may be gone when it returns.
    pub(crate) fn leave(self) -> bool {
        // SAFETY: as in `work`; the decrement is the last touch.
        unsafe { &*self.0.0 }.helpers.fetch_sub(1, Ordering::Release) == 1
    }
}
