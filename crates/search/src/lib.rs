//! From a query to ranked documents.
//!
//! [`RankPlan`] is a rank profile that is ready to run: its expressions with all that they name, each once. Running it goes
//! through the phases: the first one for all documents, the second one for the best of them, the global one for the best of those. [`models`] runs the
//! models that expressions name.
#![forbid(unsafe_code)]

mod collation;
mod columns;
pub mod features;
pub mod grouping;
pub mod matching;
pub mod models;
mod ordered;
pub mod query;
pub mod rank;
pub mod request;
pub mod result;
pub mod run;
pub mod select;
pub mod summary;
mod vectors;
pub mod yql;

pub use columns::{Computed, Rows};
pub use rank::{RankError, RankPlan, RankQuery};
pub use stead_kernels::{Parallel, Serial};
