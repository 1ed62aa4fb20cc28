//! Components in Rust: those that are built in, and those that a program brings which has the server within.

mod built_in;
mod create;
mod document;
mod handle;
mod models;
mod registry;
mod unit;

pub use document::DocumentOperation;
pub use models::Models;
pub use registry::{Creating, NativeComponents};

pub use super::handle::{HandlerAnswer, HandlerRequest, HeaderLines};
pub use super::searching::Query;
pub use crate::evaluation::Datum;

pub(crate) use built_in::collapse;
pub(super) use create::create;
pub(super) use unit::NativeUnit;

use stead_python::Deadline;
use stead_search::result::SearchResult;

use super::failure::ComponentError;

/// A searcher: it sees a query before the documents are searched and the result after it.
pub trait Searcher: Send + Sync {
    /// The result of a query: that of [`Execution::search`], changed or not, or one of its own.
    ///
    /// # Errors
    /// What the client is told; what the rest of the chain failed with.
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError>;
}

/// A handler: it answers the requests of the URLs that are bound to it.
pub trait RequestHandler: Send + Sync {
    /// The answer to a request of any method. It is called on a thread that may wait.
    ///
    /// # Errors
    /// What the client is told.
    fn handle(&self, request: HandlerRequest, call: &Call) -> Result<HandlerAnswer, NativeError>;
}

/// A document processor: it sees operations before they are done.
pub trait DocumentProcessor: Send + Sync {
    /// What is done in place of an operation, in this order: the operation, changed or not, others, or nothing.
    ///
    /// # Errors
    /// What the client is told; nothing of the operation is done then.
    fn process(
        &self,
        operation: DocumentOperation,
        call: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError>;

    /// The same of several that waited together, each for itself: for processors to which many at once are cheaper. As many results as
    /// operations.
    fn process_all(
        &self,
        operations: Vec<DocumentOperation>,
        call: &Call,
    ) -> Vec<Result<Vec<DocumentOperation>, NativeError>> {
        operations.into_iter().map(|operation| self.process(operation, call)).collect()
    }
}

/// One call of a component.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub(super) deadline: Deadline,
}

impl Call {
    /// Whether nobody waits for it any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.deadline.is_over()
    }
}

/// The rest of a chain, for one searcher in it.
pub struct Execution<'e> {
    pub(super) next: &'e (dyn Fn(Query) -> Result<SearchResult, ComponentError> + Sync),
    pub(super) call: Call,
}

impl Execution<'_> {
    /// Goes on with a query: the searchers behind this one, then the documents. It may be asked several times, with other queries too.
    ///
    /// # Errors
    /// What one of them failed with; what is wrong with the query is in the errors of the result.
    pub fn search(&self, query: Query) -> Result<SearchResult, NativeError> {
        (self.next)(query).map_err(|error| NativeError::Next(Box::new(error)))
    }

    /// Goes on with several queries at the same time, each for itself; as many results, in their order.
    #[must_use]
    pub fn search_all(&self, queries: Vec<Query>) -> Vec<Result<SearchResult, NativeError>> {
        std::thread::scope(|scope| {
            let mut queries = queries.into_iter();
            let own = queries.next();
            // Each waits for the documents, which are searched on the pool.
            let begin = |query: Query| {
                let thread = std::thread::Builder::new().name("stead-source".to_owned());
                let again = query.clone();
                thread.spawn_scoped(scope, move || self.search(query)).map_err(|_| again)
            };
            let begun: Vec<_> = queries.map(begin).collect();
            let mut found: Vec<Result<SearchResult, NativeError>> = Vec::new();
            found.extend(own.map(|query| self.search(query)));
            let panicked = |_| Err(NativeError::Failed("a search panicked".to_owned()));
            found.extend(begun.into_iter().map(|one| match one {
                Ok(thread) => thread.join().unwrap_or_else(panicked),
                // The system gives no thread.
                Err(query) => self.search(query),
            }));
            found
        })
    }

    /// The call that this is.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.call
    }
}

/// Why a component gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NativeError {
    /// What it was given is wrong: the client is told, with status 400.
    #[error("{0}")]
    Invalid(String),
    /// It cannot take more now.
    #[error("{0}")]
    Overloaded(String),
    /// The deadline has passed.
    #[error("the deadline passed before it answered")]
    Late,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// The rest of the chain.
    #[error("{0}")]
    Next(Box<ComponentError>),
}

/// Errors of models and of operations.
impl From<crate::Error> for NativeError {
    fn from(error: crate::Error) -> NativeError {
        match error.code {
            crate::Code::InvalidArgument => NativeError::Invalid(error.to_string()),
            crate::Code::Overloaded => NativeError::Overloaded(error.to_string()),
            crate::Code::DeadlineExceeded => NativeError::Late,
            _ => NativeError::Failed(error.to_string()),
        }
    }
}
