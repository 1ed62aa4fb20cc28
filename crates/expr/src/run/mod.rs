//! Runs programs over batches of documents.

mod aggregate;
mod blocks;
mod cellwise;
mod column;
mod create;
mod dense;
mod execute;
mod join;
mod layout;
mod merge;
mod nested;
mod order;
mod peek;
mod size;

pub(crate) use column::Column;
pub(crate) use execute::{execute, step_of_values};
pub use size::{MAX_CELLS, TooLarge};
