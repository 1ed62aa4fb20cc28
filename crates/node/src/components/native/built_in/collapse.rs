//! `collapse`: some hits for each value of a field (Vespa, `FieldCollapsingSearcher`). Queries that say `collapsefield` have it without a
//! searcher too.

use std::collections::HashMap;

use stead_app::components::Parameters;
use stead_search::query::SearchError;
use stead_search::result::{Hit, SearchResult};

use super::more::search_more;
use crate::components::native::{Execution, NativeError, Query, Searcher};

/// The parameters of queries.
const FIELD: &str = "collapsefield";
const SIZE: &str = "collapsesize";

/// How many times the hits are asked for where nothing is said (Vespa: `collapse.extraFactor`).
const MORE: usize = 2;

/// Keeps the best hits for each value of a field.
pub(super) struct Collapse {
    field: String,
    size: usize,
    more: usize,
}

impl Collapse {
    pub(super) fn new(given: &Parameters) -> Result<Collapse, String> {
        let field = given.text("field").unwrap_or_default().to_owned();
        match given.count("size") {
            0 => Err("size is 0: no hit would stay".to_owned()),
            size => Ok(Collapse { field, size, more: given.count("more") }),
        }
    }
}

impl Searcher for Collapse {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let default = (self.field.as_str(), self.size);
        collapsed(query, Some(default), self.more, &|query| execution.search(query))
    }
}

/// Searches, and collapses what was found if the query says so.
///
/// # Errors
/// Those of the search.
pub(crate) fn collapsed_if_asked(
    query: Query,
    search: &dyn Fn(Query) -> Result<SearchResult, NativeError>,
) -> Result<SearchResult, NativeError> {
    match query.values.get(FIELD) {
        Some(field) if !field.trim().is_empty() => collapsed(query, None, MORE, search),
        _ => search(query),
    }
}

fn collapsed(
    mut query: Query,
    default: Option<(&str, usize)>,
    more: usize,
    search: &dyn Fn(Query) -> Result<SearchResult, NativeError>,
) -> Result<SearchResult, NativeError> {
    let field = query.values.get(FIELD).map(str::to_owned);
    let field = field.or(default.map(|(field, _)| field.to_owned())).unwrap_or_default();
    let size = match query.values.get(SIZE) {
        None => default.map_or(1, |(_, size)| size),
        Some(text) => match text.trim().parse() {
            Ok(size) if size > 0 => size,
            _ => {
                let text = format!("{SIZE} must be a whole number from 1, found {text:.40}");
                return Ok(SearchResult::failed(SearchError::parameter(text)));
            }
        },
    };
    // It is done here, and not once more behind.
    query.values.remove(FIELD);
    query.values.remove(SIZE);
    // Several fields one after the other, as in Vespa.
    let fields: Vec<&str> =
        field.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let keep = |hits: Vec<Hit>| {
        fields.iter().fold(hits, |hits, field| {
            let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
            let is_kept = |hit: &Hit| {
                let Some(value) = hit.get(field) else { return true };
                let count = counts.entry(value.json()).or_default();
                *count += 1;
                *count <= size
            };
            let mut kept = hits;
            kept.retain(is_kept);
            kept
        })
    };
    search_more(query, more.max(1), &keep, search)
}
