//! Runs programs over batches of documents.

mod aggregate;
mod attribute;
mod blocks;
mod cellwise;
mod column;
mod create;
mod dense;
mod fused;
mod join;
mod layout;
mod list;
mod machine;
mod merge;
mod nested;
mod numbers;
mod operand;
mod operation;
mod order;
mod peek;
mod pool;
mod size;

pub use attribute::Attribute;
pub(crate) use attribute::{Rows, fault};
pub(crate) use column::Column;
pub(crate) use fused::{Prepared, prepare, prepared_operand};
pub use list::Numbers;
pub(crate) use machine::{Known, Machine, Source, execute};
pub(crate) use operation::step_of_values;
pub(crate) use pool::Pool;
pub(crate) use size::{Failed, StepError};
pub use size::{MAX_CELLS, TooLarge};
