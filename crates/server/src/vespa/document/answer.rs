//! The answers of `/document/v1`.

use crate::fault::Fault;
use crate::http::Reply;
use http::{HeaderName, HeaderValue, StatusCode};
use stead_search::result::Item;

/// The media type of answers.
pub const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json; charset=UTF-8");

/// The header of an answer to an operation that was not done as no content cluster keeps the document (Vespa, `Headers`).
pub const IGNORED_OPERATION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-vespa-ignored-operation"), HeaderValue::from_static("true"));

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    status: u16,
    message: String,
    id: Option<String>,
}

impl Failure {
    pub fn new(status: u16, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), id: None }
    }

    /// Whether the same works later.
    pub fn is_overload(&self) -> bool {
        self.status == 429
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same, of a document.
    pub fn of(self, id: &str) -> Failure {
        Failure { id: Some(id.to_owned()), ..self }
    }

    pub fn reply(self, path_id: &str) -> Reply {
        let message = ("message".to_owned(), Item::Text(self.message));
        reply(self.status, path_id, self.id.as_deref(), vec![message])
    }
}

impl From<stead_node::Error> for Failure {
    fn from(error: stead_node::Error) -> Failure {
        Failure::new(error.code.row().document_http, error.to_string())
    }
}

impl From<Fault> for Failure {
    fn from(Fault(error): Fault) -> Failure {
        error.into()
    }
}

/// `{"pathId", "id"?, ...}`
pub fn reply(status: u16, path_id: &str, id: Option<&str>, more: Vec<(String, Item)>) -> Reply {
    let mut members = vec![("pathId".to_owned(), Item::text(path_id))];
    members.extend(id.map(|id| ("id".to_owned(), Item::text(id))));
    members.extend(more);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply { status, content_type: CONTENT_TYPE, ..Reply::json(Item::Map(members).json()) }
}

/// The answer to OPTIONS.
pub fn options() -> Reply {
    Reply { status: StatusCode::NO_CONTENT, ..Reply::empty() }
}
