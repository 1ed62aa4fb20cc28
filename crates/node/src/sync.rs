//! The lock of the tables of sequences: that of the standard library, or, with the feature `shuttle`, one whose threads
//! a test schedules.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Mutex, MutexGuard};
