//! What is wrong with documents, and with where they are kept.

use std::fmt;

use stead_log::LogError;

use crate::durable::RecordError;
use crate::indexing::TextCall;

/// A document that cannot be taken, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedError {
    /// The line on which the document begins, from 1.
    pub line: usize,
    /// Its id, if it could be read.
    pub document: Option<String>,
    /// The field, with the way into it: `prices{eur}`, `tracks[3].name`.
    pub field: Option<String>,
    /// What was found and what was expected.
    pub text: String,
}

impl FeedError {
    pub(crate) fn new(line: usize, text: impl Into<String>) -> FeedError {
        FeedError { line, document: None, field: None, text: text.into() }
    }

    /// The error without its line, for those who say that in another way.
    #[must_use]
    pub fn what(&self) -> String {
        let mut text = String::new();
        for part in
            self.document.iter().cloned().chain(self.field.iter().map(|f| format!("field {f}")))
        {
            text += &part;
            text += ": ";
        }
        text + &self.text
    }
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what())
    }
}

impl std::error::Error for FeedError {}

/// Why a document cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no room.
    #[error("{document}: there is no room for more {what}")]
    Full {
        /// The id of the document.
        document: String,
        /// The attribute, or `documents`.
        what: String,
    },
    /// There is no room for another operation now; later there is (Vespa's text, `DocumentV1ApiHandler`).
    #[error("Rejecting execution due to overload: {operations} requests already enqueued")]
    Busy {
        /// Operations that are not yet done.
        operations: usize,
    },
    /// A document or update that the scripts of its type cannot take (Vespa's texts, `IndexingProcessor` and `DocumentScript`).
    #[error("Operation on '{document}' contains invalid input: {text}")]
    Input {
        /// The id of the document.
        document: String,
        /// What is wrong.
        text: String,
    },
    /// Scripts ask for tensors that must be made first; then it can be tried again.
    #[error("{} texts are to be embedded first", .0.len())]
    Texts(Vec<TextCall>),
    /// A type that the store does not have.
    #[error("document type {0} does not exist")]
    Type(String),
    /// What the log answers.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record of the log that cannot be read.
    #[error("record {lsn} of the log: {error}")]
    Record {
        /// Its number in the log.
        lsn: u64,
        /// What is wrong.
        error: RecordError,
    },
    /// A file of a snapshot that is not as it was written.
    #[error("{file} is corrupt at byte {offset}: {reason}")]
    Damaged {
        /// The name of the file.
        file: String,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The values of a field of many documents, which lie on disk, are not as they were written, or cannot be read.
    #[error("document type {document}: field {field}: {error}")]
    Column {
        /// The type of the documents.
        document: String,
        /// The attribute.
        field: String,
        /// What is wrong.
        error: Box<StoreError>,
    },
    /// Records that are in no snapshot and no longer in the log.
    #[error("records {from} to {to} of the log are missing: no snapshot that can be read has them")]
    Gap {
        /// The first of them.
        from: u64,
        /// The last of them.
        to: u64,
    },
    /// There is no thread to be had.
    #[error("cannot start a thread of the store: {0}")]
    Thread(std::io::ErrorKind),
    /// The system has no random numbers to give.
    #[error("cannot get random numbers: {0}")]
    Randomness(std::io::ErrorKind),
    /// The store is being closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether a file of a snapshot is not as it was written.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Damaged { .. } => true,
            StoreError::Column { error, .. } => error.is_damage(),
            _ => false,
        }
    }
}
