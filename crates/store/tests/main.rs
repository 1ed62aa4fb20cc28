//! The tests of the store as one program, but for the one that kills its own.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod harness;

mod backups;
mod damaged;
mod disk_reads;
mod documents;
mod durable;
mod expiry;
mod formats;
mod graphs;
mod hostile_predicate;
mod live;
mod paged;
mod paged_ahead;
mod paged_graphs;
mod scripts;
mod slow_disk;
mod snapshots;
mod texts;
mod updates;
