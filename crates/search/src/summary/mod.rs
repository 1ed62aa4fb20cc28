//! What hits show of documents: the fields of their summary, whole, marked at words that the query found, or a part of them
//! (Vespa, documentation, `reference/schemas/schemas.html#document-summary`, `#summary`).

mod elements;
mod fields;
mod show;
mod snippet;
mod words;

pub(crate) use elements::{kept, labels};
pub use fields::{Shown, Summary, SummaryColumn};
pub(crate) use show::{shown, tokens};
pub use snippet::{Mark, Piece, SnippetSettings, marked, snippet};
pub(crate) use words::Asked;
