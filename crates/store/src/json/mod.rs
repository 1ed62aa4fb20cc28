//! Documents as JSON (the form: Vespa's documentation, `reference/schemas/document-json-format.html`).

mod members;
mod operation;
mod path;
mod split;
mod update;
mod value;

pub use members::{Members, MembersError, Verb};
pub(crate) use operation::{Put, document_of, read_operation, read_put};
pub use split::Objects;
