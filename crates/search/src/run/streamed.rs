//! Searches of streamed documents: those of one user or group are read, and searched as if they were all.

use std::time::{Duration, Instant};

use stead_store::View;

use super::{Searcher, timed_out};
use crate::query::SearchError;
use crate::request::SearchRequest;

/// The documents that a request means, where those of a searcher are streamed; nothing where they are indexed.
///
/// # Errors
/// When the request does not say whose documents it means, they cannot be read, or not in time.
pub(super) fn streamed(
    searcher: &Searcher<'_>,
    request: &SearchRequest,
    (begin, now): (Instant, f64),
) -> Result<Option<View>, SearchError> {
    if !searcher.view.kind().is_streamed() {
        return Ok(None);
    }
    let which = request.streaming.documents(Duration::from_secs_f64(now).as_secs() as i64)?;
    let is_late = || begin.elapsed() >= request.timeout;
    match searcher.view.stream(which, &is_late)? {
        Some(view) => Ok(Some(view)),
        None => Err(timed_out(request.timeout)),
    }
}
