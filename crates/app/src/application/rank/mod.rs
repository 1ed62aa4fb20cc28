//! What rank profiles may name, and the types of their expressions.

mod compile;
mod feature;
mod models;
mod scope;
mod table;

pub use compile::{CompiledProfile, ModelTypes, NoModels, Typed, Why, compile_profile};
pub use feature::{Count, FeatureName, Parameter, RankFeature, Takes};
pub use models::PackageModels;
pub use table::RANK_FEATURES;
