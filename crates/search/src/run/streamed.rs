//! Searches of streamed documents: those of one user or group are read, and searched as if they were all.

use std::cell::Cell;
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
/// When they cannot be read, or not in time, or take more than `most` bytes.
pub(super) fn streamed(
    view: &View,
    which: Streamed<'_>,
    prepared: &mut Prepared,
    (begin, most): (Instant, usize),
) -> Result<View, SearchError> {
    let wanted = prepared.fields(view.kind().searched());
    let is_wanted = |field: usize| wanted.contains(&field);
    let is_large = Cell::new(false);
    let is_over = |bytes: usize| {
        is_large.set(bytes > most);
        is_large.get() || begin.elapsed() >= prepared.timeout
    };
    let some = view.stream(which, &is_wanted, &is_over)?.ok_or_else(|| match is_large.get() {
        true => too_large(most),
        false => timed_out(prepared.timeout),
    })?;
    prepared.leave_out_stop_words(&some);
    prepared.whole = Some(view.clone());
    Ok(some)
}

/// The error of a search of documents that take more memory than it may have.
fn too_large(most: usize) -> SearchError {
    SearchError::illegal(format!(
        "The documents that are to be read take more than 'streaming.maxBytes' ( {most} ). Either search those of fewer users and groups with \
         streaming.userid, streaming.groupname or streaming.selection, fewer of their fields, or raise 'streaming.maxBytes'."
    ))
}
