//! What rank profiles may name, and the types of their expressions.

mod compile;
pub mod encoding;
mod feature;
mod models;
mod named_models;
mod names;
mod options;
mod profile_models;
mod scope;
mod table;
mod uses;

pub use compile::{CompiledProfile, ModelTypes, NoModels, TreeFacts, Typed, Why, compile_profile};
pub use feature::{Count, FeatureName, Parameter, RankFeature, Takes};
pub(crate) use models::of_other_format;
pub use models::{
    ExpressionModel, ModelBytes, ModelProbe, PackageModels, cell_type, read_any_trees, read_trees,
    tree_facts,
};
pub use names::ProfileNames;
pub use table::RANK_FEATURES;
pub use uses::{
    KeptOption, ModelInput, ModelKind, ModelOptions, ModelOutput, ProfileModel, Source, SourceType,
    TreeLibrary,
};
