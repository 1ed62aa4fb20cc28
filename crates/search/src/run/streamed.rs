//! Searches of streamed documents: those of one user or group are read, and searched as if they were all.

use std::time::{Duration, Instant};

use stead_store::{Streamed, View};

use super::{Prepared, Searcher, timed_out};
use crate::query::SearchError;
use crate::request::SearchRequest;

/// Which documents a request means, where those of a searcher are streamed, at a time in seconds since 1970; nothing where they are indexed.
///
/// # Errors
/// When the request does not say whose documents it means.
pub(super) fn asked<'r>(
    searcher: &Searcher<'_>,
    request: &'r SearchRequest,
    now: f64,
) -> Result<Option<Streamed<'r>>, SearchError> {
    match searcher.view.kind().is_streamed() {
        true => {
            let now = Duration::from_secs_f64(now).as_secs() as i64;
            request.streaming.documents(now).map(Some)
        }
        false => Ok(None),
    }
}

/// Documents of a view with what a search asks of them, which was found with [none](View::unread) of them. The time counts from `begin`.
///
/// # Errors
/// When they cannot be read, or not in time.
pub(super) fn streamed(
    view: &View,
    which: Streamed<'_>,
    prepared: &mut Prepared,
    begin: Instant,
) -> Result<View, SearchError> {
    let wanted = prepared.fields(view.kind().searched());
    let is_wanted = |field: usize| wanted.contains(&field);
    let is_late = || begin.elapsed() >= prepared.timeout;
    let some = view.stream(which, &is_wanted, &is_late)?;
    let some = some.ok_or_else(|| timed_out(prepared.timeout))?;
    prepared.leave_out_stop_words(&some);
    prepared.whole = Some(view.clone());
    Ok(some)
}
