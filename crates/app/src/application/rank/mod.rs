//! What rank profiles may name, and the types of their expressions.

mod compile;
mod feature;
mod scope;
mod table;

pub use compile::{CompiledProfile, ModelTypes, NoModels, Typed, compile_profile};
pub use feature::{Count, FeatureName, Parameter, RankFeature, Takes};
pub use table::RANK_FEATURES;
