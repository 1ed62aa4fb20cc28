//! Documents in memory: types from the schemas of an application, JSON that is checked against them, and a column for
//! each attribute that ranking reads where it lies. A [`Collection`] changes while it is read: its readers have [`View`]s. A [`Store`] is
//! collections with a log that makes what is done with them durable.
//!
//! ```
//! use stead_app::application::Application;
//! use stead_app::package::PackageFiles;
//! use stead_app::services::ServicesOptions;
//! use stead_store::{DocumentType, Documents};
//!
//! let schema = "schema music {
//!   document music {
//!     field title type string { indexing: summary }
//!     field year type int { indexing: attribute }
//!   }
//! }";
//! let files = PackageFiles::from_texts([("schemas/music.sd", schema)]).unwrap();
//! let (application, _) = Application::read(&files, ServicesOptions::default());
//! let music = DocumentType::new(application.schema("music").unwrap());
//!
//! let lines = r#"{"put": "id:ns:music::1", "fields": {"title": "Blue", "year": 1971}}
//! {"put": "id:ns:music::2", "fields": {"title": "Hejira"}}"#;
//! let documents = Documents::read(music, lines.as_bytes(), &mut |_| {}).unwrap();
//! let view = documents.view();
//! assert_eq!(view.len(), 2);
//! assert_eq!(view.id(1), Some("id:ns:music::2"));
//! assert!(view.attribute("year").is_some());
//!
//! let music = view.kind().clone();
//! let wrong = r#"{"put": "id:ns:music::1", "fields": {"year": "last"}}"#;
//! let error = Documents::read(music, wrong.as_bytes(), &mut |_| {}).unwrap_err();
//! assert_eq!(error.to_string(), "line 1: id:ns:music::1: field year: expected an int, found \"last\"");
//! ```
#![forbid(unsafe_code)]

mod body;
mod change;
mod columns;
mod documents;
mod durable;
mod error;
mod id;
mod indexing;
mod json;
mod kind;
mod live;
mod operation;
mod packs;
mod paged;
mod parallel;
mod position;
pub mod predicate;
mod selection;
mod value;

pub use body::BodyError;
pub use change::{CellChange, Change, Edit, Operator, Step};
pub use columns::{
    Column, Elements, ManyColumn, NumberColumn, NumberList, Postings, RawColumn, TensorColumn,
    TextList,
};
pub use documents::Documents;
pub use durable::{
    CheckedSnapshot, Expired, ExpiryScan, Outcome, RecordError, RoomOptions, SnapshotOptions,
    SnapshotStats, Store, StoreOptions, Verified, stored_bytes, verify,
};
pub use error::{FeedError, StoreError};
pub use indexing::{
    Answers, Embedder, Embedding, NoEmbedder, ScriptContext, ScriptError, Scripts, TextCall,
    Unfilled, stacked,
};
pub use json::{Members, MembersError, Objects, Verb};
pub use kind::{AttributeColumn, DataType, DocumentType, Import, Indexed, StructType, TextIndex};
pub use live::{
    AttributeView, Block, Collection, Cursor, FieldReader, Imports, Index, Location, Reader,
    Streamed, TextMerge, TextMerged, View,
};
pub use operation::{Action, Operation};
pub use paged::{Columns, Held, PageStats};
pub use position::Position;
pub use selection::{Selected, Selection, SelectionError};
pub use value::FieldValue;
