//! Tiles of AMX (Intel SDM volume 1, chapter 18): whether a process may use them, and blocks of sums by them.
//!
//! A tile has up to 16 rows of 64 bytes; one instruction adds to each of 16 x 16 sums the products of 64 bytes of a row of
//! `A` by those of a column of `B`, which lie in pairs (bf16) or quads (bytes) along `k`. The packed forms of `B` for
//! vectors are such already, so that both read the same.
//!
//! Rust's intrinsics for tiles are not stable: the instructions are written as assembly. Where the processor has no tiles,
//! the tests run on an emulation of the instructions (`emulator`, which only tests have).

mod block;
mod detect;
#[cfg(all(test, target_os = "linux"))]
pub(crate) mod emulator;
mod sweep;

pub(crate) use block::{Kind, LANES, ROWS, SUMS_STRIDE, Sums, Thirds, Tiles};
pub(crate) use detect::is_usable;
pub(crate) use sweep::{Rows, Sweep, Width};

#[cfg(all(test, target_os = "linux"))]
mod tests;
