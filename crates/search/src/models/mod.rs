//! Models as functions of ranking expressions: `onnx(name).output`, `xgboost("file")`, `lightgbm("file")`.
//!
//! An expression sees an output of a model as an input with a name. [`ModelFunction`] computes it: its own names
//! ([`ModelFunction::query_names`], [`ModelFunction::document_names`]) are attributes, values of the query, features and
//! outputs of other models, in any order that has a model behind those that it takes. What depends on the query only is
//! computed by [`ModelFunction::for_query`], once; [`BoundModel::run`] gives a column of values for each output.

mod body;
mod columns;
mod error;
mod function;
mod inputs;
mod kept;
mod loaded;
mod notes;
mod onnx;
mod probe;
mod trees;
mod unready;

pub use columns::{Column, Documents, Given, Texts};
pub use error::ModelError;
pub use function::{BoundModel, KeptName, ModelFunction, Scratch};
pub use kept::{CellStamps, KeptStats, KeptValues, MAX_COLUMNS};
pub use loaded::Loaded;
pub use notes::notes;
pub use onnx::{Known, converted};
pub use probe::Probe;
pub use unready::unready;
