//! What searchers ask for while they run: the documents, as often as they like, and whatever other components may ask.

use std::sync::{Arc, Mutex, PoisonError};

use stead_expr::codec::json::Form;
use stead_python::{Deadline, Host, HostCall, HostCode, HostError, Value as Plain};
use stead_search::result::SearchResult;

use super::query::{Query, read_query};
use super::results::{Results, plain_result, read_result};
use crate::Error;
use crate::components::failure::ComponentError;
use crate::components::host::refused;

/// What searches the documents: it waits until there is a result or the deadline has passed.
pub(crate) type BackEnd = Arc<dyn Fn(Query, Deadline) -> Result<SearchResult, Error> + Send + Sync>;

/// What is behind the searchers of a call: other searchers, or the documents.
type Next = Box<dyn Fn(Query) -> Result<SearchResult, ComponentError> + Send + Sync>;

/// The host of one call of searchers that are neighbours.
pub(super) struct SearchHost {
    next: Next,
    /// Whether other searchers are behind them.
    has_others: bool,
    /// For everything but searches.
    other: Arc<dyn Host>,
    /// What was found, in the order in which it was numbered.
    found: Mutex<Results>,
    /// What the searchers behind them failed with, the last time.
    failed: Mutex<Option<ComponentError>>,
}

impl SearchHost {
    pub(super) fn new(next: Next, has_others: bool, other: Arc<dyn Host>) -> SearchHost {
        let (found, failed) = (Mutex::default(), Mutex::default());
        SearchHost { next, has_others, other, found, failed }
    }

    /// What the searchers behind failed with, if there are any.
    pub(super) fn failed(&self) -> Option<ComponentError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The result that the searchers gave, made of those that were found. New tensors have a form of JSON.
    ///
    /// # Errors
    /// That it is none.
    pub(super) fn result(&self, answer: Plain, form: Form) -> Result<SearchResult, String> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        read_result(answer, &found, form)
    }
}

impl Host for SearchHost {
    fn call(&self, call: HostCall) -> Result<Plain, HostError> {
        if call.name != "search.next" {
            return self.other.call(call);
        }
        let invalid = |text: String| HostError::new(HostCode::Invalid, text);
        let [query] = <[Plain; 1]>::try_from(call.arguments)
            .map_err(|_| invalid("search.next takes a query and nothing else".to_owned()))?;
        let query = read_query(query).map_err(invalid)?;
        let result = (self.next)(query).map_err(|error| {
            let told = refused(&error.clone().into());
            if self.has_others {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            told
        })?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = plain_result(&result, found.next());
        found.add(result);
        plain.map_err(|error| HostError::new(HostCode::Internal, error.to_string()))
    }
}
