//! Errors of searches, as clients see them (codes and summaries:
//! Vespa, `container-core/src/main/java/com/yahoo/container/protect/Error.java` and
//! `container-search/src/main/java/com/yahoo/search/result/ErrorMessage.java`).

use std::fmt;

use stead_store::StoreError;

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)] // The names are those of the table.
pub enum SearchCode {
    NoBackendsInService,
    NullQuery,
    RequestTooLarge,
    IllegalQuery,
    InvalidQueryParameter,
    Unspecified,
    ErrorInPlugin,
    InvalidQueryTransformation,
    ResultHasErrors,
    ServerIsMisconfigured,
    BackendCommunication,
    NoAnswerWhenPinging,
    Timeout,
    EmptyDocuments,
}

/// Code, number, summary, and the status of HTTP where there are no hits.
const CODES: [(SearchCode, u32, &str, u16); 14] = [
    (SearchCode::NoBackendsInService, 0, "No backends in service. Try later", 503),
    (SearchCode::NullQuery, 1, "Null query", 500),
    (SearchCode::RequestTooLarge, 2, "Request too large", 500),
    (SearchCode::IllegalQuery, 3, "Illegal query", 400),
    (SearchCode::InvalidQueryParameter, 4, "Invalid query parameter", 400),
    (SearchCode::Unspecified, 5, "Unspecified error", 500),
    (SearchCode::ErrorInPlugin, 6, "Error in plugin Searcher", 500),
    (SearchCode::InvalidQueryTransformation, 7, "Invalid query transformation", 500),
    (SearchCode::ResultHasErrors, 8, "Error in search reply.", 500),
    (SearchCode::ServerIsMisconfigured, 9, "Service is misconfigured", 500),
    (SearchCode::BackendCommunication, 10, "Backend communication error", 503),
    (SearchCode::NoAnswerWhenPinging, 11, "No answer when pinging node", 500),
    (SearchCode::Timeout, 12, "Timed out", 504),
    (SearchCode::EmptyDocuments, 13, "Empty document summaries", 500),
];

impl SearchCode {
    /// The one of a number.
    #[must_use]
    pub fn of_number(number: u32) -> Option<SearchCode> {
        CODES.iter().find(|row| row.1 == number).map(|row| row.0)
    }

    fn row(self) -> &'static (SearchCode, u32, &'static str, u16) {
        &CODES[self as usize]
    }

    /// The number that results name it by.
    #[must_use]
    pub fn number(self) -> u32 {
        self.row().1
    }

    /// What it is in general.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.row().2
    }

    /// The status of HTTP for a result that has no hits.
    #[must_use]
    pub fn status(self) -> u16 {
        self.row().3
    }
}

/// An error of a search.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SearchError {
    /// Its kind.
    pub code: SearchCode,
    /// What was found and what was expected.
    pub message: String,
}

impl SearchError {
    /// A query that cannot be answered.
    #[must_use]
    pub fn illegal(message: impl Into<String>) -> SearchError {
        SearchError { code: SearchCode::IllegalQuery, message: message.into() }
    }

    /// A parameter that is not what it should be.
    #[must_use]
    pub fn parameter(message: impl Into<String>) -> SearchError {
        SearchError { code: SearchCode::InvalidQueryParameter, message: message.into() }
    }

    /// A text in YQL that makes no query: the words before the reason are Vespa's.
    #[must_use]
    pub fn yql(reason: impl fmt::Display) -> SearchError {
        SearchError::parameter(format!("Could not create query from YQL: {reason}"))
    }
}

/// Values of documents that cannot be read: what a node that fails is to clients of Vespa.
impl From<StoreError> for SearchError {
    fn from(error: StoreError) -> SearchError {
        SearchError { code: SearchCode::BackendCommunication, message: error.to_string() }
    }
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.summary(), self.message)
    }
}

impl std::error::Error for SearchError {}

#[cfg(test)]
mod tests {
    use super::{CODES, SearchCode};

    #[test]
    fn the_table_stands_in_the_order_of_the_codes() {
        for (at, (code, number, ..)) in CODES.iter().enumerate() {
            assert_eq!((code.number(), *number as usize), (*number, at), "{code:?}");
            assert_eq!(SearchCode::of_number(*number), Some(*code));
        }
        assert_eq!(SearchCode::Timeout.status(), 504);
    }
}
