//! Rank profiles that run.
//!
//! A profile becomes a plan: what its expressions name, each once, with where its value comes from; a plan with a query and
//! documents becomes scores phase by phase.

mod best;
mod builder;
mod common;
mod constants;
mod diversity;
mod error;
mod explain;
mod first;
mod hits;
mod limit;
mod means;
mod memo;
mod models;
mod names;
mod normalize;
mod phases;
mod plan;
mod query;
mod ranking;
mod sources;
mod values;

pub use diversity::{Diversity, DiversityOverride};
pub use error::RankError;
pub use explain::{Computation, Explained, Stage};
pub use hits::RankedHit;
pub use hits::descending;
pub use limit::{LimitOverride, MatchLimit};
pub use means::Means;
pub(crate) use means::Ranges;
pub use phases::{Lists, Wanted};
pub use plan::RankPlan;
pub(crate) use query::parameter_text;
pub use query::{Freshness, PhaseOverride, RankQuery};
pub use ranking::{RankOptions, Ranked};
