//! Forests of decision trees over blocks of rows.
//!
//! A split asks `x < threshold`. How many thresholds of a feature are at most `x` answers that for
//! all of its splits, so [`rank`] finds that number once for each row, and everything after it
//! works on bytes: a column of codes for each feature, a byte comparison for each split.
//!
//! A tree of up to 256 leaves is not walked. All of its splits are asked in pre-order, for a whole
//! block of rows at once ([`add`]): each row has the number of the first leaf that it can still
//! reach, and a split changes it in the rows that stand exactly at its left subtree and go right.
//! That takes more comparisons than walking, but no row waits for a load that depends on another,
//! and a vector register holds up to 64 rows. It is QuickScorer (Lucchese et al., SIGIR 2015)
//! with a leaf number in place of a bit vector of leaves. Larger trees, and rows that are few,
//! are walked ([`walk`]).

mod add;
mod rank;
#[cfg(test)]
mod tests;
mod walk;

pub use add::{Split, Splits, Tree, add};
pub use rank::{NODE, Real, index_len, rank, write_index};
pub use walk::{LEAF, Node, Walk, walk};

/// Rows of a block.
pub const BLOCK: usize = 256;

/// Rows of a block that is not full.
pub const PART: usize = 64;

/// What sums are made of.
pub trait Sum: Copy + Send + Sync + core::ops::AddAssign + 'static {}

impl Sum for f32 {}
impl Sum for f64 {}
