//! The one CPU pool: every thread of stead that computes lives here.
//!
//! Work comes in two forms. A **task** is queued by [`Pool::spawn`] or [`Pool::submit`] with a [`Class`]
//! and runs on one worker. A **loop** is run by [`Team::for_each`] on the calling thread, and workers that
//! have no task as urgent are *lent* to it: they leave between two rounds of the loop as soon as such a task waits.
//! So one request on a quiet machine gets every core, and many requests get one each.
//!
//! A long task lets more urgent ones go first where it calls [`Team::give_way`]: they run on its worker, on top of
//! its stack, and it goes on behind them. A loop that is more urgent gets help there too.
//!
//! ```
//! use stead_pool::{Class, Pool, PoolOptions};
//!
//! let pool = Pool::new(&PoolOptions { threads: 2, ..PoolOptions::default() })?;
//! let ticket = pool.submit(Class::Query, None, |_| 6 * 7);
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
//! There is one worker for each physical [core](Cores) that the process may use, [pinned](Pinning) to it where that is
//! wanted.
//!
//! The pool does not know what the work is, does not bound its queues (whoever queues does), and never kills
//! a thread: a panic ends the task or the loop that raised it and nothing else.

mod class;
mod cores;
mod here;
mod lend;
mod options;
mod pool;
mod queue;
mod shared;
mod team;
mod ticket;

pub use class::Class;
pub use cores::{Cores, ListError, Pinning, PinningError, read_list, write_list};
pub use options::PoolOptions;
pub use pool::{Pool, PoolStats, Worker};
pub use team::Team;
pub use ticket::{TaskError, Ticket};
