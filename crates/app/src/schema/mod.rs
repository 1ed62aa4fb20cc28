//! The schema language of Vespa (`schemas/*.sd` and `*.profile`): text to a tree of elements with places.

mod element;
mod entries;
mod grammar;
mod heads;
mod indexing;
mod parser;
mod reader;
mod types;

pub use element::{Element, Expression, Name, Value};
pub use grammar::{ENTRY, Form, Head, Holds, Spec, Status};
pub use indexing::{
    Argument, Comparison, Literal as IndexingLiteral, Operation, Operator, Script, Statement, Step,
};
pub use parser::{MAX_ELEMENTS, MAX_NESTING, MAX_SCHEMA, parse as parse_elements};
pub use types::FieldType;
