//! What searchers ask for while they run: the documents, as often as they like, and whatever other components may ask.

use std::sync::{Arc, Mutex, PoisonError};

use stead_expr::codec::json::Form;
use stead_python::{Deadline, Host, HostCall, HostCode, HostError, Value as Plain};
use stead_search::result::SearchResult;

use super::question::{Question, read_question};
use super::results::{Results, plain_result, read_result};

/// What searches the documents: it waits until there is a result or the deadline has passed.
pub(crate) type BackEnd =
    Arc<dyn Fn(Question, Deadline) -> Result<SearchResult, HostError> + Send + Sync>;

/// The host of one call of a chain of searchers.
pub(super) struct SearchHost {
    back_end: BackEnd,
    /// For everything but searches.
    other: Arc<dyn Host>,
    /// What was found, in the order in which it was numbered.
    found: Mutex<Results>,
}

impl SearchHost {
    pub(super) fn new(back_end: BackEnd, other: Arc<dyn Host>) -> SearchHost {
        SearchHost { back_end, other, found: Mutex::default() }
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
        let question = read_question(query).map_err(invalid)?;
        let result = (self.back_end)(question, call.deadline)?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = plain_result(&result, found.next());
        found.add(result);
        plain.map_err(|error| HostError::new(HostCode::Internal, error.to_string()))
    }
}
