//! A durable log of records with group commit, and the seams to disk, time and chance beside it.
//!
//! [`Log`] keeps records of bytes in order: many threads append, one thread writes what has gathered with one
//! write and one `fdatasync`, and tells each caller when its record is durable. After a crash the next
//! [`Log::open`] hands every record back: all that were acknowledged, and nothing that was not appended.
//!
//! ```
//! use stead_log::{DiskIo, Log, LogError, LogOptions, SystemRng, tag};
//! use std::sync::Arc;
//!
//! let folder = std::env::temp_dir().join(format!("stead-log-example-{}", std::process::id()));
//! let options = LogOptions { tag: tag("example"), ..LogOptions::default() };
//! let open = |seen: &mut Vec<Vec<u8>>| {
//!     let io = Arc::new(DiskIo::new(&folder).expect("a folder"));
//!     Log::open(io, Arc::new(SystemRng), options.clone(), |_lsn, payload| {
//!         seen.push(payload.to_vec());
//!         Ok::<(), LogError>(())
//!     })
//! };
//!
//! let (log, _) = open(&mut Vec::new())?;
//! log.append(b"first".to_vec(), |durable| assert_eq!(durable, Ok(1)))?;
//! assert_eq!(log.append_wait(b"second".to_vec())?, 2);
//! drop(log);
//!
//! let mut seen = Vec::new();
//! let (log, recovery) = open(&mut seen)?;
//! assert_eq!(seen, [b"first".to_vec(), b"second".to_vec()]);
//! assert_eq!((recovery.next_lsn, recovery.cut_bytes), (3, 0));
//! # drop(log);
//! # std::fs::remove_dir_all(&folder).expect("it is there");
//! # Ok::<(), LogError>(())
//! ```
//!
//! * [`mod@format`] is the files' bytes: segments `NNNNNNNNNNNNNNNN.log` of records with checksums.
//! * [`LogWriter`] is the log without a thread, for simulations.
//! * [`write_manifest`] replaces a small file as a whole: with it and [`Log::prune`] a log is cut behind a
//!   snapshot, and [`LogOptions::replay_from`] skips what the snapshot covers.
//! * [`Io`], [`Clock`] and [`Rng`] are the seams; [`SimIo`], [`VirtualClock`] and [`SeededRng`] their twins for
//!   tests.
//!
//! The log does not know what a record means, does not encrypt or compress, and is for one process at a time
//! (the folder is locked). Damage that a crash cannot explain is an error that names segment and offset; nothing
//! is skipped or repaired silently. Two kinds of damage look like a torn write and are cut with a count: damage
//! in the last batch before the log was last closed or killed, and a last segment that lost its end.
#![forbid(unsafe_code)]

mod clock;
mod disk;
mod error;
pub mod format;
mod io;
mod log;
mod manifest;
mod options;
mod rng;
mod segments;
mod sim;
mod writer;

pub use clock::{Clock, SystemClock, VirtualClock};
pub use disk::DiskIo;
pub use error::LogError;
pub use io::{DirLock, Io, IoFile, read_all};
pub use log::{Log, LogStats, Pruner};
pub use manifest::{read_manifest, write_manifest};
pub use options::{LogOptions, SyncMode, tag};
pub use rng::{Rng, SeededRng, SystemRng};
pub use segments::{Recovery, check_log};
pub use sim::{Call, SimIo};
pub use writer::LogWriter;
