//! Application packages: schemas, rank profiles, services and query profiles as one typed value.
//!
//! Elements become typed schemas in `read`, names are looked up and parents merged in `resolve`, expressions get their
//! types in `rank`.

mod changes;
mod constants;
mod evaluation;
mod field;
mod indexing;
mod links;
mod overrides;
mod package;
mod profile;
mod python;
pub mod rank;
mod read;
mod resolve;
mod schema;

pub use changes::{Changes, Refeed};
pub use constants::read_constant;
pub use evaluation::{EvaluationKind, EvaluationModel, evaluation_models};
pub use field::{
    AttributeSettings, Field, Hnsw, IndexSettings, MatchSettings, Sorting, SummaryField,
};
pub use indexing::{
    EmbedTarget, LanguageTag, embed_dimension, embed_misfit, embed_of_element, embed_target,
    languages, takes_value,
};
pub use overrides::Override;
pub use package::{Application, ModelFile};
pub use profile::{
    Constant, ConstantValue, Diversity, Features, FieldRank, Function, Input, InputType,
    MatchPhase, OnnxModel, Phase, RankProfile, Setting,
};
pub use schema::{
    AttributeType, ConstantFile, Document, DocumentSummary, FieldSet, ImportedField, Member,
    Schema, Struct,
};
