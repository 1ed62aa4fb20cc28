//! What is done with documents.

use crate::change::Change;
use crate::error::FeedError;
use crate::json::{document_of, read_operation};
use crate::kind::DocumentType;
use crate::selection::Selection;
use crate::value::FieldValue;

/// Something that is done with a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// What the client calls it, so that it is done once however often it is sent; 0 is nothing.
    pub operation: u128,
    /// The id of the document.
    pub document: String,
    /// What must be true of the document, or nothing is done.
    pub condition: Option<Selection>,
    /// What is done.
    pub action: Action,
}

/// What is done with a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// It has these fields from now on: their numbers and values.
    Put {
        /// The fields.
        fields: Vec<(usize, FieldValue)>,
        /// Whether a document that is not there is put whatever the condition says.
        create: bool,
    },
    /// Some of its fields change, one change after the other.
    Update {
        /// The changes.
        changes: Vec<Change>,
        /// Whether a document that is not there is made, without fields, to be changed.
        create: bool,
    },
    /// It is taken away.
    Remove,
}

impl Operation {
    /// The id of the document of an operation in JSON, which tells the type that it is read with.
    ///
    /// # Errors
    /// When it is no operation.
    pub fn document_of(json: &[u8]) -> Result<String, FeedError> {
        document_of(1, json)
    }

    /// An operation from JSON as Vespa is fed with: `{"put": id, "fields": {..}}`, `{"update": id, "fields": {"f": {"assign": 1}}}`,
    /// `{"remove": id}`.
    ///
    /// # Errors
    /// When it is none, or does not fit the type.
    pub fn read(kind: &DocumentType, json: &[u8]) -> Result<Operation, FeedError> {
        read_operation(kind, 1, json)
    }
}
