//! The one CPU pool: every thread of stead that computes lives here.
//!
//! Work comes in two forms. A **task** is queued by [`Pool::spawn`] or [`Pool::submit`] with a [`Priority`]
//! and runs on one worker. A **loop** is run by [`Team::for_each`] on the calling thread, and workers that
//! have no task are *lent* to it: they leave between two rounds of the loop as soon as a task waits. So one
//! request on a quiet machine gets every core, and many requests get one each.
//!
//! ```
//! use stead_pool::{Pool, PoolOptions, Priority};
//!
//! let pool = Pool::new(&PoolOptions { threads: 2, ..PoolOptions::default() })?;
//! let ticket = pool.submit(Priority::Normal, None, |_| 6 * 7);
//! assert_eq!(ticket.wait(), Ok(42));
//!
//! let mut squares = [0usize; 100];
//! pool.team(usize::MAX).par_chunks_mut(&mut squares, 10, &|chunk, values| {
//!     for (i, v) in values.iter_mut().enumerate() {
//!         *v = (chunk * 10 + i).pow(2);
//!     }
//! });
//! assert_eq!(squares[12], 144);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The pool does not know what the work is, does not bound its queues (whoever queues does), and never kills
//! a thread: a panic ends the task or the loop that raised it and nothing else.

mod lend;
mod options;
mod pool;
mod queue;
mod team;
mod ticket;

pub use options::PoolOptions;
pub use pool::{Pool, PoolStats, Worker};
pub use queue::Priority;
pub use team::Team;
pub use ticket::{TaskError, Ticket};
