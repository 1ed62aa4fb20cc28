//! The subcommands, one file each.

pub mod bench;
pub mod check;
pub mod conformance;
pub mod deploy;
mod embedder;
pub mod encode;
pub mod evaluate;
mod explain;
pub mod feed;
pub mod get;
pub mod inspect;
pub mod ops;
pub mod package;
mod precision;
pub mod python;
pub mod quantize;
pub mod query;
pub mod rank;
pub mod run;
pub mod sequence;
pub mod store;
pub mod tensor;
pub mod test;
mod text;
mod tokenizer;
pub mod visit;

pub(crate) mod prepare;
