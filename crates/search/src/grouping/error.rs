//! What is wrong with a grouping that can be read.

use thiserror::Error;

use crate::query::{SearchCode, SearchError};
use crate::rank::RankError;

/// A grouping that cannot be done.
#[derive(Debug, Error)]
pub enum GroupingError {
    /// The documents have no such attribute (Vespa's text).
    #[error(
        "Grouping request references attribute '{name}' which is not available in cluster '{cluster}'."
    )]
    NoAttribute {
        /// The name.
        name: String,
        /// The cluster that the documents are of.
        cluster: String,
    },
    /// What is wrong.
    #[error("{0}")]
    Text(String),
    /// Values that cannot be read.
    #[error(transparent)]
    Store(#[from] stead_store::StoreError),
    /// Scores that cannot be computed.
    #[error(transparent)]
    Rank(#[from] RankError),
}

impl GroupingError {
    pub(super) fn text(text: impl Into<String>) -> GroupingError {
        GroupingError::Text(text.into())
    }
}

impl From<GroupingError> for SearchError {
    fn from(error: GroupingError) -> SearchError {
        match error {
            GroupingError::NoAttribute { .. } | GroupingError::Text(_) => {
                SearchError::parameter(error.to_string())
            }
            GroupingError::Store(error) => error.into(),
            GroupingError::Rank(error) => {
                SearchError { code: SearchCode::BackendCommunication, message: error.to_string() }
            }
        }
    }
}
