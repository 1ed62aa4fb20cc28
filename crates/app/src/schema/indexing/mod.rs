//! The indexing language: what happens to the values of a document when it is written
//! (facts: Vespa, `indexinglanguage/src/main/javacc/IndexingParser.jj`; documentation, `reference/writing/indexing-language.html`).

mod forms;
mod literals;
mod operations;
mod parser;
mod tree;

pub(crate) use parser::read_script;
pub use tree::{Argument, Comparison, Literal, Operation, Operator, Script, Statement, Step};
