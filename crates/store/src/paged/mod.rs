//! Columns that stay on disk: what `attribute: paged` says of a field.
//!
//! A block holds the column of such a field while it is new: from when something was put until a snapshot has it and the block is full.
//! From then on the block has a [handle](Paged) of its piece in a [pack](crate::packs), and whoever wants the values [holds](Held) them while it works
//! with them. What is put, changed or removed is in memory [beside it](Changed) until the next snapshot. What was read stays in a [cache](PageCache) of so many bytes, from which the pages leave that nobody has
//! wanted for the longest time. A page whose bytes are not those that were written is an error that names the field.
//!
//! Vectors that have a graph are [read alone](sums) once the column that they are of was read as a whole.

mod ahead;
mod cache;
mod changed;
mod held;
mod page;
mod rows;
mod sums;

pub(crate) use ahead::{Ahead, Blocks, ask_behind};
pub(crate) use cache::PageCache;
pub use cache::PageStats;
pub(crate) use changed::Changed;
pub(crate) use held::Slot;
pub use held::{Columns, Held};
pub(crate) use page::{Page, Paged, Pager, pagers};
pub(crate) use rows::Rows;
