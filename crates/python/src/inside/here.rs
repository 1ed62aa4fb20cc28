//! Where posted work runs: it is on the thread of its interpreter and holds the lock, so that calls of the interpreter
//! need no other thread.
#![allow(unsafe_code)] // what a thread holds, kept beside its stack

use std::cell::Cell;
use std::ptr::NonNull;

use super::python::{Attached, Python};

thread_local! {
    /// What posted work on this thread is attached to.
    static HERE: Cell<Option<NonNull<Attached>>> = const { Cell::new(None) };
}

/// Sets what this thread is attached to, until it is dropped.
struct Set(Option<NonNull<Attached>>);

impl Set {
    fn to(here: Option<NonNull<Attached>>) -> Set {
        Set(HERE.replace(here))
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        HERE.set(self.0);
    }
}

/// Runs posted work, for which [`run`] finds `at`.
pub(super) fn with(at: &Attached, work: impl FnOnce()) {
    let _set = Set::to(Some(NonNull::from(at)));
    work();
}

/// Runs what does not hold the lock: nothing is here meanwhile.
pub(super) fn without<T>(work: impl FnOnce() -> T) -> T {
    let _set = Set::to(None);
    work()
}

/// Runs `work` here, if this thread runs posted work of `python`; else gives it back.
pub(super) fn run<T, W: FnOnce(&Attached) -> T>(
    python: Option<&'static Python>,
    work: W,
) -> Result<T, W> {
    let Some(here) = HERE.get() else { return Err(work) };
    // SAFETY: `with` keeps what it set alive until it takes it back, and `without` hides it while the lock is given
    // back; no other thread sees it.
    let at = unsafe { here.as_ref() };
    match python.is_some_and(|python| std::ptr::eq(python, at.python)) {
        true => Ok(work(at)),
        false => Err(work),
    }
}
